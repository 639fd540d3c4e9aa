/**
 * What a large JSON text may hold: hostile ones are refused before they are parsed, and those of
 * real platforms are not.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal, throws } from "node:assert/strict";
import { findRawNumber, isJsonObject, parseJson, parseOwnJson } from "../../src/base/json.ts";
import {
  checkEachString,
  checkJsonLimits,
  isLargeJson,
  JSON_LIMITS,
} from "../../src/base/json_limits.ts";
import { Random } from "../helpers/random.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

/** A list in an object, as long as a webhook may be. */
const list = (item: (n: number) => string, items: number) =>
  `{"a":[${Array.from({ length: items }, (_, n) => item(n)).join()}]}`;
const repeated = (text: string, times: number) => list(() => text, times);
const BYTES = 24 * 1024 * 1024;
const deep = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
const padded = (text: string) => text + " ".repeat(70_000);

/** Texts that took seconds, and what they are refused for. */
const REFUSED: readonly [what: string, text: () => string, reason: RegExp][] = [
  ["infinities", () => repeated("1e999", BYTES / 6), /100000 numbers that a double cannot hold/],
  ["long integers", () => repeated("12345678901234567", 1_000_000), /100000 numbers/],
  ["long numbers with a point", () => repeated("12345678901234567.5", 200_000), /100000 numbers/],
  ["one number", () => `{"a":${"1".repeat(BYTES)}}`, /4000000 characters in numbers/],
  ["one exponent", () => `{"a":1e${"1".repeat(BYTES)}}`, /4000000 characters in numbers/],
  ["numbers of 1,000 digits", () => repeated("1".repeat(1000), 4001), /4000000 characters in num/],
  ["open lists", () => "[".repeat(BYTES), /1000 levels/],
  ["open objects", () => '{"a":'.repeat(BYTES / 5), /1000 levels/],
  ["levels that are closed again", () => padded(deep(JSON_LIMITS.depth + 1)), /1000 levels/],
  ["zeros", () => repeated("0", BYTES / 2), /2000000 values/],
  ["empty lists", () => repeated("[]", BYTES / 3), /2000000 values/],
  ["short texts", () => list((n) => `"${n.toString(36)}"`, 300_000), /250000 different/],
  ["names", () => list((n) => `{"a name of some length ${n}":1}`, 300_000), /250000 different/],
  ["names before blanks", () => list((n) => `{"a long name ${n}" \n:1}`, 300_000), /250000 diff/],
  ["digits of one place", () => list((n) => `"${n * 65_536}"`, 60_000), /100 numbers in quotes/],
  [
    "escaped digits of one place",
    () => list((n) => `"${String(n * 65_536).replace(/./, (d) => `\\u003${d}`)}"`, 60_000),
    /100 numbers in quotes/,
  ],
];

for (const [index, [what, text, reason]] of REFUSED.entries()) {
  const name = `parseJson refuses a large text of ${what} before it is parsed`;
  Deno.test(skippable(name, index < 3 ? undefined : NOT_SLOW), () => {
    const given = text();
    throws(() => checkJsonLimits(given), { name: "AppError", code: "invalid", message: reason });
    throws(() => parseJson(given), { name: "AppError", code: "invalid", message: reason });
  });
}

/** The same things as often as they may be, and where they mean nothing. */
const READ: readonly [what: string, text: () => string][] = [
  ["infinities", () => repeated("1e999", JSON_LIMITS.longNumbers)],
  ["numbers of 1,000 digits", () => repeated("1".repeat(1000), 4000)],
  ["one fraction", () => `{"a":0.${"1".repeat(BYTES)}}`],
  ["levels", () => padded(deep(JSON_LIMITS.depth))],
  ["brackets and commas in a text", () => repeated(`"${"[{,".repeat(100)}"`, 20_000)],
  ["escaped quotes", () => `{"a":"${'\\"['.repeat(1_000_000)}"}`],
  ["backslashes before a quote", () => repeated('"\\\\\\\\"', 100_000)],
  ["one short text", () => repeated('"yes"', 900_000)],
  ["one name", () => repeated('{"a name":1}', 400_000)],
  ["digits one after the other", () => list((n) => `"${n}"`, 200_000)],
  ["round digits", () => list((n) => `"${n * 1000}"`, 100_000)],
  ["digits too many for a place", () => list((n) => `"${n * 65_536 + 1e11}"`, 60_000)],
  ["long texts", () => list((n) => `"the text that has the number ${n}"`, 500_000)],
];

for (const [index, [what, text]] of READ.entries()) {
  Deno.test(
    skippable(`parseJson reads a large text of ${what}`, index < 3 ? undefined : NOT_SLOW),
    () => {
      const given = text();
      ok(isLargeJson(given));
      ok(isJsonObject(parseJson(given)));
    },
  );
}

Deno.test(
  skippable("parseJson reads 25 MiB like a push of a hundred thousand commits", NOT_SLOW),
  () => {
    const commit = (n: number) =>
      `{"id":"${
        n.toString(16).padStart(40, "a")
      }","distinct":true,"message":"Change number ${n}",` +
      `"author":{"name":"Mona","email":"mona@example.com"},"added":["src/${n}.ts"],"removed":[]}`;
    const value = parseJson(list(commit, 130_000)) as { a: unknown[] };
    equal(value.a.length, 130_000);
  },
);

Deno.test("large texts keep the digits of their numbers, and others stay numbers", () => {
  const text = padded(
    `{"a":[-9007199254740993,1e999,1.5,9e9,-1e-7,"1e999",0.12345678901234567890]}`,
  );
  const { a } = parseJson(text) as { a: unknown[] };
  equal(findRawNumber(a[0]), "-9007199254740993");
  equal(findRawNumber(a[1]), "1e999");
  equal(JSON.stringify(a.slice(2)), '[1.5,9000000000,-1e-7,"1e999",0.12345678901234568]');
});

Deno.test("a text that breaks off anywhere is refused, however large", () => {
  for (const end of ['"', '"\\', '"\\u003', "1", "-", '{"a"', '{"a":', "[1e", "\\"]) {
    throws(() => parseJson(`{"a":"${"x".repeat(70_000)}","b":${end}`), { code: "invalid" });
  }
});

Deno.test("what this program wrote is read without these limits", () => {
  const text = repeated("1e999", JSON_LIMITS.longNumbers + 1);
  ok(isJsonObject(parseOwnJson(text)));
});

/** What a check gives: its long numbers, or the message of its refusal. */
function resultOf(check: typeof checkJsonLimits, text: string, limits = JSON_LIMITS): unknown {
  try {
    return check(text, limits);
  } catch (error) {
    return (error as Error).message;
  }
}

/** So low that every second random text is beyond one of them. */
const LOW = {
  depth: 5,
  values: 24,
  names: 8,
  longNumbers: 3,
  longNumberCharacters: 60,
  alikeDigits: 2,
} as unknown as typeof JSON_LIMITS;

Deno.test("a check that jumps over strings agrees with one that reads them, on any text", () => {
  const random = new Random(1);
  const one = <Item>(items: readonly Item[]) => random.pick(items);
  const some = (item: () => string, most: number) =>
    Array.from({ length: random.between(0, most) }, item);
  const part = () =>
    one([
      ..."ab19[]{},:-. ",
      "é",
      "\u{1f600}",
      "\\\\",
      '\\"',
      "\\n",
      "\\u0031",
      "\\u0041",
      "\\u00",
      "65536",
    ]);
  const digits = () =>
    String(one([1, 7, 4096, 65_536, 131_072, 99_999_999_999]) * one([1, 1, 2, 3]));
  const string = () =>
    one([
      () => `"${some(part, 8).join("")}"`,
      () => `"${digits()}"`,
      () => `"${digits().replace(/./, (digit) => `\\u003${digit}`)}"`,
      () => '"name"',
    ])();
  const number = () =>
    one([
      "0",
      "-1.5",
      "9007199254740993",
      "1e999",
      "-1E-7",
      "12345678901234567.25",
      "1".repeat(40),
    ]);
  const value = (levels: number): string =>
    one([
      string,
      string,
      number,
      () => "true",
      () => levels === 0 ? "null" : `[${some(() => value(levels - 1), 5).join(", ")}]`,
      () =>
        levels === 0
          ? "{}"
          : `{${some(() => `${string()}${one(["", " \n"])}:${value(levels - 1)}`, 5).join()}}`,
    ])();
  const damage = (text: string) => {
    const at = random.between(0, text.length);
    return text.slice(0, at) + one(["", part(), string()]) +
      text.slice(at + one([0, 1, text.length]));
  };
  const seen = new Map<string, number>();
  for (let n = 0; n < 5000; n++) {
    const whole = `{"a":[${some(() => value(random.below(9)), 7).join()}]}`;
    const text = n % 3 === 0 ? damage(whole) : whole;
    const result = resultOf(checkJsonLimits, text, LOW);
    deepEqual(result, resultOf(checkEachString, text, LOW), text);
    const kind = typeof result === "string" ? result : "within";
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
  }
  // Each limit is met often, or the texts prove nothing.
  equal(seen.size, 7, [...seen.keys()].join());
  ok([...seen.values()].every((times) => times > 10), JSON.stringify([...seen]));
});

Deno.test("both agree at each limit and one above it", () => {
  const at: Readonly<Record<keyof typeof JSON_LIMITS, (count: number) => string>> = {
    depth: (count) => `{"]":"[{\\"[","a":${"[".repeat(count - 1)}${"]".repeat(count - 1)}}`,
    values: (count) => `[${"0,".repeat(count - 2)}0]`,
    names: (count) => `[${Array.from({ length: count }, (_, n) => `"n${n}"`).join()}]`,
    longNumbers: (count) => `[${Array.from({ length: count }, () => "1e999").join()}]`,
    longNumberCharacters: (count) => `["1e999",${"1".repeat(count)}]`,
    alikeDigits: (count) =>
      `[${Array.from({ length: count }, (_, n) => `"${n * 65_536}","x[","\\"${n}"`).join()}]`,
  };
  for (const [limit, text] of Object.entries(at)) {
    const most = LOW[limit as keyof typeof JSON_LIMITS];
    const limits = { ...JSON_LIMITS, [limit]: most };
    for (const [count, isWithin] of [[most, true], [most + 1, false]] as const) {
      for (const check of [checkJsonLimits, checkEachString]) {
        equal(
          typeof resultOf(check, text(count), limits) === "object",
          isWithin,
          `${limit} ${count}`,
        );
      }
    }
  }
});

Deno.test("many equal texts of digits are read one by one, and are one", () => {
  const text = repeated('"1"', JSON_LIMITS.alikeDigits + 1);
  deepEqual(checkJsonLimits(text), []);
});
