/**
 * `svc complete`: what the scripts of `svc completions` ask for names and ids.
 *
 * @module
 */

import { systemClock } from "../../base/clock.ts";
import { type Command, CommandContext, defineCommand } from "../command.ts";
import { entryOf, inFull } from "../command_words.ts";
import { candidates, cursorAt } from "../completion.ts";

/** Longest time that pressing Tab waits for the daemon. */
const DEADLINE_MS = 1000;

export const command: Command = defineCommand({
  help: "Prints the completions of the last of these words. For completion scripts: prints " +
    "nothing if it has none, or if the daemon is not reachable.",
  arguments: [{ name: "[word...]", help: "the words after svc, the one under the cursor last" }],
  examples: ["svc complete -- task logs ''"],
  async run(context, { commands }) {
    const words = inFull(context.arguments(0));
    const entry = entryOf(words, commands);
    if (entry === undefined) return;
    const asked = (await entry.load()).command;
    const cursor = cursorAt(words.slice(entry.words.split(" ").length), asked);
    const deadline = new AbortController();
    using _timer = systemClock.after(DEADLINE_MS, () => deadline.abort());
    try {
      const { dataDir, server, caFile, project } = cursor.options;
      const other = new CommandContext(context.io, { dataDir, server, caFile, project });
      using client = other.client();
      const asking = { client, ...other.project(), signal: deadline.signal };
      for (const { value, about } of await candidates(cursor, asking)) {
        context.io.out(`${value}${about === "" ? "" : `\t${about}`}\n`);
      }
    } catch {
      // An error is not shown: it would disturb a person who only pressed Tab.
    }
  },
});
