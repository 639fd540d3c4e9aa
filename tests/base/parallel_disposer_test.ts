import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { ParallelDisposer } from "../../src/base/parallel_disposer.ts";

Deno.test("all parts end side by side, the newest is told first, and all are waited for", async () => {
  const told: string[] = [];
  const gates = new Map(["a", "b", "c"].map((name) => [name, Promise.withResolvers<void>()]));
  const disposer = new ParallelDisposer();
  for (const [name, { promise }] of gates) {
    disposer.use({
      async [Symbol.asyncDispose]() {
        told.push(name);
        await promise;
        told.push(`${name} over`);
        if (name === "b") throw new Error("b fails");
      },
    });
  }
  const over = rejects(disposer[Symbol.asyncDispose](), { message: "b fails" })
    .then(() => told.push("all over"));
  deepEqual(told, ["c", "b", "a"]);
  gates.get("b")?.resolve();
  gates.get("a")?.resolve();
  await gates.get("a")?.promise;
  gates.get("c")?.resolve();
  await over;
  deepEqual(told.slice(3).toSorted(), ["a over", "all over", "b over", "c over"]);
  deepEqual(told.at(-1), "all over");
});
