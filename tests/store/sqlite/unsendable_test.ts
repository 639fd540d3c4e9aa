/**
 * A call whose arguments cannot be cloned for the store's thread. In a file of its own, because
 * where it is not caught it ends the whole file.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { accept, countsOf } from "../../helpers/store_records.ts";
import { tempStore } from "../../helpers/temp_store.ts";
import { within } from "../../helpers/within.ts";

Deno.test("a call whose arguments cannot be sent fails, and no other with it", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  const change = (spec: unknown) =>
    store.changeResources([{
      op: "put",
      resource: {
        kind: "Workspace",
        project: "default",
        name: "x",
        metadata: {},
        spec,
        generation: 1,
        createdAt: 1,
        updatedAt: 1,
      },
    }]);
  await rejects(within(2000, change({ path: () => {} })));
  const results = await within(
    2000,
    Promise.allSettled([accept(store, 1), change({ path: () => {} }), accept(store, 2)]),
  );
  deepEqual(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  deepEqual(await within(2000, countsOf(store)), { pending: 2, running: 0 });
});
