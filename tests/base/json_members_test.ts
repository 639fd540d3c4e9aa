/**
 * Members that are found without parsing are those that a parser finds.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { findMembers, MAX_SCANNED, textOf } from "../../src/base/json_members.ts";

const NAMES = ["a", "b", "\u00e9", ""];

/** What a parser says, where every name comes once. */
function parsed(json: string): Record<string, unknown> | undefined {
  const value: unknown = JSON.parse(json);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([name]) => NAMES.includes(name)));
}

function scanned(json: string): Record<string, unknown> | undefined {
  const found = findMembers(json, NAMES);
  if (found === undefined) return undefined;
  return Object.fromEntries(Object.entries(found).map(([name, one]) => [name, JSON.parse(one)]));
}

Deno.test("it finds what a parser finds", async (t) => {
  const texts = [
    "{}",
    ' \r\n\t{ "a" : 1 , "b" : { "a" : [ 2 , "}" ] } }\n',
    '{"a":"\\"","b":"\\\\","c":"\\\\\\"}"}',
    '{"c":{"a":"b"},"a":"{\\"b\\":1}"}',
    '{"\\u0061":null,"\\u00e9":true,"":-1.5e3}',
    '{"a":[],"b":[[{}],{"b":["]"]}]}',
    '{"x":"\\u0022,\\u0022a\\u0022:1"}',
    "[]",
    '"a"',
    "1",
  ];
  for (const json of texts) {
    await t.step(json, () => deepEqual(scanned(json), parsed(json)));
  }
});

Deno.test("it refuses what parsers read differently, and what is no object", async (t) => {
  const texts = {
    "a name twice": '{"a":1,"b":2,"a":1}',
    "a name twice, once escaped": '{"a":1,"\\u0061":2}',
    "a comma too many": '{"a":1,}',
    "no end": '{"a":1',
    "no end of a string": '{"a":"x',
    "no value": '{"a":}',
    "two texts": '{"a":1}{"a":2}',
    "a byte order mark": '\ufeff{"a":1}',
    "a name that is no JSON": '{"\\x61":1}',
    "nothing": "",
  };
  for (const [name, json] of Object.entries(texts)) {
    await t.step(name, () => equal(findMembers(json, NAMES), undefined));
  }
  equal(findMembers(`{"a":"${"x".repeat(MAX_SCANNED)}"}`, NAMES), undefined, "too long");
});

Deno.test("mutated texts: whatever is JSON is read as a parser reads it", () => {
  const seeds = [
    '{"a":"x\\"y","b":[{"a":1},"]}"],"c":{"b":null}}',
    '{"b":"\\\\","a":{"a":"\\u0061"}}',
  ];
  const chars = '{}[]":,\\ u0061ab';
  let json = 0;
  for (const seed of seeds) {
    for (let at = 0; at <= seed.length; at++) {
      for (const char of chars) {
        for (const cut of [0, 1, 2]) {
          const text = seed.slice(0, at) + char + seed.slice(at + cut);
          let value: Record<string, unknown> | undefined;
          try {
            value = parsed(text);
          } catch {
            findMembers(text, NAMES); // never throws
            continue;
          }
          json++;
          const found = scanned(text);
          // a name that comes twice is refused, so a parser's reading may be missing
          if (found !== undefined) deepEqual(found, value, text);
          else ok(value === undefined || /"(a|b|\\u0061)":.*"(a|b|\\u0061)":/.test(text), text);
        }
      }
    }
  }
  ok(json > 200);
});

Deno.test("a string is read strictly", () => {
  equal(textOf('"a\\u0041"'), "aA");
  for (const text of [undefined, "", "1", "null", '"a', '"a\nb"', '["a"]']) {
    equal(textOf(text), undefined, text);
  }
});
