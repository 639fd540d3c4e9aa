/**
 * What a platform means by a request: several events in one, and which event is one that
 * was there before. In process, with a real store.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { answerOf, line, slack } from "../helpers/senders.ts";
import { MANIFEST, type Rig, SECRET, sign, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const DAY_MS = 24 * 3600 * 1000;

function stripe(body: string, at: number): Record<string, string> {
  const time = String(Math.floor(at / 1000));
  const hex = createHmac("sha256", SECRET).update(`${time}.${body}`).digest("hex");
  return { "stripe-signature": `t=${time},v1=${hex}`, "content-type": "application/json" };
}

const PLATFORMS = MANIFEST +
  triggerYaml("line", { webhook: "secret: {fromRef: github}, signatureHeader: X-Line-Signature" }) +
  triggerYaml("slack", {
    webhook: "secret: {fromRef: github}, signatureHeader: X-Slack-Signature",
  }) +
  triggerYaml("stripe", { webhook: "secret: {fromRef: github}, scheme: stripe" }) +
  triggerYaml("plain", { webhook: "secret: {fromRef: github}, signatureHeader: X-Plain" }) +
  triggerYaml("own", {
    webhook:
      'secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256, idempotencyKey: "payload.key"',
  }) +
  triggerYaml("texts", {
    webhook: "secret: {fromRef: github}, signatureHeader: X-Line-Signature",
    condition: 'payload.events[0].type == "message"',
  });

/** Sends twice, as the platform does when it retries; gives both answers. */
async function twice(
  rig: Rig,
  path: string,
  body: string,
  headers: () => Record<string, string>,
): Promise<[Record<string, unknown>, Record<string, unknown>]> {
  const first = await answerOf(rig.post(path, body, headers()));
  rig.clock.time += 60_000;
  return [first, await answerOf(rig.post(path, body, headers()))];
}

Deno.test("a retry of the same event is a duplicate that names the first", async (t) => {
  const github = { "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958" };
  const cases = [
    { to: "push", body: '{"a":1}', headers: () => ({ ...sign('{"a":1}'), ...github }) },
    { to: "own", body: '{"key":"k1"}', headers: () => sign('{"key":"k1"}') },
  ];
  for (const { to, body, headers } of cases) {
    await t.step(to, async () => {
      await using rig = await webhookRig({ manifest: PLATFORMS });
      const [first, second] = await twice(rig, `/webhook/${to}`, body, headers);
      equal(first["status"], "accepted");
      deepEqual(second, { ...first, status: "duplicate" });
      equal((await rig.tasks()).length, 1);
    });
  }
  await t.step("slack, which signs each retry anew", async () => {
    await using rig = await webhookRig({ manifest: PLATFORMS });
    const body = '{"event_id":"Ev1","type":"event_callback"}';
    const [, second] = await twice(rig, "/webhook/slack", body, () => slack(body, rig.clock.time));
    equal(second["status"], "duplicate");
  });
  await t.step("stripe, which signs each retry anew", async () => {
    await using rig = await webhookRig({ manifest: PLATFORMS });
    const body = '{"id":"evt_1"}';
    const [, second] = await twice(
      rig,
      "/webhook/stripe",
      body,
      () => stripe(body, rig.clock.time),
    );
    equal(second["status"], "duplicate");
  });
});

Deno.test("what is no retry is no duplicate", async (t) => {
  const cases: { name: string; second: { body: string; headers: Record<string, string> } }[] = [
    {
      name: "the same body under another delivery id",
      second: { body: '{"a":1}', headers: { ...sign('{"a":1}'), "x-github-delivery": "two" } },
    },
    {
      name: "another body under the same delivery id",
      second: { body: '{"a":2}', headers: { ...sign('{"a":2}'), "x-github-delivery": "one" } },
    },
  ];
  for (const { name, second } of cases) {
    await t.step(name, async () => {
      await using rig = await webhookRig({ manifest: PLATFORMS });
      const headers = { ...sign('{"a":1}'), "x-github-delivery": "one" };
      await answerOf(rig.post("/webhook/push", '{"a":1}', headers));
      equal(
        (await answerOf(rig.post("/webhook/push", second.body, second.headers)))["status"],
        "accepted",
      );
      equal((await rig.tasks()).length, 2);
    });
  }
  await t.step("plain sha256, which has no name for events", async () => {
    await using rig = await webhookRig({ manifest: PLATFORMS });
    const body = '{"a":1}';
    const headers = { "x-plain": sign(body)["x-hub-signature-256"] ?? "" };
    await answerOf(rig.post("/webhook/plain", body, headers));
    equal((await answerOf(rig.post("/webhook/plain", body, headers)))["status"], "accepted");
  });
  await t.step("the same key of another trigger", async () => {
    await using rig = await webhookRig({ manifest: PLATFORMS });
    const headers = { ...sign('{"key":"k"}'), "x-github-delivery": "one" };
    await answerOf(rig.post("/webhook/push", '{"key":"k"}', headers));
    equal((await answerOf(rig.post("/webhook/own", '{"key":"k"}', headers)))["status"], "accepted");
  });
});

Deno.test("only a task that is pending, running or has succeeded makes duplicates", async (t) => {
  const headers = { ...sign('{"a":1}'), "x-github-delivery": "one" };
  for (const state of ["failed", "cancelled", "succeeded"] as const) {
    await t.step(state, async () => {
      await using rig = await webhookRig({ manifest: PLATFORMS });
      await answerOf(rig.post("/webhook/push", '{"a":1}', headers));
      const { tasks: [claimed] } = await rig.store.claimTasks(1, 1);
      await rig.store.finishTask({ taskId: claimed?.task.id ?? "", state, reason: "", now: 2 });
      const again = await answerOf(rig.post("/webhook/push", '{"a":1}', headers));
      equal(again["status"], state === "succeeded" ? "duplicate" : "accepted");
    });
  }
  await t.step("and only for 24 hours", async () => {
    await using rig = await webhookRig({ manifest: PLATFORMS });
    await answerOf(rig.post("/webhook/push", '{"a":1}', headers));
    rig.clock.time += DAY_MS + 1;
    equal((await answerOf(rig.post("/webhook/push", '{"a":1}', headers)))["status"], "accepted");
  });
});

Deno.test("fifty of one event at once start one task", async () => {
  await using rig = await webhookRig({ manifest: PLATFORMS });
  const headers = { ...sign('{"a":1}'), "x-github-delivery": "one" };
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => answerOf(rig.post("/webhook/push", '{"a":1}', headers))),
  );
  equal(answers.filter(({ status }) => status === "accepted").length, 1);
  equal(new Set(answers.map((answer) => answer["task_id"])).size, 1);
  equal((await rig.tasks()).length, 1);
});

Deno.test("a LINE request with several events is several events, with one answer", async () => {
  await using rig = await webhookRig({ manifest: PLATFORMS });
  const event = (id: string, type: string) => ({ type, webhookEventId: id, timestamp: 1.5 });
  const envelope = (...events: unknown[]) => JSON.stringify({ destination: "U1", events });
  const body = envelope(event("e1", "message"), event("e2", "follow"), event("e3", "message"));
  const answer = await answerOf(rig.post("/webhook/texts", body, line(body)));
  equal(answer["status"], "accepted");
  equal((answer["task_ids"] as string[]).length, 2);
  const { tasks: claimed } = await rig.store.claimTasks(9, 1);
  deepEqual(
    claimed.map(({ payload }) => JSON.parse(new TextDecoder().decode(payload))),
    [
      { destination: "U1", events: [event("e1", "message")] },
      { destination: "U1", events: [event("e3", "message")] },
    ],
  );
  const second = envelope(event("e3", "message"), event("e4", "message"));
  const next = await answerOf(rig.post("/webhook/texts", second, line(second)));
  equal((next["task_ids"] as string[]).length, 1);
  const [latest] = await rig.deliveries();
  deepEqual(latest?.detail.events?.map(({ outcome }) => outcome), ["duplicate", "accepted"]);
});

Deno.test("a LINE request costs no more than its bytes, however many events it brings", async (t) => {
  const envelope = (count: number, more = {}) => {
    const events = Array.from({ length: count }, (_, i) => ({ webhookEventId: `e${i}` }));
    return JSON.stringify({ destination: "U1", ...more, events });
  };
  await t.step("a thousand events", async () => {
    await using rig = await webhookRig({ manifest: PLATFORMS });
    const body = envelope(1000);
    const answer = await answerOf(rig.post("/webhook/line", body, line(body)));
    equal((answer["task_ids"] as string[]).length, 1000);
    const { tasks: [first] } = await rig.store.claimTasks(1, 1);
    equal(
      new TextDecoder().decode(first?.payload),
      '{"destination":"U1","events":[{"webhookEventId":"e0"}]}',
    );
  });
  await t.step("one event may have anything around it", async () => {
    await using rig = await webhookRig({ manifest: PLATFORMS });
    const body = envelope(1, { more: "x".repeat(500_000) });
    await answerOf(rig.post("/webhook/line", body, line(body)));
    const { tasks: [only] } = await rig.store.claimTasks(1, 1);
    ok((only?.payload.length ?? 0) > 500_000);
  });
  const refused = {
    "more events": [envelope(1001), /^The request has 1001 events, more than 1000$/],
    "more around them": [
      envelope(2, { more: "x".repeat(4096) }),
      /^The JSON around the list "events" is longer than 4096 characters$/,
    ],
  } as const;
  for (const [name, [body, reason]] of Object.entries(refused)) {
    await t.step(`${name}: 400, and nothing starts`, async () => {
      await using rig = await webhookRig({ manifest: PLATFORMS });
      equal((await rig.post("/webhook/line", body, line(body))).status, 400);
      equal((await rig.tasks()).length, 0);
      ok(reason.test((await rig.deliveries())[0]?.reason ?? ""));
    });
  }
});

Deno.test("an unsigned trigger refuses pages in browsers, whatever host they name", async (t) => {
  const named = "allowUnsigned: true, publicUrl: 'https://hooks.example/webhook/named?x=1'";
  await using rig = await webhookRig({
    manifest: MANIFEST + triggerYaml("open", { webhook: "allowUnsigned: true" }) +
      triggerYaml("named", { webhook: named }),
  });
  const json = { "content-type": "application/json" };
  const local = { host: "127.0.0.1:19090" };
  const rebound = { host: "evil.example:19090" }; // a name that its owner has point to this machine
  const cases: [trigger: string, headers: Record<string, string>, status: number][] = [
    ["open", local, 200],
    ["open", { ...local, "sec-fetch-site": "none" }, 200],
    ["open", { ...local, origin: "http://127.0.0.1:19090" }, 401],
    ["open", { ...rebound, origin: "http://evil.example:19090" }, 401],
    ["open", { ...rebound, "sec-fetch-site": "same-origin" }, 401],
    ["open", { ...local, origin: "https://evil.example" }, 401],
    ["open", { ...local, origin: "null" }, 401],
    ["open", { ...local, origin: "" }, 401],
    ["open", { ...local, "sec-fetch-site": "cross-site" }, 401],
    ["open", { ...local, "sec-fetch-site": "" }, 401],
    ["open", { ...local, origin: "https://hooks.example" }, 401],
    ["named", { ...local, origin: "https://hooks.example" }, 200],
    ["named", { ...local, origin: "https://hooks.example", "sec-fetch-site": "same-origin" }, 200],
    ["named", { ...local, origin: "http://hooks.example" }, 401],
    ["named", { ...local, origin: "https://hooks.example.evil" }, 401],
    ["named", { ...rebound, origin: "http://evil.example:19090" }, 401],
  ];
  for (const [trigger, headers, status] of cases) {
    await t.step(`${trigger} ${JSON.stringify(headers)}`, async () => {
      equal((await rig.post(`/webhook/${trigger}`, "{}", { ...json, ...headers })).status, status);
    });
  }
});

Deno.test("allowFrom refuses other addresses, however well they sign", async () => {
  const webhook = "secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256, allowFrom: ";
  await using rig = await webhookRig({
    manifest: MANIFEST + triggerYaml("near", { webhook: `${webhook}[192.0.2.0/24]` }) +
      triggerYaml("far", { webhook: `${webhook}[198.51.100.0/24, "2001:db8::/32"]` }),
  });
  equal((await rig.post("/webhook/near", "{}", sign("{}"))).status, 200);
  equal((await rig.post("/webhook/far", "{}", sign("{}"))).status, 401);
});

Deno.test("events that are skipped and filtered are told as skipped, to the sender and in the record", async () => {
  const manifest = `${MANIFEST}${
    triggerYaml("held", {
      webhook: "secret: {fromRef: github}, signatureHeader: X-Line-Signature",
      condition: 'payload.events[0].type == "message"',
      more: "suspend: true",
    })
  }`;
  await using rig = await webhookRig({ manifest });
  const event = (id: string, type: string) => ({ webhookEventId: id, type });
  const events = [event("e1", "follow"), event("e2", "message")];
  const body = JSON.stringify({ destination: "U1", events });
  const answer = await (await rig.post("/webhook/held", body, line(body))).json();
  const [record] = await rig.deliveries();
  deepEqual([answer.status, record?.outcome, record?.reason], [
    "skipped",
    "skipped",
    "1 skipped, 1 filtered",
  ]);
});
