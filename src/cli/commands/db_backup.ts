/**
 * `svc db backup`.
 *
 * @module
 */

import { resolve } from "node:path";
import { AppError } from "../../base/errors.ts";
import { sizeText } from "../../base/size.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { doDatabaseWork } from "../database_work.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help: "Copies the database to one file, mode 0600, as it is at this moment. Works with and " +
    "without a daemon; a running daemon keeps serving, writes the file itself, and requires " +
    "the role admin. The key of the secrets is not in the copy: back up " +
    "secrets/secretstore.key too, in another place. Step logs, scripts and policies are not in " +
    "it either.",
  arguments: [{ name: "<file>", help: "the copy; it is written whole or not at all" }],
  options: [
    { flags: "--force", help: "replace an earlier backup of that name" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc db backup /backup/svc.db",
    'svc db backup "/backup/svc-$(date +%u).db" --force   # the last seven days',
    "svc db check /backup/svc.db",
  ],
  run(context) {
    const given = context.argument(0);
    if (given === "" || given === "-") throw new AppError("usage", "Give the name of a file");
    const request = { file: resolve(given), force: context.options.force };
    return interruptible(context.io, async (signal) => {
      const backup = await doDatabaseWork(
        {
          operation: "db.backup",
          input: request,
          async *onFiles(dir) {
            const { backupLines } = await import("../../upkeep/lines.ts");
            yield* backupLines(request, dir, signal);
          },
        },
        context,
        signal,
      );
      if (context.options.output === "json") {
        return context.io.out(jsonText(backup));
      }
      const { file, bytes, schema_version, key_file } = backup;
      context.io.out(`${file}: ${sizeText(bytes)}, schema ${schema_version}\n`);
      context.io.err(
        `The secrets in it open only with ${key_file}: keep that file too, in another place\n`,
      );
    });
  },
});
