/**
 * Lists of records as they are asked for: filters, pages in both directions, and a search that
 * finds little, which ends after so many records and goes on where it ended.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { GetInput, Listing } from "../../src/api/resource_operations.ts";
import { defined } from "../../src/base/defined.ts";
import { listInSteps } from "../../src/control/records/list_in_steps.ts";
import { toQuery } from "../../src/control/records/record_query.ts";
import type { RecordQuery } from "../../src/control/records/record_type.ts";
import { recordReads } from "../../src/control/records/record_feed.ts";
import { RecordWatch } from "../../src/control/records/record_watch.ts";
import { findRecordType, listRecords } from "../../src/control/records/records.ts";
import type { Delivery } from "../../src/store/delivery_records.ts";
import type { Store } from "../../src/store/store.ts";
import { accept, filterOut, idOf, reject, taskIdOf } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";

const NOW = 1_717_986_918_399 + 3_600_000;
const clock = { now: () => NOW };

function typeOf(what: string) {
  const type = findRecordType(what);
  if (type === undefined) throw new Error(what);
  return type;
}

const get = (store: Store, what: string, input: Omit<GetInput, "what"> = {}): Promise<Listing> =>
  listRecords(typeOf(what), { what, ...input }, { store, clock });

const numbers = ({ items }: Pick<Listing, "items">) =>
  items.map(({ id }) => Number(String(id).slice(-6)));

Deno.test("every list that grows is read on in both directions, page by page", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  for (let n = 1; n <= 7; n++) {
    await accept(store, n, { taskId: idOf(n) });
    await store.recordControl({
      id: idOf(n),
      createdAt: n,
      operation: "apply",
      target: "",
      caller: "socket",
      role: "admin",
      result: "done",
      reason: "",
    });
  }
  for (const what of ["task", "delivery", "control-audit"]) {
    const back: number[][] = [];
    let page = await get(store, what, { limit: 3 });
    for (;;) {
      back.push(numbers(page));
      if (page.more_before === undefined) break;
      page = await get(store, what, { limit: 3, before: page.more_before });
    }
    deepEqual(back, [[7, 6, 5], [4, 3, 2], [1]], what);
    const forth: number[][] = [];
    page = await get(store, what, { limit: 3, after: idOf(1) });
    for (;;) {
      forth.push(numbers(page));
      equal(page.more_before, undefined);
      if (page.more_after === undefined) break;
      page = await get(store, what, { limit: 3, after: page.more_after });
    }
    deepEqual(forth, [[4, 3, 2], [7, 6, 5], []], what);
    deepEqual(numbers(await get(store, what, { after: idOf(1).slice(0, 20) })), [], "all begin so");
    deepEqual(numbers(await get(store, what, { after: idOf(2), before: idOf(5) })), [4, 3]);
  }
});

Deno.test("since and until are times, or seconds back from now", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  for (let n = 1; n <= 5; n++) await accept(store, n, { receivedAt: NOW - (10 - n) * 1000 });
  const at = (secs: number) => new Date(NOW - secs * 1000).toISOString();
  const list = async (input: Omit<GetInput, "what">) =>
    numbers(await get(store, "delivery", input));
  deepEqual(await list({ since: at(7) }), [5, 4, 3]);
  deepEqual(await list({ since_secs: 7 }), [5, 4, 3]);
  deepEqual(await list({ until: at(8) }), [2, 1]);
  deepEqual(await list({ since: at(8), until: at(6) }), [4, 3, 2]);
  const zoned = `${new Date(NOW - 8000 + 2 * 3_600_000).toISOString().slice(0, -1)}+02:00`;
  deepEqual(await list({ until: zoned }), [2, 1]);
  for (const until of ["yesterday", "2026-01-31", "1717986918", "2026-13-01T00:00:00Z", ""]) {
    await rejects(
      list({ until }),
      { code: "usage", message: /^until takes a time such as / },
      until,
    );
  }
  await rejects(list({ since: at(1), since_secs: 1 }), {
    code: "usage",
    message: /give either since or since_secs/,
  });
  await rejects(list({ after: "not an id" }), { code: "usage", message: /is not an id/ });
});

Deno.test("a filter is refused where it means nothing, by the name of its flag", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  const refused: readonly (readonly [string, Partial<GetInput>, string | RegExp])[] = [
    ["task", { reason: "x" }, "--reason is for deliveries"],
    ["task", { min_duration_ms: 5 }, "--min-duration is for deliveries"],
    ["source-event", { status: 401 }, "--status is for deliveries"],
    ["delivery", { retry_of: "x" }, "--retry-of is for tasks"],
    ["delivery", { parent: "x" }, "--parent is for tasks"],
    ["delivery", { session: "x" }, "--session is for tasks"],
    ["token", { trigger: "x" }, /^--trigger is for tasks, deliveries, .* and \w+$/],
    ["node", { trigger: "x" }, /^--trigger is for /],
    ["control-audit", { trigger: "x" }, /^--trigger is for /],
    ["token", { since: "2026-01-31T08:00:00Z" }, /^--since is for tasks, .* and [\w-]+$/],
    ["wait", { since_secs: 5 }, /^--since is for /],
    ["task", { selector: "a=b" }, "--selector is for resources"],
    ["audit", { delivery: "x" }, "--delivery is for tasks"],
    ["binding", { thread: "x" }, "--thread is for source-events"],
    ["audit", { caller: "x" }, "--caller is for control-audits"],
    ["task", { caller: "x" }, "--caller is for control-audits"],
  ];
  for (const [what, input, message] of refused) {
    await rejects(get(store, what, input), { code: "usage", message }, String(message));
  }
  for (const input of [{ until: "2026-01-31T08:00:00Z" }, { after: "01K" }, { before: "01K" }]) {
    await rejects(get(store, "token", input), { code: "usage" }, JSON.stringify(input));
  }
});

Deno.test("tasks of a delivery, a parent or a retried task, named as people name them", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await accept(store, 1);
  await accept(store, 2, { plan: undefined, task: { parentId: taskIdOf(1) } });
  const again = { of: taskIdOf(2), kept: [], keepDirectory: false, staysOnNode: false, now: NOW };
  const plan = { hash: "h1", json: '{"steps":[]}' };
  await store.retryTask({
    by: { called: "ada" },
    id: taskIdOf(3),
    planned: { workflow: "ci", workspace: "repo", plan },
    ...again,
  });
  const list = async (input: Omit<GetInput, "what">) => numbers(await get(store, "task", input));
  deepEqual(await list({ delivery: "latest" }), [3, 2]);
  deepEqual(await list({ delivery: `delivery/${idOf(1)}` }), [1]);
  deepEqual(await list({ parent: taskIdOf(1).slice(-6) }), [3, 2], "and what retries it");
  deepEqual(await list({ retry_of: taskIdOf(2).toLowerCase() }), [3]);
  await rejects(list({ retry_of: `delivery/${idOf(1)}` }), { code: "usage" });
  await rejects(list({ parent: taskIdOf(1).slice(0, 4) }), { code: "usage", message: /match/ });
  await rejects(list({ delivery: "QQQQQQ" }), { code: "not_found" });
  deepEqual(await list({ delivery: idOf(9) }), [], "removed, and its tasks may still be there");
});

/** A store that notes how many records each look at its deliveries may cover. */
function counting(store: Store): { store: Store; covered: number[] } {
  const covered: number[] = [];
  const counted: Store = {
    ...store,
    async listDeliveries(query) {
      const { before, after, to, oldestFirst } = query;
      const whole = defined({ before, after, to, oldestFirst });
      covered.push((await store.listDeliveries({ ...whole, limit: 1000 })).length);
      return await store.listDeliveries(query);
    },
  };
  return { store: counted, covered };
}

const RARE = [3, 4, 17, 18, 19, 20, 38, 40];

async function fillWithRare(store: Store): Promise<void> {
  for (let n = 1; n <= 40; n++) {
    if (RARE.includes(n)) await reject(store, [{ n }], 100);
    else await filterOut(store, n);
  }
}

for (const oldestFirst of [false, true]) {
  Deno.test(`a search ${oldestFirst ? "forth" : "back"} looks at no more than a step at a time, and loses nothing`, async () => {
    await using temp = await tempStore();
    await fillWithRare(temp.store);
    const wanted = oldestFirst ? RARE : RARE.toReversed();
    for (const sizes of [{ page: 2, step: 3, search: 9 }, { page: 9, step: 7, search: 7 }]) {
      for (const limit of [1, 2, 3, 100]) {
        const { store, covered } = counting(temp.store);
        const found: number[] = [];
        let calls = 0;
        for (let place: Partial<RecordQuery> = {}; calls < 100; calls++) {
          const before = covered.length;
          const query = { reason: "no_KEY", limit, oldestFirst, ...place };
          const { rows, next } = await listInSteps(typeOf("delivery"), query, store, sizes);
          ok(rows.length <= limit);
          const looked = covered.slice(before);
          ok(looked.every((most) => most <= sizes.step), JSON.stringify(looked));
          found.push(...(rows as Delivery[]).map(({ id }) => Number(id.slice(-6))));
          if (next === undefined) break;
          place = oldestFirst ? { after: next } : { before: next };
        }
        deepEqual(found, wanted, JSON.stringify({ sizes, limit }));
        ok(limit < 100 || calls > 2, `${calls} calls: one alone looks at ${sizes.search}`);
      }
    }
  });
}

Deno.test("a list that an index answers is read in pages, without steps", async () => {
  await using temp = await tempStore();
  await fillWithRare(temp.store);
  const query = toQuery({ outcome: "rejected", limit: 5 }, NOW);
  const sizes = { page: 2, step: 1, search: 1 };
  const { rows, next } = await listInSteps(typeOf("delivery"), query, temp.store, sizes);
  deepEqual((rows as Delivery[]).map(({ id }) => Number(id.slice(-6))), [40, 38, 20, 19, 18]);
  equal(next, idOf(18));
});

Deno.test("a watch with its own filter sends matching records only", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await fillWithRare(store);
  const input = { what: "delivery", reason: "no_key", limit: 3 };
  const reads = recordReads(typeOf("delivery"), store);
  const watch = new RecordWatch(typeOf("delivery"), input, { reads, now: NOW });
  const shown = (rows: readonly unknown[]) =>
    (rows as Delivery[]).map(({ id }) => Number(id.slice(-6)));
  deepEqual(shown(await watch.start()), [20, 38, 40]);
  await filterOut(store, 41);
  await reject(store, [{ n: 42 }], 100);
  await filterOut(store, 43);
  deepEqual(shown(await watch.read()), [42]);
  deepEqual(shown(await watch.read()), []);
});
