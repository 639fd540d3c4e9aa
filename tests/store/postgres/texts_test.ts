/**
 * Texts that PostgreSQL does not take as they are, and bodies of the largest size: what a stranger
 * sends never spoils a batch.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { accept, idOf, PLAN, step, taskIdOf } from "../../helpers/store_records.ts";
import { admitted } from "../../helpers/admitted.ts";
import { range } from "../contract/each_store.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

/** NUL, half pairs of either side, the text of an escape, and what has to stay. */
const STRANGE = "a\0b \ud800 \udc00 \ud83d\ude00 \\u0000 \\ud800 ' $$ \u2028 ?1";
/** The same as it is handed out. */
const STORED = "a\u2400b \ufffd \ufffd \ud83d\ude00 \\u0000 \\ud800 ' $$ \u2028 ?1";

twoDaemonsTest("every text of a delivery and of its task is stored", async ({ a, b }) => {
  const plan = {
    hash: "h2",
    json: JSON.stringify({ steps: [{ id: "build" }, { id: "deploy" }], prompt: STRANGE }),
  };
  const headers = { "x-strange": STRANGE, "x-nul": "\0" };
  const detail = { headerNames: [STRANGE], stages: {}, condition: STRANGE };
  await Promise.all([
    a.recordDelivery({
      delivery: {
        id: idOf(1),
        project: "default",
        trigger: "push",
        source: "webhook",
        via: "http",
        receivedAt: 1,
        status: 200,
        remote: STRANGE,
        secretStore: STRANGE,
        secretKey: STRANGE,
        bodyBytes: 0,
        durationMs: 0,
        detail,
      },
      content: { headers, body: new Uint8Array([0, 255, 0]), url: `http://svc.example/${STRANGE}` },
      events: [
        admitted({
          outcome: "accepted",
          note: STRANGE,
          task: {
            id: taskIdOf(1),
            project: "default",
            trigger: "push",
            workflow: STRANGE,
            workspace: STRANGE,
            workspaceMax: 2,
            plan,
            parentId: STRANGE,
            dedupKey: STRANGE,
            debounce: { key: STRANGE, forMs: 1 },
            concurrency: { policy: "Queue", key: STRANGE, max: 1 },
          },
        }),
      ],
      dedupWindowMs: 1000,
      dedupKeepMs: 1000,
    }),
    ...range(2, 20).map((n) => accept(a, n, { headers: { "x-n": String(n) } })),
    accept(a, 20, { plan: undefined, task: { missing: STRANGE } }),
  ]);
  const stored = await b.readDelivery(idOf(1));
  equal(stored?.delivery.reason, STORED);
  equal(stored?.delivery.remote, STORED);
  deepEqual(stored?.delivery.detail, detail, "what is kept as JSON is kept as it is");
  deepEqual(stored?.content?.headers, headers);
  equal(stored?.content?.url, `http://svc.example/${STORED}`);
  deepEqual([...stored?.content?.body ?? []], [0, 255, 0]);
  const [task] = await b.findTasks(taskIdOf(1));
  deepEqual([task?.workflow, task?.workspace, task?.parentId], [STORED, STORED, STORED]);
  equal(await b.findPlan(taskIdOf(1)), plan.json);
  equal((await b.findTasks(taskIdOf(20)))[0]?.reason, STORED);
  equal((await b.listDeliveries({ limit: 99 })).length, 20);
});

twoDaemonsTest("what a step says is stored, and a strange id names no task", async ({ a, b }) => {
  await accept(a, 1);
  await accept(a, 2);
  await b.saveStep(taskIdOf(1), {
    ...step(0, "failed"),
    reason: STRANGE,
    outputs: { [STRANGE]: STRANGE },
  });
  const [{ steps } = { steps: [] }] = await a.findTasks(taskIdOf(1));
  deepEqual([steps[0]?.reason, steps[0]?.outputs], [STORED, { [STRANGE]: STRANGE }]);
  const end = { reason: STRANGE, now: 5 };
  deepEqual(await Promise.all([a.cancelTask(STRANGE, end), a.cancelTask(taskIdOf(1), end)]), [
    "ended",
    "cancelled",
  ]);
  equal((await b.findTasks(taskIdOf(1)))[0]?.reason, STORED);
  await a.setTaskDirectory(taskIdOf(2), STRANGE);
  equal((await b.findTasks(taskIdOf(2)))[0]?.directory, STORED);
});

twoDaemonsTest("bodies of the largest size are handed out byte for byte", async ({ a, b }) => {
  const body = crypto.getRandomValues(new Uint8Array(1 << 16));
  const large = new Uint8Array(25 * 1024 * 1024);
  for (let at = 0; at < large.length; at += body.length) large.set(body, at);
  const payload = body.subarray(5, 5000);
  await Promise.all([
    accept(a, 1, { body }),
    accept(a, 2, { body: large }),
    accept(a, 3, { body: new Uint8Array() }),
    accept(a, 4, { body, payload, plan: PLAN }),
  ]);
  const stored = await b.readDeliveries(range(1, 5).map(idOf));
  const [fourth, third, second, first] = stored.map(({ content }) => content?.body);
  deepEqual(first, body);
  ok(
    second !== undefined &&
      new Uint8Array(second.buffer, second.byteOffset).every((byte, at) => byte === large[at]),
  );
  equal(second.length, large.length);
  equal(third?.length, 0);
  deepEqual(fourth, body);
});

twoDaemonsTest("a call that fails spoils none that shares its batch", async ({ a, b }) => {
  await accept(b, 0);
  const isBad = (n: number) => n % 50 === 7;
  const settled = await Promise.allSettled(
    range(1, 201).map((n) =>
      accept(a, n, isBad(n) ? { taskId: taskIdOf(0) } : { task: { dedupKey: String(n) } })
    ),
  );
  deepEqual(
    settled.map(({ status }) => status),
    range(1, 201).map((n) => isBad(n) ? "rejected" : "fulfilled"),
  );
  equal((await b.listTasks({ limit: 999 })).length, 197);
  equal((await b.listDeliveries({ limit: 999 })).length, 197);
});
