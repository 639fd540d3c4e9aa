/**
 * How a condition that was tried gets into its trigger: not here, but with a command, from a manifest.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { Command } from "../../parts/command.tsx";
import { conditionYaml } from "./condition_yaml.ts";

/** The lines of the manifest, and the commands. */
export function ApplyIt({ trigger, project, condition }: {
  readonly trigger: string;
  readonly project: string;
  readonly condition: string;
}) {
  const copied = useSignal(false);
  const text = conditionYaml(condition);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
    setTimeout(() => copied.value = false, 1500);
  };
  return (
    <section>
      <h2>To apply it</h2>
      <p>
        Nothing is applied here. Put these lines into the manifest of the trigger, in the place of
        its condition:
      </p>
      <div class="yaml">
        <pre tabindex={0} aria-label="The condition as YAML">{text}</pre>
        <button type="button" onClick={copy}>{copied.value ? "Copied" : "Copy"}</button>
      </div>
      <p>Either in an editor, which applies what is saved, or in a file of yours:</p>
      <Command line={`svc edit trigger ${trigger} -p ${project}`} />
      <Command line="svc apply -f trigger.yaml --dry-run --against 7d" />
    </section>
  );
}
