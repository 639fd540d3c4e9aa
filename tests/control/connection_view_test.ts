/**
 * What `svc get connections` and `svc describe` say of a Connection.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { formatTable } from "../../src/cli/table.ts";
import {
  connectionColumns,
  connectionStatus,
  knownConnections,
  statusText,
} from "../../src/control/resources/connection_view.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { ConnectionState } from "../../src/store/connection_records.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { controlTest } from "../rigs/control_rig.ts";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const DAY = 24 * 3600 * 1000;

const MANIFEST = `
kind: Connection
metadata: {name: tidepool}
spec:
  github:
    repository: brightwater/tidepool
    token: {fromSecret: {store: tidepool, key: token}}
    hooks: [{endpoint: push, id: 4711}]
  repair: {every: 0} # nothing is asked of anybody here
---
kind: Trigger
metadata: {name: push}
spec:
  event: {source: webhook, webhook: {secret: {fromRef: github}}}
  action: {workflow: w, workspace: s}
`;

const [TIDEPOOL, TRIGGER] = manifestResources(MANIFEST);
ok(TIDEPOOL !== undefined && TRIGGER !== undefined);

Deno.test("the last event of a Connection is the last one that its own secret verified", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  const use = { project: "default", store: "github", trigger: "push", count: 1 };
  await store.recordKeyUse([
    { ...use, key: "tidepool", lastAt: NOW - 3000 },
    { ...use, key: "other", lastAt: NOW - 1000 },
    { ...use, key: "tidepool", store: "elsewhere", lastAt: NOW - 500 },
  ]);
  const host = {
    catalog: new Catalog([TIDEPOOL, TRIGGER]),
    store,
    keyUses: { flush: () => Promise.resolve() } as never,
    sockets: { stateOf: () => undefined, retry: () => Promise.resolve() },
  };
  const known = await knownConnections([TIDEPOOL, TRIGGER], host);
  deepEqual([...known.keys()], [TIDEPOOL]);
  equal(known.get(TIDEPOOL)?.lastEventAt, NOW - 3000);
  await store.noteConnection(TIDEPOOL, { lastEventAt: NOW - 2000 }, NOW);
  equal((await knownConnections([TIDEPOOL], host)).get(TIDEPOOL)?.lastEventAt, NOW - 2000);
  await store.noteConnection({ ...TIDEPOOL, createdAt: 1 }, { lastEventAt: NOW }, NOW);
  const anew = (await knownConnections([TIDEPOOL], host)).get(TIDEPOOL);
  equal(
    anew?.lastEventAt,
    NOW - 3000,
    "what is known of an earlier one of its name does not count",
  );
  deepEqual(await knownConnections([TRIGGER], host), new Map());
});

const STATE: ConnectionState = {
  project: "default",
  name: "tidepool",
  createdAt: 1,
  marks: {},
  repaired: 0,
  lost: 0,
  gaps: [],
};

const STATUS: readonly (readonly [Partial<ConnectionState>, string])[] = [
  [{}, "ok"],
  [{ tokenEndsAt: NOW + 8 * DAY }, "ok"],
  [{ tokenEndsAt: NOW + 3 * DAY }, "the token expires in 3d"],
  [{ tokenEndsAt: NOW - DAY }, "the token has expired"],
  [{ tokenEndsAt: NOW - DAY, fault: "GitHub refuses the token" }, "GitHub refuses the token"],
];

for (const [state, expected] of STATUS) {
  Deno.test(`STATUS of ${JSON.stringify(state)} is "${expected}"`, () => {
    equal(statusText({ ...STATE, ...state }, NOW), expected);
  });
}

Deno.test("describe shows the known facts about a Connection, and none about other kinds", () => {
  const gap = { from: NOW - DAY, to: NOW, repaired: 2, lost: 1, reason: "push 12ab is gone" };
  const state = { ...STATE, login: "bot", userId: "42", repaired: 2, lost: 1, gaps: [gap] };
  const known = new Map([[TIDEPOOL, state]]);
  deepEqual(connectionStatus(TIDEPOOL, known), {
    login: "bot",
    user_id: "42",
    token_expires_at: null,
    last_event_at: null,
    last_repair_at: null,
    events_repaired: 2,
    events_lost: 1,
    gaps: [{ ...gap, from: "2026-11-21T12:00:00.000Z", to: "2026-11-22T12:00:00.000Z" }],
    fault: null,
    fault_since: null,
  });
  deepEqual(connectionStatus(TRIGGER, known), {});
  deepEqual(connectionColumns("Trigger", known, NOW), []);
  const gaps = connectionColumns("Connection", known, NOW).find(({ header }) => header === "GAPS");
  equal(gaps?.cell(TIDEPOOL), "1 lost, 2 repaired");
});

controlTest("svc get connections fits a terminal, and fits in what is not known", async (rig) => {
  await rig.apply(MANIFEST);
  const { columns, rows, items } = await rig.client.call("get", { what: "conn" });
  const shown = columns.filter(({ wide }) => !wide);
  const cells = rows.map((row) => row.filter((_, at) => columns[at]?.wide === false));
  const table = (await formatTable(shown, cells, 80)).split("\n");
  // How old it is decides how much room is left for the others.
  equal(
    table[0]?.replace(/ +/g, " "),
    "NAME PLATFORM TO EVENTS LAST-EVENT GAPS STATUS AGE",
  );
  match(
    table[1] ?? "",
    /^tidepool +github +brightwater\/tidep\w*…? +push +- +none +ok /,
  );
  const [item] = items;
  equal((item?.["status"] as Record<string, unknown>)["fault"], null);
  const described = await rig.client.call("describe", {
    what: "connection",
    name: "tidepool",
    reveal: false,
  });
  equal((described["status"] as Record<string, unknown>)["events_lost"], 0);
});
