/**
 * `svc doctor`.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { type Command, DATA_DIR, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { FindingsPrinter } from "../findings_printer.ts";

export const command: Command = defineCommand({
  help: "Looks for what keeps svc from working on this machine, and says how to fix it: data " +
    "directory, disk, database, key, clock, descriptors, system, git, the programs and " +
    "directories that applied resources name, the sandbox of agents, certificates, the " +
    "service, and the daemon's own state. A running daemon does the checks itself, with the " +
    "environment and the limits of its steps (role operator); otherwise this command does " +
    "them, and also tries the ports of daemon.yaml. Changes nothing. Exit 1 if a check failed; " +
    "warnings do not count.",
  options: [
    {
      flags: "--url <url>",
      help: "also check that requests to this address reach the daemon: https://HOST",
    },
    DATA_DIR,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc doctor",
    "svc doctor --url https://hooks.example.com",
    "sudo -u svc svc doctor --data-dir /var/lib/svc -o json",
  ],
  async run(context) {
    const { io } = context;
    const url = urlOf(context.options.url);
    const dirs = context.dir();
    using client = context.localClient();
    using printer = new FindingsPrinter(io, context.options.output === "json");
    const { diagnose } = await import("../diagnose.ts");
    await diagnose({ io, dirs, client, printer, url });
    return printer.finish();
  },
});

/** The base address that platforms are given. */
function urlOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === "" &&
    url.password === "" && url.search === "" && url.hash === "";
  if (isPlain) return text;
  throw new AppError("usage", "--url takes https://HOST, the base of the webhook addresses");
}
