/**
 * JSON: digits of large numbers survive, hostile text is refused with one code, and no key of a
 * document is ever taken for something of ours.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal, throws } from "node:assert/strict";
import { findRawNumber, isJsonObject, parseJson, toJson } from "../../src/base/json.ts";
import { cpuMs } from "../helpers/cpu_time.ts";

/** Texts that come out as they went in. */
const EXACT = [
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "-9007199254740993",
  "9223372036854775807",
  "9223372036854775808",
  "18446744073709551615",
  "18446744073709551616",
  "-9223372036854775809",
  "123456789012345678901234567890",
  "1e400",
  "-1e400",
  "1E22",
  "12345678901234567.5",
  "0.5",
  "-1.25",
  "1e-7",
  '"9007199254740993"',
  '"12345678901234567890 1e5"',
  "null",
  "true",
  "[]",
  "{}",
  '[1,9007199254740993,{"a":[9007199254740993]}]',
  '{"":1,"a b":2,"__proto__":{"n":9007199254740993},"constructor":3}',
  '{"\\u2028":"\\u0000"}'.replace("\\u2028", "\u2028"),
];

for (const text of EXACT) {
  Deno.test(`parseJson and toJson keep ${text} as it stood`, () => {
    equal(toJson(parseJson(text)), text);
    equal(toJson(parseJson(`{"a":[${text}]}`)), `{"a":[${text}]}`);
  });
}

/** Numbers a double holds exactly are plain numbers, however they are written. */
const PLAIN: readonly [string, number][] = [
  ["1e3", 1000],
  ["1.0", 1],
  ["1E+2", 100],
  ["0.1e1", 1],
  ["9007199254740991", 9007199254740991],
  ["-9007199254740991", -9007199254740991],
  ["1234567890123456", 1234567890123456],
];

for (const [text, value] of PLAIN) {
  Deno.test(`parseJson reads ${text} as the number ${value}`, () => {
    equal(parseJson(text), value);
    equal(findRawNumber(parseJson(text)), undefined);
  });
}

/** Not JSON; each is refused with `invalid`. */
const REFUSED: readonly [string, string][] = [
  ["nothing", ""],
  ["a blank", " "],
  ["an open brace", "{"],
  ["a byte order mark", "\uFEFF{}"],
  ["a trailing comma", "[1,]"],
  ["single quotes", "{'a':1}"],
  ["a bare key", "{a:1}"],
  ["NaN", "NaN"],
  ["Infinity", "-Infinity"],
  ["hexadecimal", "0x10"],
  ["a leading zero", "01234567890123456789"],
  ["a leading plus", "+1"],
  ["a lone point", "1."],
  ["an exponent without digits", "1e"],
  ["two documents", "{}{}"],
  ["a comment", "{} // x"],
  ["a raw line break in a string", '"a\nb"'],
  ["a raw NUL", "\0"],
  ["undefined", "undefined"],
  ["60,000 open brackets", "[".repeat(60_000)],
  ["60,000 open brackets after a large number", "[12345678901234567890," + "[".repeat(60_000)],
];

for (const [what, text] of REFUSED) {
  Deno.test(`parseJson refuses ${what}`, () => {
    const message = text.trim() === "" ? "Empty, where JSON is expected" : "Not valid JSON";
    throws(() => parseJson(text), { name: "AppError", code: "invalid", message });
  });
}

Deno.test("parseJson does not overflow on 30,000 levels with a large number", () => {
  const value = parseJson(`[1e30,${"[".repeat(30_000)}${"]".repeat(30_000)}]`);
  ok(Array.isArray(value));
  equal(findRawNumber(value[0]), "1e30");
});

Deno.test("parseJson does not overflow on a string of 5 million escapes beside a large number", () => {
  const value = parseJson(`{"s":"${'\\\\\\"'.repeat(2_500_000)}","n":9007199254740993}`);
  ok(isJsonObject(value));
  equal((value["s"] as string).length, 5_000_000);
  equal(findRawNumber(value["n"]), "9007199254740993");
});

/** Large numbers beside strings that look like one, or like the end of a string. */
const BESIDE: readonly [text: string, written: string][] = [
  ['[ -9007199254740993 , "x 9007199254740993"]', '[-9007199254740993,"x 9007199254740993"]'],
  ['{"a\\"": 1e99,\n"b\\\\":\t-1E99 }', '{"a\\"":1e99,"b\\\\":-1E99}'],
  [" 9007199254740993\n", "9007199254740993"],
];

for (const [text, written] of BESIDE) {
  Deno.test(`parseJson tells numbers from strings in ${JSON.stringify(text)}`, () => {
    equal(toJson(parseJson(text)), written);
  });
}

Deno.test("parseJson keeps the cause and never shows the text", () => {
  throws(() => parseJson('{"token":"s3cr3t",}'), (error: Error) => {
    ok(error.cause instanceof SyntaxError);
    equal(error.message.includes("s3cr3t"), false);
    return true;
  });
});

for (const text of ['{"__proto__":{"x":1}}', '{"__proto__":{"x":1},"n":1e1}']) {
  Deno.test(`parseJson makes __proto__ an own key and no prototype: ${text}`, () => {
    const value = parseJson(text) as Record<string, unknown>;
    ok(Object.hasOwn(value, "__proto__"));
    equal(Object.getPrototypeOf(value), Object.prototype);
    equal((value as { x?: unknown }).x, undefined);
  });
}

Deno.test("parseJson reads 2 MB of numbers with one exponent in no time to speak of", () => {
  const text = `{"x":1e1,"a":[${"1,".repeat(1_000_000)}1]}`;
  const start = cpuMs();
  parseJson(text);
  const took = cpuMs() - start;
  ok(took < 2000, `took ${took.toFixed(0)} ms, in which nothing else runs`);
});

Deno.test("findRawNumber takes no object for a kept number", () => {
  const forged: readonly unknown[] = [
    parseJson('{"rawJSON":"1"}'),
    { rawJSON: "9007199254740993" },
    Object.freeze(Object.assign(Object.create(null), { rawJSON: "1" })),
    "9007199254740993",
    9007199254740992,
    null,
    undefined,
    [],
  ];
  deepEqual(forged.map(findRawNumber), forged.map(() => undefined));
  equal(findRawNumber(parseJson("9007199254740993")), "9007199254740993");
});

Deno.test("toJson writes bigints with all their digits", () => {
  equal(
    toJson({ a: 9007199254740993n, b: [-1n], c: "1n" }),
    '{"a":9007199254740993,"b":[-1],"c":"1n"}',
  );
});

Deno.test("isJsonObject is true for objects only", () => {
  deepEqual([{}, { a: 1 }, parseJson("{}")].map(isJsonObject), [true, true, true]);
  const others = [null, undefined, [], "", "{}", 1, true, 1n, parseJson("9007199254740993")];
  deepEqual(others.map(isJsonObject), others.map(() => false));
});
