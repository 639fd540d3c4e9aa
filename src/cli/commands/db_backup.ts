/**
 * `svc db backup`.
 *
 * @module
 */

import { resolve } from "node:path";
import { AppError } from "../../base/errors.ts";
import { sizeText } from "../../base/size.ts";
import { backupLines } from "../../upkeep/lines.ts";
import { type Command, type CommandContext, CONNECTION, OUTPUT_TEXT_JSON } from "../command.ts";
import { doDatabaseWork } from "../database_work.ts";
import { interruptible } from "../interrupt.ts";

/** Copies the database. */
export const command: Command = {
  help: "Copies the database to one file, mode 0600, as it is at this moment; the daemon goes on " +
    "meanwhile, and need not run. Where one runs, it writes the file, and it takes the role admin. " +
    "The key of the secrets is not in the copy: keep secrets/secretstore.key as well, in another " +
    "place. Step logs, scripts and policies are files of their own.",
  arguments: [{ name: "<file>", help: "the copy; it is there whole or not at all" }],
  options: [
    { flags: "--force", help: "write over an earlier backup of that name" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc db backup /backup/svc.db",
    'svc db backup "/backup/svc-$(date +%u).db" --force   # the last seven days',
    "svc db check /backup/svc.db",
  ],
  run(context: CommandContext) {
    const given = context.argument(0);
    if (given === "" || given === "-") throw new AppError("usage", "Give the name of a file");
    const request = { file: resolve(given), force: context.flag("force") };
    return interruptible(context.io, async (signal) => {
      const backup = await doDatabaseWork(
        {
          operation: "db.backup",
          input: request,
          onFiles: (dir) => backupLines(request, dir),
        },
        context,
        signal,
      );
      if (context.option("output") === "json") {
        return context.io.out(`${JSON.stringify(backup, null, 2)}\n`);
      }
      const { file, bytes, schema_version, key_file } = backup;
      context.io.out(`${file}: ${sizeText(bytes)}, schema ${schema_version}\n`);
      context.io.err(
        `The secrets in it open with ${key_file} only: keep that file too, in another place\n`,
      );
    });
  },
};
