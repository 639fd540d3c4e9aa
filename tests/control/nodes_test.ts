/**
 * The one node of a daemon with a database in a file.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { VERSION } from "../../src/base/version.ts";
import { controlTest } from "../rigs/control_rig.ts";

controlTest("a daemon that is alone lists itself, by a name as any other record", async (rig) => {
  const { items: [node], names, columns, rows } = await rig.client.call("get", { what: "nodes" });
  const { id, name, started_at: startedAt, ...rest } = node ?? {};
  deepEqual(rest, {
    state: "ready",
    self: true,
    drained: false,
    running: 0,
    version: VERSION,
    faults: [],
    lease_until: null,
  });
  equal(name, Deno.hostname());
  deepEqual(names, [`node/${name}`]);
  deepEqual(
    columns.map(({ header }) => header),
    ["NAME", "STATE", "LEASE", "RUNNING", "VERSION", "STARTED"],
  );
  deepEqual(rows, [[name, "ready", "none", "0", VERSION, startedAt]]);
  for (const given of [`${name}`, `node/${name}`, `${id}`]) {
    deepEqual(
      await rig.client.call("describe", { what: "node", name: given, reveal: false }),
      node,
    );
  }
  await rejects(rig.client.call("get", { what: "nodes", name: "none-of-these" }), {
    code: "not_found",
    message: 'No node "none-of-these": "svc get nodes" lists them',
  });
  await rejects(rig.client.call("get", { what: "nodes", since_secs: 60 }), {
    code: "usage",
    message: /^--since is for tasks, deliveries, source-events, .* and /,
  });
});

controlTest(
  "a daemon that is alone is neither forgotten nor drained, and the try is audited",
  async (rig) => {
    const { items: [node] } = await rig.client.call("get", { what: "nodes" });
    const name = String(node?.["name"]);
    for (const force of [false, true]) {
      await rejects(rig.client.call("node.forget", { name, force }), {
        code: "conflict",
        message: "This node answers the request, so it is alive",
      });
    }
    await rejects(rig.client.call("node.forget", { name: "box", force: true }), {
      code: "not_found",
    });
    await rejects(rig.client.call("node.drain", { name, drained: true }), {
      code: "refused",
      message: /does not share its database, .* use svc pause/,
    });
    const { items } = await rig.client.call("get", { what: "control-audits" });
    deepEqual(
      items.map(({ operation, target, result }) => ({ operation, target, result })),
      ["node.drain", "node.forget", "node.forget"].map((operation) => ({
        operation,
        target: `node/${name}`,
        result: "failed",
      })),
    );
  },
);
