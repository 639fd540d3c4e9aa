import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { ParallelDisposer } from "../../src/base/parallel_disposer.ts";

Deno.test("all parts end in parallel, beginning with the newest, and all are waited for", async () => {
  const events: string[] = [];
  const gates = new Map(["a", "b", "c"].map((name) => [name, Promise.withResolvers<void>()]));
  const disposer = new ParallelDisposer();
  for (const [name, { promise }] of gates) {
    disposer.use({
      async [Symbol.asyncDispose]() {
        events.push(name);
        await promise;
        events.push(`${name} over`);
        if (name === "b") throw new Error("b fails");
      },
    });
  }
  const over = rejects(disposer[Symbol.asyncDispose](), { message: "b fails" })
    .then(() => events.push("all over"));
  deepEqual(events, ["c", "b", "a"]);
  gates.get("b")?.resolve();
  gates.get("a")?.resolve();
  await gates.get("a")?.promise;
  gates.get("c")?.resolve();
  await over;
  deepEqual(events.slice(3).toSorted(), ["a over", "all over", "b over", "c over"]);
  deepEqual(events.at(-1), "all over");
});
