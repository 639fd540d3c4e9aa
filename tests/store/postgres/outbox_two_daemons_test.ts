/**
 * The outbox of two daemons: a lane is never at both, and what a dead one was sending is taken over
 * as what may have arrived.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { NewMessage } from "../../../src/store/outbox_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { idOf } from "../../helpers/store_records.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

function message(n: number, given: Partial<NewMessage> = {}): NewMessage {
  return {
    id: idOf(n),
    project: "default",
    connection: "tidepool",
    kind: "github-comment",
    target: { repository: "o/r", number: 1 },
    key: "",
    body: { text: `text ${n}` },
    taskId: "",
    now: 1000 + n,
    ...given,
  };
}

async function claim(store: Store, busy: readonly string[] = [], now = 5000): Promise<number[]> {
  const { messages } = await store.claimMessages({ limit: 50, now, busy });
  return messages.map((one) => numberOf(one.message.id));
}

const LANE = "default/tidepool";
const SENT = { state: "sent", externalId: "77" } as const;

twoDaemonsTest("a lane is at one daemon until that one has finished with it", async ({ a, b }) => {
  const target = { repository: "o/r", number: 2 };
  await a.addToOutbox([message(1), message(2, { target }), message(3, { connection: "other" })]);
  deepEqual(await claim(a), [1, 3]);
  deepEqual(await claim(b), [], "2 is to another target, and yet in the same lane");
  await a.finishMessage(idOf(1), SENT, 6000);
  deepEqual(await claim(b), [], "the other one has not said that it goes on");
  deepEqual(await claim(a, [LANE, "default/other"]), [], "it pauses");
  deepEqual(await claim(b), [], "what one is asked to wait for, all wait for");
  deepEqual(await claim(a, ["default/other"]), [2]);
  await b.dropMessage(idOf(2), { reason: "by hand", now: 1 });
  await b.addToOutbox([message(4)]);
  deepEqual(await claim(b), [], "it may still be on its way");
  await a.finishMessage(idOf(2), SENT, 6000);
  deepEqual(await claim(a, ["default/other"]), [4]);
});

twoDaemonsTest("a message that a dead daemon was sending may have arrived", async (daemons) => {
  const { a, b } = daemons;
  await a.addToOutbox([message(1)]);
  deepEqual(await claim(a), [1]);
  await daemons.endLeaseOfA();
  const { messages: [taken] } = await b.claimMessages({ limit: 5, now: 6000, busy: [] });
  deepEqual([taken?.message.id, taken?.message.tries, taken?.uncertainSince], [idOf(1), 2, 5000]);
  const late = { state: "pending", reason: "503", nextAt: 0, certain: true } as const;
  equal(await a.finishMessage(idOf(1), late, 7000), undefined, "it is not his any more");
  equal((await a.finishMessage(idOf(1), SENT, 7000))?.state, "sent", "what arrived has arrived");
  equal(await b.finishMessage(idOf(1), late, 7000), undefined);
  equal((await b.findMessages(idOf(1)))[0]?.externalId, "77");
});

twoDaemonsTest(
  "a daemon that starts again continues its own messages at once",
  async (daemons) => {
    const { a, b } = daemons;
    await a.addToOutbox([message(1)]);
    await claim(a);
    const again = await daemons.restartA();
    const { messages: [taken] } = await again.claimMessages({ limit: 5, now: 6000, busy: [] });
    deepEqual([taken?.message.id, taken?.uncertainSince], [idOf(1), 5000]);
    deepEqual(await claim(b), []);
  },
);

twoDaemonsTest("many claims at once give each message to one daemon", async ({ a, b }) => {
  const numbers = range(0, 60);
  await a.addToOutbox(numbers.map((n) => message(n, { connection: `c${n % 12}` })));
  const sent: number[] = [];
  const lanes = new Set<string>();
  const sendAll = async (store: Store) => {
    const busy = new Set<string>();
    while (sent.length < numbers.length) {
      const demand = { limit: 3, now: 5000, busy: [...busy] };
      const { messages } = await store.claimMessages(demand);
      for (const { lane } of messages) {
        ok(!lanes.has(lane), `${lane} is at both`);
        lanes.add(lane);
        busy.add(lane);
      }
      for (const { message: { id }, lane } of messages) {
        await store.finishMessage(id, SENT, 6000);
        sent.push(numberOf(id));
        lanes.delete(lane);
        busy.delete(lane);
      }
    }
  };
  await Promise.all([sendAll(a), sendAll(b)]);
  deepEqual(sent.toSorted((x, y) => x - y), numbers);
  for (const lane of range(0, 12)) {
    const inOrder = sent.filter((n) => n % 12 === lane);
    deepEqual(inOrder, inOrder.toSorted((x, y) => x - y), "in the order of their target");
  }
});

twoDaemonsTest("of messages of one key that come at once, the last one stays", async ({ a, b }) => {
  const adding = range(1, 21).map((n) =>
    (n % 2 === 0 ? a : b).addToOutbox([message(n, { key: "review" })])
  );
  await Promise.all(adding);
  deepEqual(await a.outboxCounts().then(({ pending }) => pending), 1);
  await b.addToOutbox([message(30, { key: "k" }), message(31, { key: "k" })]);
  const [first] = await a.findMessages(idOf(30));
  equal(first?.reason, `replaced by outbox/${idOf(31)}`);
});

twoDaemonsTest(
  "of calls at once at two daemons only as many pass as a limit has",
  async (daemons) => {
    const { a, b } = daemons;
    const counted = (n: number, taskId: string): Partial<NewMessage> => {
      const rounds = { place: "o/r#1", most: 3, byPerson: false };
      return { taskId, counted: { output: "push", unit: `${n}`, max: 2, rounds } };
    };
    const passed = async (taskOf: (n: number) => string, from: number) => {
      const results = await Promise.all(
        range(from, from + 12).map((n) =>
          (n % 2 === 0 ? a : b).addToOutbox([message(n, counted(n, taskOf(n)))])
        ),
      );
      return results.filter((result) => result === undefined).length;
    };
    equal(await passed(() => idOf(500), 0), 2, "of one task");
    equal(await passed(idOf, 100), 1, "of many tasks at one place");
    equal((await a.listMessages({ limit: 50 })).length, 3);
  },
);

twoDaemonsTest("of a held message one daemon is told, and one drops it", async ({ a, b }) => {
  const numbers = range(1, 21);
  await a.addToOutbox(numbers.map((n) => message(n, { held: "always" })));
  const day = 24 * 3600_000;
  for (const [now, which] of [[6.5 * day, "warned"], [8 * day, "dropped"]] as const) {
    const found = await Promise.all(
      range(0, 8).map((n) =>
        (n % 2 === 0 ? a : b).expireHeld({ now, reason: "held for 7 days", limit: 5 })
      ),
    );
    const rest = await a.expireHeld({ now, reason: "held for 7 days", limit: 50 });
    const ids = [...found, rest].flatMap((one) => one[which].map(({ id }) => numberOf(id)));
    deepEqual(ids.toSorted((x, y) => x - y), numbers, which);
  }
});
