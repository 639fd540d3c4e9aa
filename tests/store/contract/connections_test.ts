/**
 * What is learnt of Connections: it adds up, outlives a restart, and belongs to the one Connection.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { eachStore } from "./each_store.ts";

const KEY = { project: "default", name: "tidepool", createdAt: 7 };
const NONE = { ...KEY, marks: {}, repaired: 0, lost: 0, gaps: [] };
const GAP = { from: 1, to: 2, repaired: 3, lost: 1, reason: "gone" };

eachStore("what is learnt of a Connection adds up, over restarts", async (given, tested) => {
  let store = given;
  const note = (news: Parameters<typeof store.noteConnection>[1], now = 100) =>
    store.noteConnection(KEY, news, now);
  deepEqual(await note({}), NONE);
  await note({ login: "bot", userId: "42", tokenEndsAt: 900, marks: { "1": 10, "2": 20 } });
  await note({ gap: GAP, marks: { "2": 30 }, repairedAt: 50, lastEventAt: 60 });
  store = await tested.restart();
  const after = await note({ gap: { ...GAP, from: 5 }, tokenEndsAt: null, lastEventAt: 55 });
  deepEqual(after, {
    ...NONE,
    login: "bot",
    userId: "42",
    marks: { "1": 10, "2": 30 },
    repairedAt: 50,
    lastEventAt: 60,
    repaired: 6,
    lost: 2,
    gaps: [{ ...GAP, from: 5 }, GAP],
  });
  deepEqual(await store.listConnectionStates(), [after]);
});

eachStore("a fault counts from when it began, until it is over", async (store) => {
  const note = (fault: string | null, now: number) => store.noteConnection(KEY, { fault }, now);
  await note("refused", 10);
  deepEqual(await note("another", 20), { ...NONE, fault: "another", faultSince: 10 });
  deepEqual(await note(null, 30), NONE);
  deepEqual((await note("again", 40)).faultSince, 40);
});

eachStore("only the last gaps are kept, and all of them are counted", async (store) => {
  for (let n = 1; n <= 12; n++) {
    await store.noteConnection(KEY, { gap: { ...GAP, from: n } }, 1);
  }
  const [state] = await store.listConnectionStates();
  deepEqual(state?.gaps.map(({ from }) => from), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
  deepEqual([state?.repaired, state?.lost], [36, 12]);
});

eachStore("a Connection that is made anew has no past, another one is another", async (store) => {
  await store.noteConnection(KEY, { login: "old" }, 1);
  await store.noteConnection({ ...KEY, project: "shop" }, { login: "shop" }, 1);
  const anew = { ...KEY, createdAt: 8 };
  deepEqual(await store.noteConnection(anew, {}, 1), { ...NONE, createdAt: 8 });
  deepEqual((await store.listConnectionStates()).map(({ login }) => login), [undefined, "shop"]);
});
