/**
 * `svc audit verify`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help: "Verifies the hash chain of the plugin audit: reports each row that something other " +
    "than the daemon changed, removed or added. Exit 1 if it finds one.",
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc audit verify", "svc get audit --outcome denied --since 7d"],
  async run(context) {
    using client = context.client();
    const { rows, faults } = await client.call("audit.verify", {});
    if (context.options.output === "json") {
      context.io.out(jsonText({ rows, faults }));
    } else {
      for (const fault of faults) context.io.out(`${fault}\n`);
      context.io.out(
        faults.length === 0 ? `${rows} rows, unchanged\n` : `${faults.length} faults\n`,
      );
    }
    return faults.length === 0 ? 0 : 1;
  },
});
