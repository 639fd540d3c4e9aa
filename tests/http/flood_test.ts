/**
 * Strangers who send many bytes at once, on a real socket: what they may hold is bounded, and small
 * signed requests are answered meanwhile, to the same trigger and to others.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { serve } from "../../src/http/server/serve.ts";
import { MANIFEST, type Rig, sign, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";
import { until } from "../helpers/until.ts";
import { within } from "../helpers/within.ts";
import { ask, type RawAnswer, RawClient } from "../helpers/raw_client.ts";

const LOG = { debug() {}, info() {}, warn() {}, error() {} };
const BUDGET = 1 << 20;
const MAX_BYTES = BUDGET / 2;
/** A connection that was cut is gone a moment later, which the sanitizers take for a leak. */
const LOOSE = { sanitizeOps: false, sanitizeResources: false };

interface Site extends AsyncDisposable {
  readonly rig: Rig;
  readonly port: number;
  /** Connects, sends this, and is closed with the site. */
  send(text: string): Promise<RawClient>;
}

async function start(options: Partial<Parameters<typeof webhookRig>[0]> = {}): Promise<Site> {
  await using opening = new AsyncDisposableStack();
  const rig = opening.use(
    await webhookRig({
      manifest: MANIFEST + triggerYaml("other"),
      maxBytes: MAX_BYTES,
      bodyBudget: BUDGET,
      deadlineMs: 20_000,
      ...options,
    }),
  );
  const server = opening.use(
    await serve({
      on: { hostname: "127.0.0.1", port: 0 },
      handler: rig.handler,
      log: LOG,
      drainMs: 100,
    }),
  );
  const clients = opening.use(new DisposableStack());
  const open = opening.move();
  return {
    rig,
    port: server.port,
    async send(text) {
      const client = clients.use(await RawClient.connect(server.port));
      await client.send(text).catch(() => {}); // refused before it was sent whole
      return client;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Headers of an unsigned request, and part of its body. */
function unfinished(trigger: string, stated: number, sent: number): string {
  const head = `POST /webhook/${trigger} HTTP/1.1\r\nHost: a\r\nContent-Length: ${stated}\r\n\r\n`;
  return head + "x".repeat(sent);
}

function when(what: string, look: () => boolean | Promise<boolean>): Promise<boolean> {
  return until(what, async () => await look() || undefined);
}

let unique = 0;

function signed(trigger: string): string {
  const body = JSON.stringify({ n: unique++ });
  const headers = { ...sign(body), "content-length": String(body.length), "host": "a" };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`POST /webhook/${trigger} HTTP/1.1`, ...lines, "", body].join("\r\n");
}

/** Signed requests to both triggers, of which one is flooded. */
async function statusOfBoth({ port }: Site): Promise<(number | undefined)[]> {
  const ask1 = (trigger: string) => within(10_000, ask(port, signed(trigger)));
  return [(await ask1("push"))?.status, (await ask1("other"))?.status];
}

Deno.test(
  "large bodies of strangers hold half of the budget, beyond it they get 503",
  LOOSE,
  async () => {
    await using site = await start();
    const { bodies } = site.rig;
    const answers: (RawAnswer | undefined)[] = [];
    for (let n = 0; n < 12; n++) {
      const client = await site.send(unfinished("push", MAX_BYTES, 300_000));
      void client.answer().then((answer) => answers.push(answer), () => answers.push(undefined));
    }
    await when("refusals", () => answers.length >= 11);
    ok(bodies.inUse <= BUDGET / 2, `${bodies.inUse}`);
    for (const answer of answers) {
      if (answer === undefined) continue; // reset, as it had not read its answer
      equal(answer.status, 503);
      equal(JSON.parse(answer.body).code, "overloaded");
      match(answer.head, /^retry-after: [1-9]/im);
    }
    deepEqual(await statusOfBoth(site), [200, 200]);
    await when("records", async () => (await site.rig.deliveries()).length >= 13);
    const [refused] = (await site.rig.deliveries()).filter(({ status }) => status === 503);
    match(refused?.reason ?? "", /Too many bytes/);
  },
);

Deno.test("a large body has room again when another one is refused or gone", LOOSE, async () => {
  await using site = await start();
  const stalled = await site.send(unfinished("push", MAX_BYTES, 400_000));
  await when("400,000 bytes", () => site.rig.bodies.inUse === 400_000);
  const body = JSON.stringify({ text: "x".repeat(400_000) });
  const post = () => site.rig.post("/webhook/push", body, sign(body));
  equal((await post()).status, 503);
  equal(site.rig.bodies.inUse, 400_000);
  stalled[Symbol.dispose]();
  await when("room", () => site.rig.bodies.inUse === 0);
  equal((await post()).status, 200);
  equal(site.rig.bodies.inUse, 0);
});

Deno.test(
  "lengths that are stated and never sent leave room for other requests",
  LOOSE,
  async () => {
    await using site = await start();
    for (let n = 0; n < 60; n++) await site.send(unfinished("push", 60_000, 0));
    for (let n = 0; n < 20; n++) await site.send(unfinished("push", MAX_BYTES, 0));
    await when("their headers", () => site.rig.bodies.inUse >= 4 * 60_000);
    deepEqual(await statusOfBoth(site), [200, 200]);
    ok(site.rig.bodies.inUse <= BUDGET / 4, `${site.rig.bodies.inUse}`);
  },
);

Deno.test(
  "small bodies that never end, all to one trigger, leave room for the other",
  LOOSE,
  async () => {
    await using site = await start();
    for (let n = 0; n < 40; n++) await site.send(unfinished("push", 60_000, 59_000));
    await when("three quarters", () => site.rig.bodies.inUse > BUDGET * 0.7);
    equal((await within(10_000, ask(site.port, signed("other"))))?.status, 200);
    ok(site.rig.bodies.inUse <= BUDGET * 3 / 4, `${site.rig.bodies.inUse}`);
  },
);

Deno.test("a body for a trigger that does not exist is not read", LOOSE, async () => {
  await using site = await start();
  const client = await site.send(unfinished("nobody", MAX_BYTES, 0));
  equal((await within(10_000, client.answer()))?.status, 404);
  equal(site.rig.bodies.inUse, 0);
});

Deno.test("names of Slack triggers share the budget whether they exist or not", LOOSE, async () => {
  await using site = await start();
  for (let n = 0; n < 8; n++) {
    const path = "POST /source/slack/default/nobody";
    await site.send(unfinished("x", 250_000, 200_000).replace("POST /webhook/x", path));
  }
  await when("two of them", () => site.rig.bodies.inUse >= 400_000);
  ok(site.rig.bodies.inUse <= BUDGET / 2);
  deepEqual(await statusOfBoth(site), [200, 200]);
});

Deno.test("bytes are held until their request is answered, and then no more", LOOSE, async () => {
  const recording = Promise.withResolvers<never>();
  await using site = await start({ broken: { recordDelivery: () => recording.promise } });
  const body = JSON.stringify({ text: "x".repeat(200_000) });
  const answer = site.rig.post("/webhook/push", body, sign(body));
  await when("the body", () => site.rig.bodies.inUse === body.length);
  recording.reject(new Error("broken"));
  equal((await answer).status, 500);
  equal(site.rig.bodies.inUse, 0);
});

Deno.test("what drips on after a 408 is neither kept nor counted", LOOSE, async () => {
  await using site = await start({ deadlineMs: 200 });
  const client = await site.send(unfinished("push", MAX_BYTES, 100_000));
  equal((await within(10_000, client.answer()))?.status, 408);
  await client.send("x".repeat(200_000)).catch(() => {});
  deepEqual(await statusOfBoth(site), [200, 200]);
  equal(site.rig.bodies.inUse, 0);
});
