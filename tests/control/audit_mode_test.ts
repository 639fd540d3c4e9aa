/**
 * `mode: audit` of the plugin policy: what breaks a rule is accepted and runs, and the daemon's log
 * has a warning for each, on apply and on every run; plugins and hooks alike.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const CRD = `kind: CustomResourceDefinition
metadata: {name: gates.example.com}
spec:
  kind: Semaphore
  plural: gates
  group: example.com
  versions: [{name: v1, schema: {type: object}}]
  plugins:
    - {name: check, type: interceptor, phase: webhook.authenticate, command: "true # wget"}
    - {name: fine, type: interceptor, phase: webhook.authenticate, command: "true"}
    - {name: shape, type: transformer, phase: webhook.transform, command: "cat # base64"}
  hooks:
    onCreate: "true # curl"
`;

const INSTANCE = "kind: Semaphore\nmetadata: {name: one}\nspec: {}\n";

/** What the log says of violations, in order. */
function violations(rig: ControlRig): unknown[] {
  return rig.logged.map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg, message }) => (msg ?? message) === "plugin violates the policy")
    .map(({ level, when, crd, type, plugin, reason }) => [level, when, crd, type, plugin, reason]);
}

function never(name: string): string {
  return `"${name}" is never allowed in a command, whatever the prefix`;
}

controlTest("audit mode warns in the log of what an apply brings and of what runs", async (rig) => {
  const files = [{ name: "crd.yaml", text: CRD }];
  await rig.client.call("apply", { files, dry_run: true });
  deepEqual(violations(rig), [], "a dry run changes nothing and leaves nothing");
  const { warnings } = await rig.apply(CRD);
  const applied = [
    ["warn", "apply", "Semaphore", "interceptor", "check", never("wget")],
    ["warn", "apply", "Semaphore", "transformer", "shape", never("base64")],
    ["warn", "apply", "Semaphore", "hook", "hook:create", never("curl")],
  ];
  deepEqual(violations(rig).length, warnings.length);
  deepEqual(violations(rig), applied);
  const { items } = await rig.client.call("get", { what: "audit", limit: 99 });
  const rows = items as unknown as { result: string }[];
  equal(rows.filter(({ result }) => result === "audit_warning").length, applied.length);
  await rig.apply(INSTANCE);
  deepEqual(violations(rig).slice(applied.length), [
    ["warn", "run", "Semaphore", "hook", "hook:create", never("curl")],
  ]);
}, {
  async prepare({ pluginPolicy }) {
    await Deno.writeTextFile(pluginPolicy, "mode: audit\nallowed_command_prefixes: ['true']\n", {
      mode: 0o600,
    });
  },
});
