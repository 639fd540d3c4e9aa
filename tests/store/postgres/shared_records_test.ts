/**
 * Resources, connections, key uses, inboxes and rejected requests that two daemons change at the same
 * time: nothing is lost, and none waits for the other in a circle.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { Resource } from "../../../src/resources/resource.ts";
import { accept, idOf, reject, taskIdOf } from "../../helpers/store_records.ts";
import { range } from "../contract/each_store.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

const WORKSPACE: Resource = {
  kind: "Workspace",
  project: "default",
  name: "repo",
  metadata: {},
  spec: {},
  generation: 1,
  createdAt: 1,
  updatedAt: 1,
};

twoDaemonsTest("one of two changes of the same resource is refused", async ({ a, b }) => {
  const put = (generation: number, spec: unknown) =>
    [{ op: "put", resource: { ...WORKSPACE, generation, spec } }] as const;
  const before = await a.resourceVersion();
  for (const generation of range(1, 6)) {
    const results = await Promise.allSettled(
      [a, b].map((store, n) => store.changeResources(put(generation, { n }))),
    );
    deepEqual(results.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    const refused = results.find(({ status }) => status === "rejected");
    equal(refused?.status === "rejected" && refused.reason.code, "conflict");
  }
  equal(await b.resourceVersion(), before + 5, "a refused change is no version");
  equal((await b.loadResources())[0]?.generation, 5);
});

twoDaemonsTest("both learn of a Connection, and nothing of it is lost", async ({ a, b }) => {
  const key = { project: "default", name: "github", createdAt: 1 };
  const gap = { from: 1, to: 2, repaired: 1, lost: 0, reason: "" };
  await Promise.all(
    range(0, 20).map((n) =>
      (n % 2 === 0 ? a : b).noteConnection(key, { gap, marks: { [n]: n } }, 1)
    ),
  );
  const [state] = await a.listConnectionStates();
  equal(state?.repaired, 20);
  equal(Object.keys(state?.marks ?? {}).length, 20);
});

twoDaemonsTest("both count the same keys, each in an order of its own", async ({ a, b }) => {
  const uses = range(0, 30).map((n) => (
    { project: "default", store: "s", key: `k${n}`, trigger: "t", count: 1, lastAt: n }
  ));
  await Promise.all(
    range(0, 10).flatMap(() => [
      a.recordKeyUse(uses),
      b.recordKeyUse([...uses.toReversed(), ...uses]),
    ]),
  );
  const counted = await a.listKeyUse("default", "s");
  deepEqual(counted.map(({ count }) => count), uses.map(() => 30));
});

twoDaemonsTest("messages of both to one task have positions without a gap", async ({ a, b }) => {
  await accept(a, 1);
  const added = await Promise.all(
    range(0, 20).map((n) => (n % 2 === 0 ? a : b).addToInbox(taskIdOf(1), { n }, n)),
  );
  const positions = added.map((one) => one?.position ?? -1).toSorted((x, y) => x - y);
  deepEqual(positions, range(0, 20));
  deepEqual((await a.listInbox(taskIdOf(1))).map(({ position }) => position), range(0, 20));
});

twoDaemonsTest(
  "both keep rejected requests of one trigger, and only the newest stay",
  async (daemons) => {
    const { a, b } = daemons;
    const headers = { "x-a": "1" };
    await Promise.all(
      range(0, 20).map((n) =>
        reject(n % 2 === 0 ? a : b, [{ n: n + 1, headers }, { n: n + 101 }], 5)
      ),
    );
    await reject(a, [{ n: 999 }], 5);
    const kept = await b.listDeliveries({ limit: 99 });
    deepEqual(kept.map(({ id }) => id), [999, 120, 119, 118, 117].map(idOf));
  },
);
