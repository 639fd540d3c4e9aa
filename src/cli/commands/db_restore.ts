/**
 * `svc db restore`.
 *
 * @module
 */

import { resolve } from "node:path";
import type { Restored } from "../../api/upkeep_operations.ts";
import { systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { restoreLines } from "../../upkeep/lines.ts";
import { type Command, type CommandContext, DATA_DIR, OUTPUT_TEXT_JSON } from "../command.ts";
import { follow } from "../database_work.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";

/** Restores a backup. */
export const command: Command = {
  help: "Replaces the database with a backup; stop the daemon first. The backup is checked, and " +
    "the old database is kept beside the new one as svc.db.before-restore-TIME. Tasks that " +
    "waited or ran when the backup was made continue at the next start, even if they have " +
    "ended since: --cancel-tasks cancels them instead.",
  arguments: [{ name: "<file>", help: "the backup; it is not changed" }],
  options: [
    {
      flags: "--cancel-tasks",
      help: "cancel the tasks that waited or ran when the backup was made",
    },
    {
      flags: "--drop-secrets",
      help: "leave out the SecretStores whose key is lost; apply them again afterwards",
    },
    DATA_DIR,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc db restore /backup/svc.db",
    "svc db restore /backup/svc.db --cancel-tasks && svc daemon",
  ],
  async run(context: CommandContext) {
    const file = resolve(context.argument(0));
    if ((await Deno.stat(file).catch(() => undefined))?.isFile !== true) {
      throw new AppError("not_found", `No file "${file}"`);
    }
    const request = {
      file,
      cancelTasks: context.flag("cancelTasks"),
      dropSecrets: context.flag("dropSecrets"),
    };
    return await interruptible(context.io, async (signal) => {
      const host = { dirs: context.dir(), clock: systemClock, signal };
      const restored = await follow(restoreLines(request, host), { io: context.io, signal });
      context.io.out(
        context.option("output") === "json" ? jsonText(restored) : restoredText(restored),
      );
    });
  },
};

function restoredText(restored: Restored): string {
  const { file, database, kept, open_tasks, cancelled, dropped } = restored;
  const lines = [`${database} is restored from ${file}`];
  if (kept !== null) lines.push(`What was there before is ${kept}`);
  if (open_tasks > 0) {
    const what = cancelled ? "were ended" : "go on when the daemon starts";
    lines.push(`Tasks that were waiting or running: ${open_tasks}; they ${what}`);
  }
  for (const name of dropped) lines.push(`SecretStore ${name} is left out: apply it again`);
  return lines.map((line) => `${line}\n`).join("");
}
