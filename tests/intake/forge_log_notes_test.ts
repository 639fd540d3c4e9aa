/**
 * What is said of a Connection whose log cannot be gone through, from one run to the next.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { createLog } from "../../src/base/log.ts";
import type { Connection } from "../../src/connections/find_connection.ts";
import { LogNotes, type LogRun } from "../../src/intake/forge_log_notes.ts";
import { KnownSecrets } from "../../src/secrets/known_secrets.ts";
import type { ConnectionState } from "../../src/store/connection_records.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { nothingKnown, withNews } from "../../src/store/rules/connection_news.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const CONNECTION: Connection = {
  kind: "Connection",
  project: "default",
  name: "app",
  metadata: {},
  spec: { github: { repository: "you/app", token: { fromSecret: { store: "s", key: "k" } } } },
  generation: 1,
  createdAt: 0,
  updatedAt: 0,
};
const RUN: LogRun = { missed: [], repaired: [], lost: [], fault: "it answers 500" };

function rigOf() {
  const clock = new ManualClock();
  const health = new HealthConditions();
  const log = createLog({ level: "error", format: "json", clock, write: () => {} });
  const events = new EventHub<DaemonEvents>(log);
  const told: string[] = [];
  events.on("incidentHappened", ({ reason }) => void told.push(reason));
  const said: string[] = [];
  let state: ConnectionState = nothingKnown(CONNECTION);
  const notes = new LogNotes({
    store: {
      listConnectionStates: () => Promise.resolve([state]),
      noteConnection(_key, news, now) {
        said.push(...health.list());
        state = withNews(state, news, now);
        return Promise.resolve(state);
      },
    },
    events,
    health,
    clock,
    log,
    secrets: new KnownSecrets(),
  });
  const run = async (given: LogRun) => {
    await notes.runDone(CONNECTION, given, {
      keepsLog: true,
      before: await notes.stateOf(CONNECTION),
    });
    said.push(...health.list());
  };
  return { clock, health, notes, run, said, told };
}

Deno.test("a fault that lasts is one sentence, at every moment", async () => {
  const { clock, run, said, told } = rigOf();
  for (let n = 0; n < 3; n++) {
    await run(RUN);
    clock.time += 300_000;
  }
  deepEqual([...new Set(said)], [
    `Connection "app": it answers 500, since 2026-01-01T00:00:00.000Z`,
  ]);
  deepEqual(told, [], "it has not lasted for long");
  for (let n = 0; n < 2; n++) {
    clock.time += 2 * 24 * 3600_000;
    await run({ ...RUN, fault: `another one, ${n}` });
  }
  deepEqual(told, ["another one, 0"], "once");
});

Deno.test("of a Connection that is gone nothing is wrong, told or not", async () => {
  for (const broken of [false, true]) {
    const { health, notes, run } = rigOf();
    await run({ ...RUN, broken });
    notes.forgetAllBut(() => true);
    deepEqual(health.list().length, 1);
    notes.forgetAllBut(() => false);
    deepEqual(health.list(), []);
  }
});
