/**
 * `svc connection repair`.
 *
 * @module
 */

import type { Repaired } from "../../api/connection_operations.ts";
import { defined } from "../../base/defined.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, PROJECT } from "../command.ts";
import { DURATION } from "../option.ts";
import { doConnectionWork } from "../connection_work.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help: "Looks in the log of GitHub or GitLab for events that it could not deliver, and has it " +
    "send the missing ones again. The daemon does this by itself when it starts and every five minutes; " +
    "this command does it now. GitHub keeps its log for three days (GitHub Enterprise and " +
    "GitLab for seven). Exit 1 if an event is lost or not recovered yet.",
  arguments: [{ name: "<name>", help: "name of the Connection", complete: "connection" }],
  options: [
    {
      flags: "--since <duration>",
      value: DURATION,
      help: "how far to look back, such as 3d (default: the last repair)",
    },
    { flags: "--dry-run", help: "print what is missing, but change nothing" },
    PROJECT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc connection repair tidepool",
    "svc connection repair tidepool --since 3d --dry-run",
    "svc connection repair tidepool -o json",
  ],
  async run(context) {
    const since = context.options.since;
    const done = await doConnectionWork("connection.repair", {
      name: context.argument(0),
      ...context.project(),
      dry_run: context.options.dryRun,
      ...defined({ since_secs: since }),
    }, context);
    context.io.out(context.options.output === "json" ? jsonText(done) : textOf(done));
    const isOk = done.fault === null && done.lost === 0;
    return isOk ? 0 : 1;
  },
});

function textOf({ missed, repaired, lost, fault, dry_run: dryRun, name }: Repaired): string {
  const lines = missed.map(({ first_tried_at: at, event, action, guid, status, result }) =>
    `${at}  ${event}${action === "" ? "" : ` ${action}`}  ${guid}  ${result}` +
    (result === "repaired" ? "" : ` (${status})`)
  );
  const counts = dryRun
    ? `${missed.length} missing (dry run)`
    : `${repaired} repaired, ${lost} lost, ${missed.length - repaired - lost} still missing`;
  const end = missed.length === 0 && fault === null
    ? `connection/${name}: nothing is missing`
    : `connection/${name}: ${counts}`;
  const why = fault === null ? [] : [fault];
  return [...lines, end, ...why].map((line) => `${printable(line)}\n`).join("");
}
