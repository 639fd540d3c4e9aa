/**
 * How to apply a tried condition to its trigger: the page does not, a command with a manifest does.
 *
 * @module
 */

import { Command } from "../../parts/command.tsx";
import { CopyButton } from "../../parts/copy_button.tsx";
import { conditionYaml } from "./condition_yaml.ts";

/** The lines for the manifest, and the commands that apply it. */
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
