/**
 * What strangers write into the records of their requests, and how often they are written about in the
 * log: bounded, whatever they send, in whichever way, and however many triggers get it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { utf8 } from "../../src/base/bytes.ts";
import { createLog } from "../../src/base/log.ts";
import { DeliveryContext } from "../../src/intake/pipeline/delivery_context.ts";
import { Rejections } from "../../src/intake/pipeline/rejections.ts";
import { UnknownPaths } from "../../src/intake/unknown_paths.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Rejection } from "../../src/store/delivery_records.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { rowsOf } from "../helpers/sqlite_file.ts";
import {
  MANIFEST,
  manifestResources,
  type Rig,
  triggerYaml,
  webhookRig,
} from "../rigs/webhook_rig.ts";

const ENDPOINT = "endpoint: hub, secret: {fromRef: github}, signatureHeader: X-Hub-Signature-256";
const names = Array.from({ length: 20 }, (_, n) => `t${n}`);

/** Twenty triggers at one endpoint. */
const HUB = MANIFEST + names.map((name) => triggerYaml(name, { webhook: ENDPOINT })).join("");

/** Headers of a request, by what is odd about them. */
const FLOODS: readonly (readonly [what: string, headers: () => Record<string, string>])[] = [
  ["one endless name", () => ({ [`x-${"a".repeat(60_000)}`]: "1" })],
  ["32 names of 100 characters", () => many(32, 100)],
  ["300 names of 100 characters", () => many(300, 100)],
  ["200 names that look like signatures", () => many(200, 100, "sign")],
  ["10,000 short names", () => many(10_000, 5)],
  ["an endless content type", () => ({ "content-type": `a/${"a".repeat(60_000)}` })],
];

function many(count: number, length: number, begins = "x"): Record<string, string> {
  const name = (n: number) => `${begins}${n}`.padEnd(length, "-");
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [name(n), ""]));
}

function bytesOf(headers: Readonly<Record<string, string>>): number {
  return Object.entries(headers).reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    0,
  );
}

/** Characters in the columns of all records that hold what came. */
async function recorded(rig: Rig): Promise<{ rows: number; bytes: number; longest: number }> {
  await rig.deliveries();
  const columns = ["detail", "reason", "headers", "body", "url", "remote"];
  const sizes = rowsOf(
    rig.path,
    `SELECT ${
      columns.map((one) => `coalesce(length(${one}), 0)`).join(" + ")
    } AS n FROM deliveries`,
  ).map(({ n }) => Number(n));
  const bytes = sizes.reduce((sum, n) => sum + n, 0);
  return { rows: sizes.length, bytes, longest: Math.max(...sizes) };
}

for (const [what, headers] of FLOODS) {
  Deno.test(`refused at twenty triggers, ${what} leave no more than they were`, async () => {
    await using rig = await webhookRig({ manifest: HUB });
    const response = await rig.post("/webhook/hub", "{}", headers());
    equal(response.status, 401);
    const { rows, bytes } = await recorded(rig);
    equal(rows, 20);
    await using other = await webhookRig({ manifest: HUB });
    await other.post("/webhook/hub", "{}", {});
    const { bytes: base } = await recorded(other);
    ok(bytes - base <= bytesOf(headers()) + 20 * 100, `${bytes - base} of ${bytesOf(headers())}`);
  });
}

for (const [what, headers] of FLOODS) {
  Deno.test(`refused at Slack's own endpoint, ${what} leave little`, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST });
    const response = await rig.post("/source/slack/default/push", "{}", headers());
    ok([401, 415].includes(response.status), `${response.status}`);
    const { rows, longest } = await recorded(rig);
    equal(rows, 1);
    ok(longest < 5000, `${longest}`);
  });
}

Deno.test("what does not fit is counted, and the headers of signatures go first", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  await rig.post("/webhook/push", "{}", { ...many(50, 10), "x-zz-signature": "1" });
  const [delivery] = await rig.deliveries();
  const { headerNames = [], headersLeftOff } = delivery?.detail ?? {};
  deepEqual([headerNames.length, headerNames[0], headersLeftOff], [32, "x-zz-signature", 19]);
  await rig.post("/webhook/push", "{}", { a: "1", b: "2" });
  const [usual] = await rig.deliveries();
  deepEqual([usual?.detail.headerNames, usual?.detail.headersLeftOff], [["a", "b"], undefined]);
});

Deno.test("the event of a refusal is recorded, too, as far as it is short", async (t) => {
  const cases: readonly [headers: Record<string, string>, event: string | undefined][] = [
    [{ "x-github-event": "pull_request" }, "pull_request"],
    [{ "x-shopify-topic": "orders/create" }, "orders/create"],
    [{ "ce-type": "com.example.made" }, "com.example.made"],
    [{ "x-event-key": "repo:push" }, "repo:push"],
    [{ "x-github-events": "push" }, undefined],
    [{ "x-github-event": "" }, undefined],
    [{ "x-github-event": "p".repeat(60_000) }, "p".repeat(100)],
  ];
  for (const [headers, event] of cases) {
    await t.step(JSON.stringify(headers).slice(0, 60), async () => {
      await using rig = await webhookRig({ manifest: MANIFEST });
      equal((await rig.post("/webhook/push", "{}", headers)).status, 401);
      const [delivery] = await rig.deliveries();
      equal(delivery?.detail.event, event);
    });
  }
});

const HANDSHAKES = MANIFEST +
  names.map((name) =>
    triggerYaml(name, { webhook: "endpoint: hub, secret: {fromRef: github}, scheme: trello" })
  ).join("");

for (
  const [what, query, headers] of [
    ["an endless URL", `?a=${"a".repeat(60_000)}`, {}],
    ["an endless header", "", { "x-a": "a".repeat(60_000) }],
    ["many headers", "", many(500, 100)],
  ] as const
) {
  Deno.test(`an unsigned handshake with ${what} is answered, and little is kept`, async () => {
    await using rig = await webhookRig({ manifest: HANDSHAKES });
    const request = new Request(`http://127.0.0.1/webhook/hub${query}`, {
      method: "HEAD",
      headers,
    });
    equal((await rig.handler(request, "192.0.2.7")).status, 200);
    const { rows, bytes } = await recorded(rig);
    equal(rows, 20);
    ok(bytes < 20 * 600 + 3200, `${bytes}`);
  });
}

/** Rejections that wait for their next flush, and what was written. */
function collecting() {
  const clock = new ManualClock();
  const lines: string[] = [];
  const written: Rejection[] = [];
  const log = createLog({
    level: "info",
    format: "pretty",
    clock,
    write: (line) => lines.push(line),
  });
  const recordRejections = (some: readonly Rejection[]) =>
    Promise.resolve(void written.push(...some));
  // deno-lint-ignore no-explicit-any -- nothing else of a store is called
  const rejections = new Rejections({ store: { recordRejections } as any, clock, log });
  return { clock, lines, written, rejections };
}

/** A refused request of the trigger `name`, which keeps what it refuses. */
function refused(name: string, bodyBytes: number, clock: ManualClock) {
  const manifest = MANIFEST + triggerYaml(name, { webhook: `${ENDPOINT}, recordRejected: true` });
  const resource = manifestResources(manifest).at(-1);
  const context = new DeliveryContext({ id: "01", clock, remote: "192.0.2.7" });
  // deno-lint-ignore no-explicit-any -- a trigger as its records see it
  context.trigger = { resource } as any;
  const body = utf8("x".repeat(bodyBytes));
  const received = { method: "POST", body, headers: {}, url: "http://127.0.0.1/", context };
  return [
    context.toDelivery({ outcome: "rejected", status: 401, reason: "no" }),
    received,
  ] as const;
}

Deno.test("a flood of kept bodies is written at a bounded rate, and others keep theirs", async () => {
  const { clock, written, rejections } = collecting();
  await using _ = rejections;
  const flood = refused("flooded", 200 * 1024, clock);
  const other = refused("other", 200 * 1024, clock);
  for (let n = 0; n < 50; n++) rejections.add(...flood);
  rejections.add(...other);
  await rejections.flush();
  const kept = (name: string) =>
    written.filter(({ delivery, content }) => delivery.trigger === name && content !== undefined);
  deepEqual([kept("flooded").length, kept("other").length, written.length], [1, 1, 51]);
  rejections.add(...flood);
  await rejections.flush();
  equal(kept("flooded").length, 2, "each flush anew");
});

Deno.test("refused requests without a record are told at once, and then once a minute", async () => {
  const { clock, lines, rejections } = collecting();
  const flood = refused("push", 10, clock);
  for (let second = 0; second < 90; second++) {
    for (let n = 0; n < 150; n++) rejections.add(...flood);
    await clock.advance(1000);
  }
  const count = () =>
    lines.map((line) => Number(/were not recorded one by one count=(\d+)$/.exec(line)?.[1]));
  deepEqual(count(), [1, 60 * 50 - 1]);
  await rejections[Symbol.asyncDispose]();
  deepEqual(count(), [1, 60 * 50 - 1, 30 * 50], "and what is left at the end");
});

Deno.test("a database that cannot be written is told once a minute, too", async () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    format: "pretty",
    clock,
    write: (line) => lines.push(line),
  });
  const store = { recordRejections: () => Promise.reject(new Error("disk I/O error")) };
  // deno-lint-ignore no-explicit-any -- nothing else of a store is called
  await using rejections = new Rejections({ store: store as any, clock, log });
  for (let n = 0; n < 40; n++) {
    rejections.add(...refused("push", 10, clock));
    await clock.advance(500);
  }
  equal(lines.length, 1);
  match(lines[0] ?? "", /could not be written/);
});

Deno.test("an unknown path keeps the beginning of a method of one's own", async () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    format: "pretty",
    clock,
    write: (line) => lines.push(line),
  });
  const catalog = new Catalog(manifestResources(MANIFEST));
  using paths = new UnknownPaths({ catalog, clock, log });
  const method = "X".repeat(60_000);
  paths.note({ method, path: "/webhook/pusch", remote: "192.0.2.7" });
  await clock.advance(1000);
  deepEqual(paths.list().map((one) => [one.method, one.meant]), [[
    "X".repeat(20),
    "/webhook/push",
  ]]);
  ok((lines[0] ?? "").length < 300);
});
