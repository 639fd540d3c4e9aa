/**
 * How a condition that was tried gets into its trigger: not here, but with a command, from a manifest.
 *
 * @module
 */

import { Command } from "../../parts/command.tsx";
import { CopyButton } from "../../parts/copy_button.tsx";
import { conditionYaml } from "./condition_yaml.ts";

/** The lines of the manifest, and the commands. */
export function ApplyIt({ trigger, project, condition }: {
  readonly trigger: string;
  readonly project: string;
  readonly condition: string;
}) {
  const text = conditionYaml(condition);
  return (
    <section>
      <h2>Apply it</h2>
      <p>
        This page applies nothing. Replace the condition in the trigger's manifest with these lines:
      </p>
      <div class="yaml">
        <pre tabindex={0} aria-label="The condition as YAML">{text}</pre>
        <CopyButton text={text} what="these lines" />
      </div>
      <p>In an editor, which applies the manifest when you save it, or in a file of your own:</p>
      <Command line={`svc edit trigger ${trigger} -p ${project}`} />
      <Command line="svc apply -f trigger.yaml --dry-run --against 7d" />
    </section>
  );
}
