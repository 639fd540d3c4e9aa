/**
 * `svc status`.
 *
 * @module
 */

import { shortDuration } from "../base/duration.ts";
import { type Command, type CommandContext, CONNECTION, OUTPUT_TEXT_JSON } from "./command.ts";

/** Shows how the daemon is. */
export const command: Command = {
  help: "Shows whether the daemon runs, where it takes webhooks, and what there is. " +
    "Exit code 3 when it does not run.",
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc status", "svc status -o json | svc tool payload-extract --path webhook_url"],
  async run(context: CommandContext) {
    using client = context.client();
    const status = await client.call("status", {});
    if (context.option("output") === "json") {
      return context.io.out(`${JSON.stringify(status, null, 2)}\n`);
    }
    const { counts, degraded } = status;
    const lines: [string, string][] = [
      ["version", status.version],
      ["webhooks", status.webhook_url ?? "off"],
      ["data", status.data_dir],
      ["uptime", shortDuration(status.uptime_secs * 1000)],
      ...Object.entries(counts).map((
        [name, n],
      ): [string, string] => [name.replace("_", " "), String(n)]),
      ["degraded", degraded.length === 0 ? "no" : degraded.join("; ")],
    ];
    context.io.out(lines.map(([name, value]) => `${`${name}:`.padEnd(16)}${value}\n`).join(""));
  },
};
