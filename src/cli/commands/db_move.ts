/**
 * `svc db move`.
 *
 * @module
 */

import type { Moved } from "../../api/upkeep_operations.ts";
import { systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { defined } from "../../base/defined.ts";
import { sizeText } from "../../base/size.ts";
import { type Command, DATA_DIR, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { follow } from "../database_work.ts";
import { INTERRUPTED, interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";
import { duration } from "../option.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help:
    "Moves the database from its file to a PostgreSQL that is empty; stop the daemon first. It " +
    "reads every row back before the move counts. Until then the file stays as it is and the " +
    "daemon starts on it, also if the command is killed; no daemon uses the PostgreSQL, and " +
    "--again begins anew. In the end the file is renamed to svc.db.moved-TIME, and nothing is " +
    "deleted. --dry-run only looks whether it can be done.",
  options: [
    {
      flags: "--to <url>",
      help: "the PostgreSQL; other users can see a password in it, but not in PGPASSFILE or " +
        "SVC_DATABASE_URL",
    },
    { flags: "--node <name>", help: "name of this daemon there (default: the host's name)" },
    {
      flags: "--keep <duration>",
      value: duration((secs) => secs * 1000),
      help: "move what is open and the records of the last 30d, …; the rest stays in the file",
    },
    { flags: "--dry-run", help: "check whether it can be done, but change nothing" },
    { flags: "--again", help: "empty the PostgreSQL of a move that has not ended" },
    DATA_DIR,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc db move --to postgres://svc@db.internal/svc --dry-run",
    "svc db move --to postgres://svc@db.internal/svc --node one && svc daemon",
  ],
  async run(context) {
    const { io, options } = context;
    if (options.to === undefined) throw new AppError("usage", "Required: --to");
    const request = {
      url: options.to,
      node: options.node ?? Deno.hostname(),
      dryRun: options.dryRun,
      again: options.again,
      ...defined({ keepMs: options.keep }),
    };
    const dirs = context.dir();
    const code = await interruptible(io, async (signal) => {
      const host = {
        dirs,
        clock: systemClock,
        env: io.env,
        machine: Deno.hostname(),
        onPhase: (text: string) => io.err(`${printable(text)}\n`),
      };
      const { moveLines } = await import("../../upkeep/lines.ts");
      const moved = await follow(moveLines(request, host), { io, signal });
      io.out(options.output === "json" ? jsonText(moved) : movedText(moved));
    });
    if (code === INTERRUPTED) {
      const { isShared } = await import("../../storage/check_storage.ts");
      const now = await isShared(dirs)
        ? "it had just ended: the daemon uses the PostgreSQL"
        : `the daemon uses ${dirs.database} as before; to move it, run this again with --again`;
      io.err(`Stopped: ${now}\n`);
    }
    return code;
  },
});

function movedText(moved: Moved): string {
  return [...(moved.dry_run ? lookedAt(moved) : done(moved)), ""]
    .map((line) => printable(line)).join("\n");
}

function done({ finished, kept, ...moved }: Moved): string[] {
  const lines = finished ? [`The move to ${moved.database} had been done: this ended it`] : [
    `${counted(moved.rows)} and ${moved.logs} logs moved to ${moved.database}, as node ` +
    `${moved.node}, and read back, in ${moved.seconds} s`,
    `${moved.compared_tasks} tasks compared: the same in both`,
    ...remarks(moved),
  ];
  return [
    ...lines,
    `The file is ${kept} now. Keep it until you are sure`,
    "Start the daemon: svc daemon",
  ];
}

function lookedAt(moved: Moved): string[] {
  if (moved.finished) {
    return [`The move to ${moved.database} has been done; run this without --dry-run to end it`];
  }
  return [
    `It can be moved: ${counted(moved.rows)}, ${sizeText(moved.bytes)}, to ${moved.database}`,
    `That takes about ${
      moved.seconds < 60 ? "a minute" : `${Math.ceil(moved.seconds / 60)} minutes`
    } ` +
    "without a daemon, and about as much room as the file",
    ...remarks(moved),
    "Nothing was changed",
  ];
}

function counted(rows: Moved["rows"]): string {
  const total = Object.values(rows).reduce((sum, count) => sum + count, 0);
  const named = (["deliveries", "tasks"] as const).map((name) => `${rows[name] ?? 0} ${name}`);
  return `${total} rows (${named.join(", ")})`;
}

function remarks({ replaced_texts, cut_logs }: Pick<Moved, "replaced_texts" | "cut_logs">) {
  const texts = replaced_texts.map(({ table, nul, half_surrogates }) =>
    `Table ${table}: PostgreSQL has no NUL (${nul} rows) and no half characters ` +
    `(${half_surrogates} rows) in texts; they become signs`
  );
  if (cut_logs.length === 0) return texts;
  return [
    ...texts,
    `Steps with more than 8 MiB of output are cut there: ${cut_logs.slice(0, 5).join(", ")}` +
    (cut_logs.length > 5 ? ` and ${cut_logs.length - 5} more` : "") + "; the files in logs/ stay",
  ];
}
