/**
 * `svc db vacuum`.
 *
 * @module
 */

import { sizeText } from "../../base/size.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { doDatabaseWork } from "../database_work.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help: "Returns the space of deleted records to the file system, a mebibyte at a time, so " +
    "that a running daemon keeps serving (role operator). The database reuses such space " +
    "anyway, so you need this only after deleting a lot at once.",
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc db vacuum", "svc db vacuum -o json"],
  run(context) {
    return interruptible(context.io, async (signal) => {
      const done = await doDatabaseWork(
        {
          operation: "db.vacuum",
          input: {},
          async *onFiles(dir) {
            const { openStore } = await import("../../store/sqlite/open_store.ts");
            const { vacuumLines } = await import("../../upkeep/lines.ts");
            await using store = await openStore(dir.database);
            yield* vacuumLines(store);
          },
        },
        context,
        signal,
      );
      if (context.options.output === "json") {
        return context.io.out(jsonText(done));
      }
      const { freed_bytes, bytes } = done;
      context.io.out(`${sizeText(freed_bytes)} returned, ${sizeText(bytes)} in use\n`);
    });
  },
});
