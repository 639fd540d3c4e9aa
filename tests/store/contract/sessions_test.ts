/**
 * Sessions of agents: one step at a time, from task to task.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  notStrictEqual,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import type { AgentSession } from "../../../src/store/turn_records.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { type Ask, ask, park, standing } from "./agent_tasks.ts";
import { eachStore, range } from "./each_store.ts";
import { claimAt, HOUR, T0 } from "./timed_tasks.ts";

async function hold(store: Store, n: number, given: Ask): Promise<AgentSession> {
  const answer = await ask(store, n, given);
  ok(answer.is === "held" && answer.session !== undefined, JSON.stringify(answer));
  return answer.session;
}

async function running(store: Store, count: number): Promise<void> {
  for (const n of range(1, count + 1)) await accept(store, n);
  await claimAt(store, T0);
}

eachStore("a session goes on in the next task, one step at a time", async (store) => {
  await running(store, 4);
  const pr1 = { session: "pull/1", seats: 9 };
  const session = await hold(store, 1, pr1);
  match(session.id, /^[0-9a-f-]{36}$/);
  equal(session.agentId, undefined);
  await store.saveSession(session.id, "conv-1");
  deepEqual(await hold(store, 1, pr1), { id: session.id, agentId: "conv-1" });
  const waits = { is: "waiting", agent: "claude", for: "session" } as const;
  deepEqual(await ask(store, 2, pr1), waits);
  await park(store, 2);
  deepEqual(await standing(store, 2), { ...waits });
  notStrictEqual((await hold(store, 3, { ...pr1, session: "pull/2" })).id, session.id);
  notStrictEqual((await hold(store, 4, { ...pr1, agents: ["codex"] })).id, session.id);
  await store.endTurn(taskIdOf(1), 5);
  await claimAt(store, T0);
  deepEqual(await hold(store, 2, { ...pr1, now: T0 + 5 }), { id: session.id, agentId: "conv-1" });
  deepEqual(await store.findSessions([session.id, "none"]), [{
    id: session.id,
    agentId: "conv-1",
    project: "default",
    agent: "claude",
    key: "pull/1",
    createdAt: T0,
    usedAt: T0 + 5,
  }]);
  await store.saveSession(session.id, undefined);
  deepEqual(await hold(store, 2, pr1), { id: session.id });
});

eachStore("nobody waits behind a session that is busy", async (store) => {
  await running(store, 4);
  await hold(store, 1, { session: "a", seats: 2 });
  equal((await ask(store, 2, { session: "a", seats: 2 })).is, "waiting");
  await hold(store, 3, { session: "b", seats: 2 });
  deepEqual(await ask(store, 4, { session: "c", seats: 2 }), {
    is: "waiting",
    agent: "claude",
    for: "seat",
  });
  await store.endTurn(taskIdOf(3), 5);
  await hold(store, 4, { session: "c", seats: 2 });
  await store.endTurn(taskIdOf(1), 5);
  await hold(store, 2, { session: "a", seats: 2 });
});

eachStore("sessions that no step has used for long are removed", async (store) => {
  await running(store, 4);
  const ids: string[] = [];
  for (const n of range(1, 5)) {
    ids.push((await hold(store, n, { session: `s${n}`, seats: 9, now: T0 + n })).id);
  }
  deepEqual(await store.pruneSessions(T0 + HOUR, 9), [], "all of them are used");
  for (const n of [1, 2, 3]) await store.endTurn(taskIdOf(n), 5);
  deepEqual(await store.pruneSessions(T0 + 3, 1), [ids[0]]);
  deepEqual(await store.pruneSessions(T0 + 3, 9), [ids[1]]);
  deepEqual((await store.findSessions(ids)).map(({ key }) => key).sort(), ["s3", "s4"]);
  notStrictEqual((await hold(store, 1, { session: "s1", seats: 9 })).id, ids[0]);
});

eachStore("text from outside is a key like any other", async (store) => {
  await running(store, 1);
  const key = `${"\u{1f980}".repeat(200)}\0'; DROP TABLE sessions`;
  const { id } = await hold(store, 1, { session: key });
  await store.saveSession(id, "\0--resume");
  deepEqual((await store.findSessions([id])).map(({ key, agentId }) => [key, agentId]), [
    [key.replace("\0", "\u2400"), "\u2400--resume"],
  ]);
});
