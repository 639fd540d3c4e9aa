/**
 * `svc agent check`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, PROJECT } from "../command.ts";
import { FindingsPrinter } from "../findings_printer.ts";

export const command: Command = defineCommand({
  help:
    "Looks whether a step could run an Agent, on the machine of the daemon and in the sandbox " +
    "that the step would get: its secrets, its sandbox, its program, the version of that beside " +
    "the one its package was tried with, and the APIs that it reaches with a key of svc. With " +
    "--prompt it also asks the agent for one word, which shows whether it is logged in and uses a " +
    "few tokens. Only an admin can run it. Exit 1 if a check failed; warnings do not count.",
  arguments: [{ name: "<name>", help: "name of an Agent", complete: "agent" }],
  options: [
    { flags: "--prompt", help: "also ask the agent for one word" },
    PROJECT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc agent check claude-code",
    "svc agent check claude-code --prompt",
    "svc agent check claude-code -o json",
  ],
  async run(context) {
    const { io, options } = context;
    using client = context.client();
    using printer = new FindingsPrinter(io, options.output === "json");
    const input = {
      name: context.argument(0),
      prompt: options.prompt === true,
      ...context.project(),
    };
    await printer.take(client.stream("agent.check", input));
    return printer.finish();
  },
});
