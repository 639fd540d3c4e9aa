/**
 * Events of a chat that start tasks, for several files of cases.
 *
 * @module
 */

import type { SourceEventFacts } from "../../../src/store/source_event_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import { PLAN, taskIdOf } from "../../helpers/store_records.ts";
import { admitted } from "../../helpers/admitted.ts";

/** What a router asks for. */
export const DEMAND = { limit: 10, now: 2_000_000_000_000, staleMs: 300_000 };

/** Stores a post and starts its task, which binds its thread. */
export async function startTask(store: Store, n: number, facts: Partial<SourceEventFacts> = {}) {
  await store.recordSourceEvent(sourceEvent(n, { topLevel: true, threadId: `${n}`, ...facts }));
  await store.claimSourceEvents(DEMAND);
  await store.routeSourceEvent(eventIdOf(n), toTask(n), n);
}

/** A route to task `n`, which is new. */
export const toTask = (n: number) => ({
  to: "task" as const,
  bind: true,
  dedupWindowMs: 1,
  dedupKeepMs: 1,
  decision: admitted({
    outcome: "accepted",
    task: {
      id: taskIdOf(n),
      project: "default",
      trigger: "chat",
      workflow: "ci",
      workspace: "repo",
      plan: PLAN,
    },
  }),
});

/** A route to nowhere. */
export const IGNORED = { to: "nowhere", state: "ignored", reason: "no" } as const;
