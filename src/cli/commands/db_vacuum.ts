/**
 * `svc db vacuum`.
 *
 * @module
 */

import type { Vacuum } from "../../api/upkeep_operations.ts";
import { systemClock } from "../../base/clock.ts";
import { lockDataDir } from "../../base/lock.ts";
import { sizeText } from "../../base/size.ts";
import { refuseShared } from "../../storage/no_shared_database.ts";
import { rewriteFile } from "../../store/sqlite/rewrite_file.ts";
import { openStore } from "../../store/sqlite/open_store.ts";
import { vacuumLines } from "../../upkeep/lines.ts";
import { type Command, type CommandContext, CONNECTION, OUTPUT_TEXT_JSON } from "../command.ts";
import { doDatabaseWork } from "../database_work.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";

/** Shrinks the database. */
export const command: Command = {
  help: "Returns the space of deleted records to the file system, a mebibyte at a time, so that " +
    "a daemon keeps serving; it asks for the role operator. The database reuses such space " +
    "anyway, so this is for after much was deleted at once. With --full, while no daemon runs, " +
    "it writes the file anew, so that nothing of what was deleted is left in unused bytes of it.",
  options: [
    { flags: "--full", help: "write the whole file anew; takes as much room again meanwhile" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: ["svc db vacuum", "svc db vacuum -o json", "svc db vacuum --full"],
  async run(context: CommandContext) {
    if (context.flag("full")) return print(await rewrite(context), context);
    await interruptible(context.io, async (signal) => {
      const done = await doDatabaseWork(
        {
          operation: "db.vacuum",
          input: {},
          async *onFiles(dir) {
            await using store = await openStore(dir.database);
            yield* vacuumLines(store);
          },
        },
        context,
        signal,
      );
      print(done, context);
    });
  },
};

/** @throws {AppError} `refused` while a daemon runs, and for a database that is shared. */
async function rewrite(context: CommandContext): Promise<Vacuum> {
  const dir = context.dir();
  await refuseShared("db.vacuum", dir);
  using _lock = await lockDataDir(dir, systemClock);
  const { before, after } = rewriteFile(dir.database);
  return { freed_bytes: Math.max(0, before - after), bytes: after };
}

function print(done: Vacuum, context: CommandContext): void {
  if (context.option("output") === "json") return context.io.out(jsonText(done));
  const { freed_bytes, bytes } = done;
  context.io.out(`${sizeText(freed_bytes)} returned, ${sizeText(bytes)} in use\n`);
}
