/**
 * `svc db rekey`.
 *
 * @module
 */

import type { Rekeyed } from "../../api/upkeep_operations.ts";
import { systemClock } from "../../base/clock.ts";
import { closeToOthers } from "../../base/private_files.ts";
import { type Command, DATA_DIR, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { follow } from "../database_work.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help: "Creates a new encryption key and seals every secret value again. Stop the daemon first, " +
    "or all daemons that share the PostgreSQL. The old key stays beside the new one as " +
    "secretstore.key.before-rekey-TIME: earlier backups open with it. If the command is " +
    "killed, the daemon starts with the key that opens everything. After a leak, change the " +
    "secrets too: anyone with the old key and a backup can read them.",
  options: [
    { flags: "--dry-run", help: "check whether it can be done, but change nothing" },
    DATA_DIR,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc db rekey --dry-run",
    "svc db rekey && svc daemon",
  ],
  async run(context) {
    const { io } = context;
    const dirs = context.dir();
    const closed = await closeToOthers(dirs);
    if (closed !== undefined) io.err(`warning: ${closed}\n`);
    const request = { dryRun: context.options.dryRun };
    const onNote = (text: string) => io.err(`note: ${text}\n`);
    const host = { dirs, clock: systemClock, env: io.env, onNote };
    const { rekeyLines } = await import("../../upkeep/lines.ts");
    const rekeyed = await follow(rekeyLines(request, host), { io });
    io.out(context.options.output === "json" ? jsonText(rekeyed) : rekeyedText(rekeyed));
  },
});

function rekeyedText(rekeyed: Rekeyed): string {
  const { secret_stores, values, key_file, former_key_file, changed_at, other_nodes } = rekeyed;
  const what = `${values} ${values === 1 ? "value" : "values"} of ` +
    `${secret_stores} ${secret_stores === 1 ? "SecretStore" : "SecretStores"}`;
  const lines = rekeyed.dry_run
    ? [`${what} would be sealed with a new key; nothing was changed`]
    : [
      `${what} sealed with a new key`,
      `New key: ${key_file}`,
      "  back it up now, in another place than the backups",
      `Old key: ${former_key_file}`,
      `  backups made before ${changed_at} open with it; delete it with them`,
    ];
  if (other_nodes.length > 0) {
    lines.push(
      `Other nodes: ${other_nodes.join(", ")}`,
      "  give each the new key before its daemon starts: svc init --key-file FILE",
    );
  }
  return lines.map((line) => `${printable(line)}\n`).join("");
}
