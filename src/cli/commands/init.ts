/**
 * `svc init`.
 *
 * @module
 */

import { systemClock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { shellWord } from "../../base/shell_word.ts";
import { initDataDir, type InitOptions } from "../../init.ts";
import {
  type Command,
  type Context,
  DATA_DIR,
  defineCommand,
  OUTPUT_TEXT_JSON,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import { jsonText } from "../json_text.ts";

const OPTIONS = [
  DATA_DIR,
  {
    flags: "--database <url>",
    help: "PostgreSQL to share with other daemons; other users can see a password in it, but " +
      "not in PGPASSFILE or SVC_DATABASE_URL",
  },
  { flags: "--node <name>", help: "name of this daemon among them (default: the host's name)" },
  {
    flags: "--key-file <file>",
    help: "secrets/secretstore.key of a daemon that shares it; also after its key was changed",
  },
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Creates the data directory with its database and its encryption key. Run it once before " +
    "the daemon; running it again changes nothing that exists. With --database, several daemons " +
    "share one PostgreSQL: the first makes it, the others join with the key of the first.",
  options: OPTIONS,
  examples: [
    "svc init",
    "svc init --data-dir /var/lib/svc",
    "svc init --database postgres://svc@db.internal/svc --key-file /root/secretstore.key",
    "svc init --key-file /root/secretstore.key   # the key of the others was changed",
  ],
  async run(context) {
    const dir = context.dir();
    const { io } = context;
    const options = sharedOf(context);
    const { made, closed } = await initDataDir(dir, {
      clock: systemClock,
      env: io.env,
      onNote: (text) => io.err(`note: ${text}\n`),
      ...options,
    });
    if (closed !== undefined) io.err(`warning: ${closed}\n`);
    if (context.options.output === "json") {
      return io.out(jsonText({ data_dir: dir.root, created: made }));
    }
    for (const path of made) io.out(`created ${path}\n`);
    if (made.length === 0) io.out(`${dir.root} is initialised already\n`);
    else io.out(nextSteps(dir, options));
  },
});

/**
 * The next steps where daemons share a database. Only the first daemon can tell what the others
 * need.
 */
function nextSteps(dir: DataDir, { shared, keyFile }: ReturnType<typeof sharedOf>): string {
  if (shared === undefined) return "";
  if (keyFile !== undefined) {
    return `\nNode ${shared.name} has joined and can start: svc daemon\nIt has the key now: ` +
      "you can delete the copy that you made for this command\n";
  }
  return `\nNode ${shared.name} can start: svc daemon\n` +
    `For each other node, copy ${dir.secretKey} to its machine, where only its user can read it, ` +
    "and run there\n" +
    `  svc init --database ${shellWord(shared.url)} --node NAME --key-file COPY\n`;
}

/** The options of a shared database; `undefined` if none is named. */
function sharedOf(context: Context<typeof OPTIONS>): Pick<InitOptions, "shared" | "keyFile"> {
  const url = context.options.database;
  const [name, keyFile] = [context.options.node, context.options.keyFile];
  if (url === undefined) {
    if (name !== undefined) throw new AppError("usage", "--node requires --database");
    return keyFile === undefined ? {} : { keyFile };
  }
  return {
    shared: { url, name: name ?? Deno.hostname() },
    ...defined({ keyFile }),
  };
}
