/**
 * Handshakes of platforms, known by all that makes one: whatever else looks like one is an event,
 * and no event may be swallowed. In process, with a real store.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { discord, DISCORD_KEY, github, line, slack } from "../helpers/senders.ts";
import { NOW } from "../rigs/intake_state.ts";
import { MANIFEST, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const TRIGGERS = `${MANIFEST}
---
kind: SecretStore
metadata: {name: discord}
spec: {data: {key: "${DISCORD_KEY}"}}
` + triggerYaml("line", { webhook: "secret: {fromRef: github}, scheme: line" }) +
  triggerYaml("slack", { webhook: "secret: {fromRef: github}, scheme: slack" }) +
  triggerYaml("discord", { webhook: "secret: {fromRef: discord}, scheme: discord" });

const SENDERS = { push: github, line, slack, discord };

const INTERACTION = { id: "1", token: "t", application_id: "2", version: 1 };
const EVENT = { type: "ENTITLEMENT_CREATE", timestamp: "2026-01-02T03:04:05", data: {} };
const PING = { zen: "Keep it logically awesome.", hook_id: 1, hook: { type: "Repository" } };
const LINE_EVENT = { type: "message", webhookEventId: "e1" };

/** What is sent, and the handshake's answer; none where it is an event. */
const ROWS: [
  to: keyof typeof SENDERS,
  what: string,
  payload: unknown,
  answer?: [number, string],
][] = [
  ["discord", "a PING", { ...INTERACTION, type: 1 }, [200, '{"type":1,"status":"pong"}']],
  ["discord", "a command", { ...INTERACTION, type: 2 }],
  ["discord", "the PING of webhook events", { version: 1, application_id: "2", type: 0 }, [
    204,
    "",
  ]],
  ["discord", "a webhook event", { version: 1, application_id: "2", type: 1, event: EVENT }],
  ["discord", "type 1 and nothing else", { type: 1 }],
  ["discord", "type 0 and nothing else", { type: 0 }],
  ["discord", "an event of type 0", { application_id: "2", type: 0, event: EVENT }],
  ["push", "a ping", PING, [200, '{"status":"pong"}']],
  ["push", "zen alone", { zen: "Design for failure." }],
  ["push", "a push", { ref: "refs/heads/main", pusher: {}, commits: [] }],
  ["slack", "a challenge", { type: "url_verification", challenge: "c" }, [200, "c"]],
  ["slack", "a challenge that is no text", { type: "url_verification", challenge: 7 }],
  ["slack", "an event with a challenge", { type: "event_callback", challenge: "c" }],
  ["line", "no events", { destination: "U1", events: [] }, [200, '{"status":"pong"}']],
  ["line", "no events, to nobody", { events: [] }],
  ["line", "an event", { destination: "U1", events: [LINE_EVENT] }],
];

for (const [to, what, payload, answer] of ROWS) {
  Deno.test(`${to}: ${what} is ${answer === undefined ? "an event" : "a handshake"}`, async () => {
    await using rig = await webhookRig({ manifest: TRIGGERS });
    const body = JSON.stringify(payload);
    const headers = to === "push" || to === "line"
      ? SENDERS[to](body)
      : SENDERS[to](body, rig.clock.time);
    const response = await rig.post(`/webhook/${to}`, body, headers);
    const text = await response.text();
    const [delivery] = await rig.deliveries();
    if (answer === undefined) {
      equal(JSON.parse(text).status, "accepted");
      equal((await rig.tasks()).length, 1);
    } else {
      deepEqual([response.status, text], answer);
      deepEqual([delivery?.outcome, delivery?.status], ["handshake", answer[0]]);
      equal((await rig.tasks()).length, 0);
    }
  });
}

Deno.test("push: no header makes a handshake of an event, nor an event of a handshake", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const push = '{"ref":"refs/heads/main"}';
  const swallowed = await rig.post("/webhook/push", push, {
    ...github(push),
    "x-github-event": "ping",
  });
  equal((await swallowed.json()).status, "accepted");
  const ping = JSON.stringify(PING);
  const fired = await rig.post("/webhook/push", ping, {
    ...github(ping),
    "x-github-event": "push",
  });
  equal((await fired.json()).status, "pong");
  equal((await rig.tasks()).length, 1);
});

Deno.test("an unsigned challenge is not echoed", async () => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  const challenge = '{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRN"}';
  const answer = await rig.post("/webhook/slack", challenge, {
    ...slack(challenge, NOW - 301_000),
  });
  equal(answer.status, 401);
  equal((await answer.text()).includes("3eZbrw1aBm2rZgRN"), false);
});
