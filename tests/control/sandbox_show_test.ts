/**
 * `sandbox.show`: by the rules by which sandboxes are made, on the machine of the daemon.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { controlTest } from "../rigs/control_rig.ts";

const sandbox = (name: string, spec: string) =>
  `kind: Sandbox\nmetadata: {name: ${name}}\nspec: ${spec}`;

controlTest("what a sandbox has is shown, and why it cannot have a path", async (rig) => {
  const { root } = rig.dirs;
  await Deno.mkdir(`${root}/data`);
  await Deno.symlink(`${root}/secrets`, `${root}/data/link`);
  const read = ["/usr/share", "/nowhere/at/all", `${root}/secrets`, `${root}/data/link`, "/proc/1"];
  const write = [root, "/nowhere/at/all", "/nonexistent/of/home"];
  await rig.apply(
    sandbox("odd", JSON.stringify({ read, write, nested: true, control: false, cpu: 1 })),
    sandbox(
      "agents",
      "{network: {allow: [a.example], inject: [{url: 'https://b.example', env: B}]}}",
    ),
  );
  const odd = await rig.client.call("sandbox.show", { name: "odd" });
  deepEqual(
    odd.paths.map(({ written, access, exists, refused }) => [written, access, exists, refused]),
    [
      ["/usr/share", "read", true, null],
      ["/nowhere/at/all", "read", false, null],
      [`${root}/secrets`, "read", true, "svc keeps its state there"],
      [`${root}/data/link`, "read", true, "svc keeps its state there"],
      ["/proc/1", "read", true, "the system makes it anew in each sandbox"],
      [root, "write", true, "svc keeps its state there"],
      ["/nowhere/at/all", "write", false, "it does not exist, make it"],
      ["/nonexistent/of/home", "write", false, "it does not exist, make it"],
    ],
  );
  deepEqual([odd.name, odd.nested, odd.control, odd.network.mode], ["odd", true, false, "none"]);
  deepEqual([odd.limits.cpu, odd.limits.memory], [1, null]);
  equal(odd.absent.data_dir, root);

  const { network } = await rig.client.call("sandbox.show", { name: "agents" });
  deepEqual(network, {
    mode: "rules",
    allow: ["a.example"],
    inject: [{ url: "https://b.example", env: "B", headers: [], paths: null }],
  });
  const standard = await rig.client.call("sandbox.show", {});
  deepEqual([standard.name, standard.network.mode, standard.limits.fault], [null, "all", null]);
  ok(standard.scratch.includes("/tmp") && standard.control);
  await rejects(rig.client.call("sandbox.show", { name: "none-such" }), { code: "not_found" });
});
