/**
 * Bytes and their spellings: nothing is guessed, everything inexact is `undefined`.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal, throws } from "node:assert/strict";
import {
  concatBytes,
  equalBytes,
  findBase64,
  findHex,
  findText,
  latin1Bytes,
  latin1Text,
  setHex,
  sha256Hex,
  toBase64,
  toHex,
  utf8,
} from "../../src/base/bytes.ts";

const bytes = (...values: number[]) => new Uint8Array(values);
const ALL = Uint8Array.from({ length: 256 }, (_, i) => i);

const HEX: readonly [string, Uint8Array | undefined][] = [
  ["", bytes()],
  ["00", bytes(0)],
  ["fF", bytes(255)],
  ["00ff10", bytes(0, 255, 16)],
  ["0", undefined],
  ["abc", undefined],
  ["zz", undefined],
  ["zz11", undefined],
  ["11zz", undefined],
  ["1g", undefined],
  ["0x", undefined],
  ["0x11", undefined],
  [" 11", undefined],
  ["11 ", undefined],
  ["11\n", undefined],
  ["1 1 ", undefined],
  ["-1", undefined],
  ["1e", bytes(0x1e)],
  ["１１", undefined],
];

for (const [text, expected] of HEX) {
  Deno.test(`findHex of ${JSON.stringify(text)}`, () => deepEqual(findHex(text), expected));
}

Deno.test("setHex writes all bytes of a text, or throws", () => {
  const into = bytes(1, 2, 3);
  setHex(into, "fF00");
  deepEqual(into, bytes(255, 0, 3));
  for (const wrong of ["0", "zz", "00 ", "00112233"]) throws(() => setHex(into, wrong), wrong);
});

const BASE64: readonly [string, Uint8Array | undefined][] = [
  ["", bytes()],
  ["YQ==", bytes(97)],
  ["YWI=", bytes(97, 98)],
  ["YWJj", bytes(97, 98, 99)],
  ["+/+/", bytes(0xfb, 0xff, 0xbf)],
  ["YQ", undefined],
  ["YQ=", undefined],
  ["YQ===", undefined],
  ["=", undefined],
  ["==", undefined],
  ["====", undefined],
  ["Y===", undefined],
  ["YQ==YQ==", undefined],
  ["YW=j", undefined],
  ["-_-_", undefined],
  ["YQ==\n", undefined],
  ["YQ= =", undefined],
  [" YQ==", undefined],
  ["YW\nJj", undefined],
];

for (const [text, expected] of BASE64) {
  Deno.test(`findBase64 of ${JSON.stringify(text)}`, () => deepEqual(findBase64(text), expected));
}

for (const text of ["YR==", "YWJ=", "YX=="]) {
  Deno.test(`findBase64 refuses ${text}, whose unused bits are not zero`, () => {
    equal(findBase64(text), undefined);
  });
}

const TEXTS: readonly [string, Uint8Array, string | undefined][] = [
  ["nothing", bytes(), ""],
  ["ASCII", bytes(0x61), "a"],
  ["NUL", bytes(0), "\0"],
  ["a byte order mark, kept", bytes(0xef, 0xbb, 0xbf, 0x61), "\uFEFFa"],
  ["four bytes", bytes(0xf0, 0x9f, 0x98, 0x80), "😀"],
  ["a lone high byte", bytes(0xff), undefined],
  ["a cut sequence", bytes(0xf0, 0x9f, 0x98), undefined],
  ["an overlong form", bytes(0xc0, 0x80), undefined],
  ["an encoded surrogate", bytes(0xed, 0xa0, 0x80), undefined],
  ["a lone continuation", bytes(0x61, 0x80), undefined],
];

for (const [what, input, expected] of TEXTS) {
  Deno.test(`findText of ${what}`, () => equal(findText(input), expected));
}

for (const size of [0, 1, 2, 3, 255, 256, 8191, 8192, 8193, 300_000]) {
  Deno.test(`spellings of ${size} bytes go there and back`, () => {
    const data = Uint8Array.from({ length: size }, (_, i) => (i * 31) % 256);
    deepEqual(findHex(toHex(data)), data);
    deepEqual(findBase64(toBase64(data)), data);
    deepEqual(latin1Bytes(latin1Text(data)), data);
  });
}

Deno.test("toHex writes two lower-case digits for every byte", () => {
  equal(toHex(ALL.subarray(8, 18)), "08090a0b0c0d0e0f1011");
  equal(toHex(ALL).length, 512);
});

Deno.test("findText does not see what lies around a view", () => {
  equal(findText(bytes(0xff, 0x61, 0xff).subarray(1, 2)), "a");
});

Deno.test("equalBytes compares content and never throws on unequal lengths", () => {
  const cases: readonly [Uint8Array, Uint8Array, boolean][] = [
    [bytes(), bytes(), true],
    [bytes(1, 2), bytes(1, 2), true],
    [bytes(1, 2), bytes(1, 3), false],
    [bytes(1, 2), bytes(1), false],
    [bytes(), bytes(0), false],
    [bytes(9, 1, 2).subarray(1), bytes(1, 2), true],
  ];
  deepEqual(cases.map(([a, b]) => equalBytes(a, b)), cases.map(([, , expected]) => expected));
});

Deno.test("concatBytes joins in order", () => {
  deepEqual(concatBytes(), bytes());
  deepEqual(concatBytes(bytes(1), bytes(), bytes(2, 3)), bytes(1, 2, 3));
});

Deno.test("utf8 and sha256Hex agree with published values", () => {
  deepEqual(utf8("é"), bytes(0xc3, 0xa9));
  const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  equal(sha256Hex("abc"), abc);
  equal(sha256Hex(bytes(97, 98, 99)), abc);
  equal(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});
