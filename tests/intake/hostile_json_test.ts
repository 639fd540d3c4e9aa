/**
 * Hostile bodies, all of them signed: whoever knows the secret can still send nonsense.
 * None may be answered with a 5xx, and none may get in the way of the next.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { MANIFEST, sign, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

const text = (value: string) => new TextEncoder().encode(value);
const nested = (depth: number, open: string, close: string, core = "") =>
  open.repeat(depth) + core + close.repeat(depth);

/** Refused with 400: not one JSON object in UTF-8. */
const MALFORMED: Readonly<Record<string, Uint8Array>> = {
  "nothing": new Uint8Array(),
  "null": text("null"),
  "true": text("true"),
  "a number": text("1"),
  "a large number": text("12345678901234567890"),
  "1e999": text("1e999"),
  "a text": text('"{}"'),
  "a list": text("[]"),
  "a list of an object": text("[{}]"),
  "an open brace": text("{"),
  "two documents": text("{}{}"),
  "something after it": text("{} x"),
  "a comma too many": text('{"a":1,}'),
  "single quotes": text("{'a':1}"),
  "a comment": text("/* */{}"),
  "NaN": text('{"a":NaN}'),
  "a byte order mark": new Uint8Array([0xef, 0xbb, 0xbf, ...text("{}")]),
  "a byte order mark of UTF-16": new Uint8Array([0xff, 0xfe, ...text("{}")]),
  "UTF-16": new Uint8Array([0x7b, 0, 0x7d, 0]),
  "\\xff": new Uint8Array([...text('{"a":"'), 0xff, ...text('"}')]),
  "an overlong NUL": new Uint8Array([...text('{"a":"'), 0xc0, 0x80, ...text('"}')]),
  "a surrogate in UTF-8": new Uint8Array([...text('{"a":"'), 0xed, 0xa0, 0x80, ...text('"}')]),
  "a NUL": new Uint8Array([0]),
  "an object with a NUL behind it": new Uint8Array([...text("{}"), 0]),
  "a bare line break in a text": text('{"a":"\n"}'),
  "gzip": new Uint8Array(gzipSync("{}")),
  "a form": text("payload=%7B%7D"),
  "500,000 [": text("[".repeat(500_000)),
  "500,000 {": text('{"a":'.repeat(500_000)),
};

/** JSON objects all the same: filtered by a condition that is about something else, or accepted. */
const ODD: Readonly<Record<string, Uint8Array>> = {
  "an empty object": text("{}"),
  "blanks around it": text(" \t\r\n{}\n"),
  "a __proto__ of its own": text('{"__proto__":{"admin":true,"wanted":1},"a":1}'),
  "a constructor of its own": text('{"constructor":{"prototype":{"wanted":1}}}'),
  "names of methods": text('{"toString":1,"valueOf":null,"hasOwnProperty":0,"toJSON":"x"}'),
  "rawJSON": text('{"rawJSON":"1"}'),
  "one name twice": text('{"a":1,"a":2}'),
  "names that are no identifiers": text('{"":1," ":2,"a-b":3,"1":4,"é":5,"\\u0000":6}'),
  "1e999 inside": text('{"a":1e999,"b":-1e999,"c":1e-999}'),
  "big integers": text(`{"a":9007199254740993,"b":-${"9".repeat(400)},"c":${"1".repeat(5000)}}`),
  "a negative zero": text('{"a":-0,"b":-0.0}'),
  "exponents": text('{"a":1E400,"b":1e+22,"c":12345678901234567890.5e3}'),
  "lone surrogates": text('{"a":"\\ud800","b":"\\udc00\\ud800"}'),
  "an escaped NUL": text('{"a":"\\u0000","b\\u0000":1}'),
  "100,000 names": text(`{${Array.from({ length: 100_000 }, (_, n) => `"n${n}":${n}`).join()}}`),
  "a long name": text(`{"${"n".repeat(500_000)}":1}`),
  "1,000 levels": text(nested(1000, '{"a":', "}", "1")),
  "5,000 levels of lists": text(`{"a":${nested(5000, "[", "]")}}`),
  "100,000 levels": text(nested(100_000, '{"a":', "}", "1")),
  "100,000 levels of lists": text(`{"a":${nested(100_000, "[", "]")}}`),
  "100,000 levels and a large number": text(`{"a":${nested(100_000, "[", "]")},"n":1e999}`),
};

/** Conditions that take every way an expression can be run, each false for all of `ODD`. */
const CONDITIONS: Readonly<Record<string, string>> = {
  plain: "payload_wanted == 1",
  nested: "payload.a.a.wanted == 1",
  whole: "payload == {'wanted': 1}",
  search: "payload_wanted.contains('1') || 'x'.matches(payload.wanted)",
  loop: "[1].exists(n, payload.wanted == n)",
  loopover: "payload.a.exists(x, x == 'wanted')",
  convert: "string(payload.a) == 'wanted'",
  prototype: "payload.admin == true",
};

const TRIGGERS = MANIFEST +
  Object.entries(CONDITIONS).map(([name, condition]) => triggerYaml(name, { condition })).join("");

Deno.test("a body that is not a JSON object is refused with 400, and the next request is served", async (t) => {
  await using rig = await webhookRig({ manifest: TRIGGERS, maxBytes: 10_000_000 });
  for (const [what, body] of Object.entries(MALFORMED)) {
    await t.step(what, async () => {
      const response = await rig.post("/webhook/push", new Uint8Array(body), sign(body));
      const problem = await response.json();
      deepEqual([response.status, problem.code], [400, "invalid"]);
      deepEqual(Object.keys(problem), ["type", "title", "status", "code", "request_id"]);
      deepEqual(await rig.tasks(), []);
    });
  }
  equal((await rig.post("/webhook/push", "{}", sign("{}"))).status, 200);
});

Deno.test(
  skippable(
    "odd objects are filtered by conditions on something else, never answered 5xx",
    NOT_SLOW,
  ),
  async (t) => {
    await using rig = await webhookRig({ manifest: TRIGGERS, maxBytes: 10_000_000 });
    for (const [what, body] of Object.entries(ODD)) {
      await t.step(what, async () => {
        for (const trigger of Object.keys(CONDITIONS)) {
          const response = await rig.post(`/webhook/${trigger}`, new Uint8Array(body), sign(body));
          const answer = await response.json();
          ok(
            response.status === 400 || (response.status === 200 && answer.status === "filtered"),
            `${trigger}: ${response.status} ${JSON.stringify(answer)}`,
          );
        }
        deepEqual(await rig.tasks(), []);
      });
    }
    equal((await rig.post("/webhook/push", "{}", sign("{}"))).status, 200);
    equal((({}) as Record<string, unknown>)["admin"], undefined);
    equal((({}) as Record<string, unknown>)["wanted"], undefined);
  },
);

Deno.test("odd objects are accepted where nothing is asked, byte for byte", async (t) => {
  await using rig = await webhookRig({ manifest: TRIGGERS, maxBytes: 10_000_000 });
  for (const [what, body] of Object.entries(ODD)) {
    await t.step(what, async () => {
      const response = await rig.post("/webhook/push", new Uint8Array(body), sign(body));
      const { code, status } = await response.json();
      // an object that is too deep to be walked may be refused, but never later than here
      ok(response.status === 200 ? status === "accepted" : code === "invalid", `${code}`);
      for (const { payload } of (await rig.store.claimTasks(9, 1)).tasks) {
        deepEqual(new Uint8Array(payload), new Uint8Array(body));
      }
    });
  }
});

/** Signed and much too much: each took the daemon from everybody for seconds. */
const COSTLY: Readonly<Record<string, [text: string, reason: RegExp]>> = {
  "1e999": [`{"a":[${"1e999,".repeat(1_500_000)}0]}`, /more than 100000 numbers/],
  "levels": [nested(1_000_000, '{"a":', "}", "1"), /more than 1000 levels/],
  "values": [`{"a":[${"0,".repeat(4_000_000)}0]}`, /more than 2000000 values/],
  "short texts": [
    `{"a":[${Array.from({ length: 300_000 }, (_, n) => `"k${n}"`).join()}]}`,
    /more than 250000 different names and short texts/,
  ],
  "texts that V8 keeps at one place": [
    `{"a":[${Array.from({ length: 60_000 }, (_, n) => `"${n * 65_536}"`).join()}]}`,
    /more than 100 numbers in quotes/,
  ],
};

Deno.test("JSON that would take seconds is refused with 400, the reason in its record", async (t) => {
  await using rig = await webhookRig({ manifest: TRIGGERS, maxBytes: 10_000_000 });
  for (const [what, [body, reason]] of Object.entries(COSTLY)) {
    await t.step(what, async () => {
      const response = await rig.post("/webhook/push", body, sign(body));
      deepEqual([response.status, (await response.json()).code], [400, "invalid"]);
      const reasons = (await rig.deliveries()).map((delivery) => delivery.reason);
      ok(reasons.some((one) => reason.test(one)), reasons.join());
    });
  }
});
