/**
 * The guards against loops, as rules: which events are our own, and when a chain ends.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { OwnUsers } from "../../src/connections/own_users.ts";
import { Markers } from "../../src/outbox/marker.ts";
import { OwnEvents } from "../../src/outbox/own_events.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { tempStore } from "../helpers/temp_store.ts";

const REPOSITORY = "brightwater/tidepool";
const OWN = 4242;

function resource(kind: string, name: string, spec: Record<string, unknown>): Resource {
  const made = { project: "default", metadata: {}, generation: 1, createdAt: 5, updatedAt: 5 };
  return { kind, name, spec, ...made };
}

const github = (repository: string) => ({
  github: { repository, token: { fromSecret: { store: "s", key: "k" } } },
});

async function guard(options: { readonly known?: boolean; readonly two?: boolean } = {}) {
  const temp = await tempStore();
  const connection = resource("Connection", "tidepool", github(REPOSITORY));
  const second = resource("Connection", "second", github(REPOSITORY));
  const catalog = new Catalog(options.two === true ? [connection, second] : [connection]);
  const markers = new Markers(new Uint8Array(32));
  const ownUsers = new OwnUsers(temp.store, { now: () => 0 });
  if (options.known !== false) {
    await ownUsers.learn(connection as never, { userId: String(OWN), login: "bot" });
  }
  const events = new EventHub<DaemonEvents>({ error() {} });
  const incidents: unknown[] = [];
  events.on("incidentHappened", (incident) => void incidents.push(incident.kind));
  const own = new OwnEvents({ catalog, markers, ownUsers, events });
  const trigger = {
    resource: resource("Trigger", "review", {
      event: { source: "webhook" },
    }) as unknown as Resource<TriggerSpec>,
  };
  let last = 0;
  const event = (sender: number, body: string, { number = 7, at = 0 } = {}) => ({
    trigger,
    payload: {
      repository: { full_name: REPOSITORY },
      issue: { number },
      comment: { id: 1, body },
      sender: { id: sender },
    },
    delivery: { id: `D${++last}`, receivedAt: at },
  });
  const place = { project: "default", repository: REPOSITORY, number: 7 };
  const marker = markers.make(place, { taskId: "01JZZZZZZZZZZZZZZZZZ000001", key: "review" });
  return {
    own,
    event,
    marker,
    incidents,
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

Deno.test("an event is our own when its marker is valid and its sender is our user", async () => {
  await using rig = await guard();
  const { own, event, marker } = rig;
  match(own.whyOwn(event(OWN, `x ${marker}`)) ?? "", /^svc's own comment "review" of task /);
  equal(own.whyOwn(event(7, `x ${marker}`)), undefined, "somebody else edits or copies it");
  equal(own.whyOwn(event(OWN, "x <!-- svc no marker -->")), undefined);
  equal(own.whyOwn(event(OWN, marker, { number: 8 })), undefined, "at another issue");
  for (const payload of [null, [], {}, { comment: 5 }, { comment: { body: 5 } }]) {
    equal(own.whyOwn(Object.assign(event(OWN, marker), { payload })), undefined);
  }
});

Deno.test("if our user or the Connection is unknown, the marker is enough", async () => {
  for (const options of [{ known: false }, { two: true }]) {
    await using rig = await guard(options);
    match(rig.own.whyOwn(rig.event(7, rig.marker)) ?? "", /^svc's own comment/);
  }
});

Deno.test("the sixth task that our own user's events start on an issue is cut", async () => {
  await using rig = await guard();
  const { own, event } = rig;
  const cut = (sender: number, given = {}) => own.whyCut(event(sender, "", given)) !== undefined;
  deepEqual([1, 2, 3, 4, 5, 6, 7].map(() => cut(OWN)), [
    false,
    false,
    false,
    false,
    false,
    true,
    true,
  ]);
  deepEqual(rig.incidents, ["loop.cut", "loop.cut"]);
  equal(cut(OWN, { number: 8 }), false, "another issue");
  equal(cut(OWN, { at: 10 * 60_000 }), false, "ten minutes later");
});

Deno.test("another person ends the chain, and an event that is decided twice counts once", async () => {
  await using rig = await guard();
  const { own, event } = rig;
  for (let n = 0; n < 5; n++) own.whyCut(event(OWN, ""));
  equal(own.whyCut(event(7, "")), undefined);
  const again = event(OWN, "");
  for (let n = 0; n < 9; n++) equal(own.whyCut(again), undefined);
});
