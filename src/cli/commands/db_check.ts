/**
 * `svc db check`.
 *
 * @module
 */

import { resolve } from "node:path";
import { AppError } from "../../base/errors.ts";
import { sizeText } from "../../base/size.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import { doDatabaseWork, follow } from "../database_work.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

const OPTIONS = [...CONNECTION, OUTPUT_TEXT_JSON] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help:
    "Checks every page and every row of the database, the chain of the plugin audit, and that " +
    "the key file opens every secret. Exit 1 if something is wrong. Works while the daemon " +
    "runs (role operator) and without one. If daemons share a PostgreSQL, it checks the rows " +
    "and the jobs of tasks there, and the rest as usual. Given a file, it checks that copy " +
    "instead.",
  arguments: [{ name: "[file]", help: "a backup (default: the database of the data directory)" }],
  options: OPTIONS,
  examples: ["svc db check", "svc db check /backup/svc.db -o json"],
  async run(context) {
    const given = context.argument(0);
    const dir = context.dir();
    const isCopy = given !== "" && resolve(given) !== dir.database;
    const report = isCopy ? await checkCopy(resolve(given), context) : await doDatabaseWork({
      operation: "db.check",
      input: {},
      async *onFiles(dirs) {
        const { ownCheckLines } = await import("../../upkeep/lines.ts");
        yield* ownCheckLines({ env: context.io.env, alone: true }, dirs);
      },
      anyDatabase: true,
    }, context);
    const { file, bytes, faults, notes } = report;
    if (context.options.output === "json") {
      context.io.out(jsonText(report));
    } else {
      const verdict = faults.length === 0
        ? `sound, ${sizeText(bytes)}`
        : faults.length === 1
        ? "1 fault"
        : `${faults.length} faults`;
      for (const fault of faults) context.io.out(`${printable(fault)}\n`);
      context.io.out(`${file}: ${verdict}\n`);
      for (const note of notes) context.io.err(`${note}\n`);
    }
    return faults.length === 0 ? 0 : 1;
  },
});

async function checkCopy(file: string, context: Context<typeof OPTIONS>) {
  const there = await Deno.stat(file).catch(() => undefined);
  if (there?.isFile !== true) throw new AppError("not_found", `No file "${file}"`);
  const { checkLines } = await import("../../upkeep/lines.ts");
  return await follow(checkLines({ file, alone: false }, context.dir()), {
    io: context.io,
  });
}
