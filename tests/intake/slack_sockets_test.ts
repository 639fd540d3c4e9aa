/**
 * Events over Slack's Socket Mode in process, with a stand-in for Slack: which triggers they reach,
 * that each is there once, and what is said where they cannot.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { SlackSockets, type SlackSocketsHost } from "../../src/intake/slack_sockets.ts";
import { rfc3339 } from "../../src/base/clock.ts";
import type { Incident } from "../../src/store/incident_records.ts";
import { APP_TOKEN, type FakeSlack, fakeSlack } from "../fakes/slack.ts";
import { slackHeaders, slackMessage } from "../helpers/slack.ts";
import { until } from "../helpers/until.ts";
import { NOW } from "../rigs/intake_state.ts";
import { manifestResources, type Rig, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const SIGNED = "endpoint: slack, secret: {fromRef: slack}, signatureHeader: X-Slack-Signature";

function manifest(api: string, more = ""): string {
  return `
kind: SecretStore
metadata: {name: slack}
spec: {data: {signing_secret: "8f742231b10e8888abcd99yyyzzz85a5"}}
---
kind: SecretStore
metadata: {name: slack-tokens}
spec: {data: {app: "${APP_TOKEN.token}", bot: "xoxb-1"}}
---
kind: Connection
metadata: {name: chat}
spec:
  slack:
    events: socket
    endpoint: slack
    api: ${api}
    appToken: {fromSecret: {store: slack-tokens, key: app}}
    botToken: {fromSecret: {store: slack-tokens, key: bot}}
${triggerYaml("talk", { webhook: SIGNED, condition: 'payload?.event.type == "app_mention"' })}
${triggerYaml("command", { webhook: SIGNED, condition: "has(payload.command)" })}
${more}`;
}

interface Sockets extends AsyncDisposable {
  readonly slack: FakeSlack;
  readonly rig: Rig;
  readonly sockets: SlackSockets;
  readonly incidents: Incident[];
}

async function open(
  { more = "", edit = (text: string) => text, before }: {
    more?: string;
    edit?: (manifest: string) => string;
    before?: (rig: Rig) => Promise<void>;
  } = {},
): Promise<Sockets> {
  await using opening = new AsyncDisposableStack();
  const slack = opening.use(fakeSlack());
  const rig = opening.use(await webhookRig({ manifest: edit(manifest(slack.url, more)) }));
  await before?.(rig);
  const incidents: Incident[] = [];
  const host = rig.host as unknown as SlackSocketsHost;
  host.events.on("incidentHappened", (incident) => void incidents.push(incident));
  const sockets = opening.use(new SlackSockets(host));
  const stack = opening.move();
  return { slack, rig, sockets, incidents, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const MENTION = JSON.parse(
  slackMessage({ text: "<@U0BOT> deploy", ts: "1700000000.000100", type: "app_mention" }),
);

/** Trigger, state and text of each stored event. */
async function stored({ rig }: Sockets) {
  const events = await rig.store.listSourceEvents({ limit: 100 });
  return events.map(({ trigger, state, text }) => [trigger, state, text]).toSorted();
}

function healthOf({ rig }: Sockets): readonly string[] {
  return (rig.host as unknown as SlackSocketsHost).health.list();
}

function isDegradedBy(it: Sockets, sentence: string): true | undefined {
  return healthOf(it).includes(sentence) ? true : undefined;
}

Deno.test("an event over the socket is stored for each trigger of the endpoint, then acknowledged", async () => {
  await using it = await open();
  const line = await it.slack.next();
  ok(await line.deliver({ payload: MENTION, attempt: 1 }));
  deepEqual(await stored(it), [
    ["command", "received", "<@U0BOT> deploy"],
    ["talk", "received", "<@U0BOT> deploy"],
  ]);
  const deliveries = await it.rig.deliveries();
  deepEqual(
    deliveries.map(({ trigger, source, via, detail }) => [
      trigger,
      source,
      via,
      detail.connection,
    ]).toSorted(),
    [
      ["command", "slack-socket", "chat", "chat"],
      ["talk", "slack-socket", "chat", "chat"],
    ],
  );
  const content = (await it.rig.store.readDelivery(deliveries[0]?.id ?? ""))?.content;
  deepEqual(JSON.parse(new TextDecoder().decode(content?.body)), MENTION);
  equal(content?.headers["x-slack-retry-num"], "1");
});

Deno.test("an event that comes again over the socket, or came as a request before, is there once", async () => {
  await using it = await open();
  const body = JSON.stringify(MENTION);
  const path = "/source/slack/default/talk";
  const headers = slackHeaders(body, { time: String(Math.floor(NOW / 1000)) });
  equal((await it.rig.post(path, body, headers)).status, 200);
  const line = await it.slack.next();
  ok(await line.deliver({ payload: MENTION }));
  ok(await line.deliver({ payload: MENTION, attempt: 1 }));
  equal((await stored(it)).length, 2);
});

Deno.test("an event that is stored for one trigger only is not acknowledged, and completed later", async () => {
  let fails = true;
  await using it = await open({
    before(rig) {
      const { store } = rig.host as unknown as { store: SlackSocketsHost["store"] };
      const record = store.recordSourceEvent.bind(store);
      Object.assign(store, {
        recordSourceEvent(event: Parameters<typeof record>[0]) {
          if (fails && event.event.trigger === "talk") {
            return Promise.reject(new Error("disk full"));
          }
          return record(event);
        },
      });
      return Promise.resolve();
    },
  });
  const line = await it.slack.next();
  let acknowledged = false;
  line.deliver({ payload: MENTION }).then((ack) => acknowledged = ack !== undefined);
  await until("the refusal", () => it.rig.logged.find((text) => text.includes("send it again")));
  deepEqual((await stored(it)).map(([trigger]) => trigger), ["command"]);
  equal(acknowledged, false);
  fails = false;
  ok(await line.deliver({ payload: MENTION, attempt: 1 }));
  deepEqual((await stored(it)).map(([trigger]) => trigger), ["command", "talk"]);
});

Deno.test("a slash command and a click come over the socket, and a menu gets no choices", async () => {
  await using it = await open();
  const line = await it.slack.next();
  const command = {
    command: "/deploy",
    text: "now",
    user_id: "U1",
    channel_id: "C1",
    team_id: "T1",
  };
  deepEqual(
    Object.keys(await line.deliver({ type: "slash_commands", payload: command }) ?? {}),
    ["envelope_id"],
  );
  const menu = { type: "block_suggestion", user: { id: "U1" }, api_app_id: "A1" };
  const ack = await line.deliver({ type: "interactive", payload: menu });
  deepEqual(ack?.payload, { options: [] });
  deepEqual((await stored(it)).filter(([trigger]) => trigger === "command"), [
    ["command", "ignored", ""],
    ["command", "received", "/deploy now"],
  ]);
});

Deno.test("an envelope of an unknown type is stored, acknowledged and starts nothing", async () => {
  await using it = await open();
  const line = await it.slack.next();
  ok(await line.deliver({ type: "telepathy", payload: { type: "thought" } }));
  deepEqual((await stored(it)).map(([, state]) => state), ["ignored", "ignored"]);
});

for (const [name, payload] of Object.entries({ list: [1], text: "x", huge: "x".repeat(300_000) })) {
  Deno.test(`a payload that is no event (${name}) is recorded as rejected, and not acknowledged`, async () => {
    await using it = await open();
    const line = await it.slack.next();
    let acknowledged = false;
    line.deliver({ payload }).then((ack) => acknowledged = ack !== undefined);
    ok(await line.deliver({ payload: MENTION }), "what comes after it is taken");
    equal(acknowledged, false);
    const rejected = (await it.rig.deliveries()).filter(({ outcome }) => outcome === "rejected");
    deepEqual(rejected.map(({ trigger, source }) => [trigger, source]), [[
      "command",
      "slack-socket",
    ]]);
  });
}

const UNSERVED: Readonly<Record<string, [(text: string) => string, RegExp]>> = {
  "nobody has the endpoint": [
    (text) => text.replaceAll("endpoint: slack,", "endpoint: elsewhere,"),
    /No Trigger of project "default" has the endpoint "slack"/,
  ],
  "a trigger allows only some addresses": [
    (text) => text.replaceAll("endpoint: slack,", "endpoint: slack, allowFrom: [192.0.2.1/32],"),
    /"command" at the endpoint "slack" has allowFrom, and a socket has no address/,
  ],
  "a trigger is another platform's": [
    (text) => text.replaceAll("X-Slack-Signature", "X-Hub-Signature-256"),
    /is not for Slack/,
  ],
  "the triggers contradict each other": [
    (text) => text.replace("endpoint: slack,", "endpoint: slack, toleranceSecs: 7,"),
    /differ in/,
  ],
};

for (const [name, [edit, said]] of Object.entries(UNSERVED)) {
  Deno.test(`no socket is opened where ${name}`, async () => {
    await using it = await open({ edit });
    const incident = await until("the incident", () => it.incidents[0]);
    ok(said.test(incident.reason), incident.reason);
    deepEqual([incident.kind, incident.connection], ["connection.broken", "chat"]);
    equal(it.sockets.stateOf({ project: "default", name: "chat" })?.problem, incident.reason);
    const [state] = await until("its note", async () => {
      const states = await it.rig.store.listConnectionStates();
      return states.length > 0 ? states : undefined;
    });
    equal(state?.fault, incident.reason);
    equal(it.slack.calls.length, 0);
    const told = `Connection "chat": ${incident.reason}, since ${rfc3339(NOW)}`;
    await until("the health condition", () => isDegradedBy(it, told));
  });
}

Deno.test("a socket is closed with its Connection, and opened with another token", async () => {
  await using it = await open({ edit: (text) => text.replace(APP_TOKEN.token, "xapp-wrong") });
  const { catalog } = it.rig;
  const { events } = it.rig.host as unknown as SlackSocketsHost;
  const name = { project: "default", name: "chat" };
  await until("the refusal", () => it.sockets.stateOf(name)?.problem?.includes("invalid_auth"));
  const problem = it.sockets.stateOf(name)?.problem;
  const told = `Connection "chat": ${problem}, since ${rfc3339(NOW)}`;
  await until("the health condition", () => isDegradedBy(it, told));
  const resources = manifestResources(manifest(it.slack.url));
  for (const resource of resources.filter(({ name }) => name === "slack-tokens")) {
    catalog.change([{ op: "put", resource }]);
  }
  events.publish("resourcesChanged", undefined);
  const line = await it.slack.next();
  await until("the end of the fault", async () => {
    const [state] = await it.rig.store.listConnectionStates();
    return state !== undefined && state.fault === undefined ? true : undefined;
  });
  deepEqual(healthOf(it), []);
  catalog.change([{ op: "delete", key: { kind: "Connection", ...name } }]);
  events.publish("resourcesChanged", undefined);
  await line.ended;
  await until("no socket", () => it.sockets.stateOf(name) === undefined ? true : undefined);
});

Deno.test("what keeps a socket closed is over when it is opened, or its Connection is gone", async () => {
  const elsewhere = (text: string) => text.replaceAll("endpoint: slack,", "endpoint: elsewhere,");
  await using it = await open({ edit: elsewhere });
  const { catalog } = it.rig;
  const { events } = it.rig.host as unknown as SlackSocketsHost;
  await until("the fault", () => healthOf(it).length === 1 ? true : undefined);
  for (const resource of manifestResources(manifest(it.slack.url))) {
    if (resource.kind === "Trigger") catalog.change([{ op: "put", resource }]);
  }
  events.publish("resourcesChanged", undefined);
  const line = await it.slack.next();
  await until("no fault", async () => {
    const [state] = await it.rig.store.listConnectionStates();
    return state?.fault === undefined && healthOf(it).length === 0 ? true : undefined;
  });
  for (const resource of manifestResources(elsewhere(manifest(it.slack.url)))) {
    if (resource.kind === "Trigger") catalog.change([{ op: "put", resource }]);
  }
  events.publish("resourcesChanged", undefined);
  await line.ended;
  await until("the fault again", () => healthOf(it).length === 1 ? true : undefined);
  const key = { kind: "Connection", project: "default", name: "chat" };
  catalog.change([{ op: "delete", key }]);
  events.publish("resourcesChanged", undefined);
  await until("nothing of it", () => healthOf(it).length === 0 ? true : undefined);
});

Deno.test("a time without a socket, also over a restart, is told with its bounds", async () => {
  const hour = 3_600_000;
  await using it = await open({
    async before(rig) {
      const [connection] = rig.catalog.list("Connection");
      if (connection === undefined) throw new Error("There is no Connection");
      const { project, name, createdAt } = connection;
      await rig.store.noteConnection({ project, name, createdAt }, {
        marks: { socket: NOW - hour },
      }, 0);
    },
  });
  const incident = await until("the incident", () => it.incidents[0]);
  equal(incident.kind, "gap.lost");
  ok(/from 2026-01-02T02:04:05.678Z to 2026-01-02T03:04:05.678Z/.test(incident.reason));
});
