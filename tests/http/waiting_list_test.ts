/**
 * Waiting with a shared deadline: who is served in time, who is not, and that no timer stays behind,
 * which the sanitizer of the test runner looks at.
 *
 * @module
 */

import { ok, rejects, strictEqual as equal } from "node:assert/strict";
import { WaitingList } from "../../src/http/waiting_list.ts";

const LATE = () => new Error("late");
const after = (ms: number) =>
  new Promise<string>((resolve) => setTimeout(() => resolve("done"), ms));

Deno.test("WaitingList: what comes in time is handed on, failures too", async () => {
  const list = new WaitingList(10_000);
  equal(await list.wait(Promise.resolve("at once"), LATE), "at once");
  equal(await list.wait(after(5), LATE), "done");
  await rejects(list.wait(Promise.reject(new Error("broke")), LATE), /^Error: broke$/);
});

Deno.test("WaitingList: who comes later is given up later, each after its own time", async () => {
  const list = new WaitingList(160);
  const start = performance.now();
  const times: number[] = [];
  const give = () => list.wait(after(600), LATE).catch(() => times.push(performance.now() - start));
  const first = give();
  await after(80);
  const second = give();
  const quick = list.wait(after(20), LATE);
  equal(await quick, "done");
  await Promise.all([first, second]);
  const [one = 0, two = 0] = times;
  ok(one >= 155 && one < 400, `${one} ms`);
  ok(two >= one + 40 && two < 500, `${two} ms`);
  await after(500); // for what was given up to come to its own end
});

Deno.test("WaitingList: used again after everybody has gone", async () => {
  const list = new WaitingList(50);
  for (let round = 0; round < 3; round++) {
    equal(await list.wait(after(1), LATE), "done");
    const late = after(200);
    await rejects(list.wait(late, LATE), /late/);
    await late;
  }
});
