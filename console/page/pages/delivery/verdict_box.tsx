/**
 * The top of the screen of a delivery: its outcome, and the changes that would lead to another one.
 *
 * @module
 */

import { Command } from "../../parts/command.tsx";
import { Text } from "../../parts/text.tsx";
import type { Verdict } from "./verdict.ts";

/** Shows a verdict with its changes and their commands. */
export function VerdictBox({ verdict }: { readonly verdict: Verdict }) {
  const { tone, what, change } = verdict;
  return (
    <section
      class={tone === "plain" ? "verdict" : `verdict ${tone}`}
      aria-label="What happened, and what would change it"
    >
      <p class="what">
        <Text value={what} />
      </p>
      {change.length > 0 && (
        <ul class="change">
          {change.map(({ text, command }) => (
            <li key={text + (command ?? "")}>
              <Text value={text} />
              {command !== undefined && <Command line={command} />}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
