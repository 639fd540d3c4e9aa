/**
 * Bodies made to be expensive, from strangers and from senders with a key. Beside each, health and
 * a small signed request to another trigger are requested again and again, and the longest wait
 * counts.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import type { Manifest } from "../../../tests/helpers/manifests.ts";
import { residentMb } from "../machine.ts";
import type { HostileOrder } from "../hostile_sender_worker.ts";
import type { Figure, Scenario } from "../scenario.ts";
import { benchTrigger, requestTo, SECRET, sendOne, startSite } from "../site.ts";

const MIB = 1024 * 1024;
/** Slightly less than the largest allowed body, in bytes. */
const LARGE = 24 * MIB;
const TARGET_MS = 1000;

const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";
const signing = { fromRef: "signing" };

const TRIGGERS: readonly Manifest[] = [
  benchTrigger("flooded"),
  benchTrigger("twilio", { webhook: { secret: signing, scheme: "twilio" } }),
  benchTrigger("line", { webhook: { secret: signing, scheme: "line" } }),
];

interface Hostile {
  readonly what: string;
  readonly trigger: "flooded" | "twilio" | "line";
  readonly type: string;
  readonly body: () => string;
  /** Set for a stranger: the signature has the right form and does not match. */
  readonly stranger?: true;
  /** How many are sent at once, 1 if absent. */
  readonly times?: number;
}

const list = (item: (n: number) => string, items: number) =>
  `{"a":[${Array.from({ length: items }, (_, n) => item(n)).join()}]}`;
const fields = (count: number) =>
  Array.from({ length: count }, (_, n) => ((n * 7919) % 16_777_216).toString(16)).join("&");
const lineEvents = (count: number) =>
  JSON.stringify({
    destination: "U1",
    events: Array.from({ length: count }, (_, n) => ({
      type: "message",
      mode: "active",
      timestamp: n,
      webhookEventId: `event ${n}`,
      message: { type: "text", id: String(n), text: "x".repeat(500) },
    })),
  });

const json = { trigger: "flooded", type: JSON_TYPE } as const;
const HOSTILE: readonly Hostile[] = [
  {
    what: "40 bodies of strangers",
    ...json,
    stranger: true,
    times: 40,
    body: () => "x".repeat(LARGE),
  },
  {
    what: "form of a stranger, Twilio",
    trigger: "twilio",
    type: FORM,
    stranger: true,
    body: () => fields(3 * MIB),
  },
  { what: "form of 60,000 fields", trigger: "flooded", type: FORM, body: () => fields(60_000) },
  {
    what: "JSON sent as a form",
    trigger: "flooded",
    type: FORM,
    body: () => `{"a":"&payload=%7B%7D&${"x=1&".repeat(5 * MIB)}"}`,
  },
  { what: "1,500 events, LINE", trigger: "line", type: JSON_TYPE, body: () => lineEvents(1500) },
  { what: "infinities", ...json, body: () => list(() => "1e999", LARGE / 6) },
  { what: "infinities as many as may be", ...json, body: () => list(() => "1e999", 99_000) },
  { what: "open lists", ...json, body: () => "[".repeat(LARGE) },
  { what: "open objects", ...json, body: () => '{"a":'.repeat(LARGE / 5) },
  { what: "zeros", ...json, body: () => list(() => "0", LARGE / 2) },
  { what: "long integers", ...json, body: () => list(() => "12345678901234567", LARGE / 18) },
  { what: "short texts", ...json, body: () => list((n) => `"${n.toString(36)}"`, LARGE / 9) },
  { what: "digits of one place", ...json, body: () => list((n) => `"${n * 65_536}"`, 60_000) },
  { what: "names", ...json, body: () => list((n) => `{"k${n}":1}`, 240_000) },
  { what: "escapes", ...json, body: () => `{"a":"${"\\n".repeat(LARGE / 2)}"}` },
  {
    what: "a push of 24 MiB",
    ...json,
    body: () => list((n) => `{"id":"${n}cafe","message":"${"Change it ".repeat(8)}"}`, LARGE / 115),
  },
];

export const hostileBodies: Scenario = {
  name: "hostile",
  title: "longest wait of others beside a hostile body",
  async run({ program, note }) {
    await using daemon = await startSite(program, { more: TRIGGERS });
    const waits: number[] = [];
    for (const hostile of HOSTILE) {
      const order = orderOf(daemon.url, hostile);
      await using others = askAllTheTime(daemon.url);
      await send(order);
      await others.once();
      waits.push(others.longestMs());
      note(`${hostile.what}: ${Math.round(others.longestMs())} ms`);
    }
    const longest: Figure = {
      name: "longest wait beside hostile bodies",
      unit: "ms",
      samples: [Math.max(...waits)],
      target: { atMost: TARGET_MS },
    };
    const mb = await residentMb(daemon.pid);
    return [longest, { name: "resident after these", unit: "MB", samples: [mb] }];
  },
};

function orderOf(url: string, hostile: Hostile): HostileOrder {
  const body = new TextEncoder().encode(hostile.body());
  const { trigger, type, stranger = false, times = 1 } = hostile;
  const of = (algorithm: string) =>
    createHmac(algorithm, stranger ? "not it" : SECRET).update(body);
  const signature = {
    flooded: () => ["x-webhook-signature", `sha256=${of("sha256").digest("hex")}`] as const,
    line: () => ["x-line-signature", of("sha256").digest("base64")] as const,
    twilio: () => ["x-twilio-signature", of("sha1").digest("base64")] as const,
  }[trigger]();
  const headers = Object.fromEntries([["content-type", type], signature]);
  return { url: `${url}/webhook/${trigger}`, headers, body, times };
}

/** Sends the bodies from another thread. */
function send(order: HostileOrder): Promise<void> {
  const worker = new Worker(new URL("../hostile_sender_worker.ts", import.meta.url), {
    type: "module",
  });
  return new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve();
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(`The sender failed: ${event.message}`));
    };
    worker.postMessage(order);
  }).finally(() => worker.terminate());
}

/** Requests health, and sends small signed requests, again and again. */
function askAllTheTime(
  url: string,
): AsyncDisposable & { longestMs(): number; once(): Promise<void> } {
  const waits: number[] = [];
  let over = false;
  const timed = async (work: () => Promise<unknown>) => {
    const start = performance.now();
    await work();
    waits.push(performance.now() - start);
  };
  const once = async () => {
    await timed(() => fetch(`${url}/healthz`).then((response) => response.text()));
    await timed(() => sendOne(requestTo(url, "accept")));
  };
  const asking = (async () => {
    while (!over) {
      await once();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  return {
    longestMs: () => Math.max(...waits),
    once,
    async [Symbol.asyncDispose]() {
      over = true;
      await asking;
    },
  };
}
