/**
 * Findings about expressions that compile: unknown names are found, and known names are not.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { compileExpression, scopeOf } from "../../src/cel/expression.ts";
import { findFaults, FUNCTIONS } from "../../src/cel/names.ts";
import { cpuMs } from "../helpers/cpu_time.ts";

const KNOWN = ["payload", "headers"];

function faultsOf(source: string): string[] {
  compileExpression(source);
  return findFaults(source, KNOWN).map(({ place, message }) => `${place}: ${message}`);
}

const RIGHT: readonly string[] = [
  "payload.a == payload_b && headers['x'] != ''",
  "payload_anything.at.all",
  ".payload.a == 1",
  "type(payload.n) == int || type(payload.n) in [uint, double, string, bytes, bool, list, map]",
  "type(payload.n) == null_type && type(int) == type",
  "type(payload.n) == google.protobuf.Timestamp",
  "google.protobuf.Duration{seconds: 1} == duration('1s')",
  "payload.l.all(x, x.exists(y, y == x && payload.l.exists_one(z, z == y)))",
  "payload.l.map(x, x > 1, x + 1).filter(payload, payload > 1)",
  "[1].existsOne(headers, headers == 1)",
  "has(payload.a.b) ? size(payload.a) : payload.a.size()",
  "payload.s.matches('^[0-9]{4}-[0-9]{2}$') || matches(payload.s, payload.p)",
  "payload.s.substring(1) + payload.s.substring(1, 2)",
  "strings.quote(payload.s) == '' && payload.strings.quote == 1",
  "payload.matches == 1 && payload.nosuch.size == 2",
  "-payload.n % 2 == 1 && !(payload.n in [1, 2])",
  "timestamp(payload.at).getHours('Asia/Tokyo') < 9 && timestamp(payload.at).getHours() > 1",
  "'nosuch(1)' == payload.s",
  "dyn(payload.x) == bytes('a')",
  "default(payload?.a.?b, 1).orValue(2) == fromJson(payload.c)?.d",
];

for (const source of RIGHT) {
  Deno.test(`findFaults has nothing to say of ${source}`, () => deepEqual(faultsOf(source), []));
}

const WRONG: readonly [source: string, faults: readonly string[]][] = [
  ["payload?.a == payload.nosuch()", ['column 23: there is no function "nosuch"']],
  ["foo == payload?.a", ['column 1: there is no variable "foo"']],
  ["default(payload.a)", ['column 1: "default" takes 2 arguments, found 1']],
  ["payload.a.default(1)", ['column 11: "default" is written default(…)']],
  ["nosuch(1)", ['column 1: there is no function "nosuch"']],
  ["payload.ref.nosuch()", ['column 13: there is no function "nosuch"']],
  ["payload.nosuch.nosuch (1)", ['column 16: there is no function "nosuch"']],
  ["payload\n  . nosuch()", ['line 2, column 5: there is no function "nosuch"']],
  ["'😀' + nosuch()", ['column 8: there is no function "nosuch"']],
  ["[1].map(x, nosuch(x))", ['column 12: there is no function "nosuch"']],
  ["{'a': nosuch()}.a", ['column 7: there is no function "nosuch"']],
  ["payload[nosuch()]", ['column 9: there is no function "nosuch"']],
  ["toString() + constructor()", [
    'column 1: there is no function "toString"',
    'column 14: there is no function "constructor"',
  ]],
  ["payload.__proto__()", ['column 9: there is no function "__proto__"']],
  ["foo == 1", ['column 1: there is no variable "foo"']],
  ["foo.bar[0].baz == foo.x", [
    'column 1: there is no variable "foo"',
    'column 19: there is no variable "foo"',
  ]],
  ["[1].exists(x, x == 1) && x == 1", ['column 26: there is no variable "x"']],
  ["x.exists(x, x == 1)", ['column 1: there is no variable "x"']],
  ["foo.startsWith(bar)", [
    'column 1: there is no variable "foo"',
    'column 16: there is no variable "bar"',
  ]],
  ["__proto__ == 1", ['column 1: there is no variable "__proto__"']],
  ["payloads == headers", ['column 1: there is no variable "payloads"']],
  ["payloadX == 1", ['column 1: there is no variable "payloadX"']],
  ["int.x == 1", ['column 1: there is no variable "int"']],
  ["google == 1", ['column 1: there is no variable "google"']],
  ["google.protobuf.Nosuch == 1", ['column 1: there is no variable "google"']],
  ["type(1) == timestamp", ['column 12: there is no variable "timestamp"']],
  ["Nosuch{a: 1} == 1", ['column 1: there is no type "Nosuch"']],
  ["lowerAscii(payload.s)", ['column 1: "lowerAscii" is written VALUE.lowerAscii(…)']],
  ["payload.n.int()", ['column 11: "int" is written int(…)']],
  ["payload.s.quote()", ['column 11: there is no function "quote"']],
  ["payload.s.substring()", ['column 11: "substring" takes 1 or 2 arguments, found 0']],
  ["payload.s.lowerAscii(1)", ['column 11: "lowerAscii" takes 0 arguments, found 1']],
  ["size()", ['column 1: "size" takes 1 argument, found 0']],
  ["has(payload)", ['column 1: "has" is written has(VALUE.field)']],
  ["has(payload['a'])", ['column 1: "has" is written has(VALUE.field)']],
  ["payload.l.map(x)", [
    'column 11: "map" is written LIST.map(x, VALUE)',
    'column 15: there is no variable "x"',
  ]],
  ["payload.l.all(1, true)", ['column 11: "all" is written LIST.all(x, CONDITION)']],
  ["payload.s.matches('(')", [
    "column 11: the pattern does not compile: error parsing regexp: missing closing ): `(`",
  ]],
  ["payload.s.matches('(?=a)')", [
    "column 11: the pattern does not compile: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
  ]],
  ["matches(payload.s, 'a{2,1}')", [
    "column 1: the pattern does not compile: error parsing regexp: invalid repeat count: `{2,1}`",
  ]],
];

for (const [source, faults] of WRONG) {
  Deno.test(`findFaults of ${JSON.stringify(source)}`, () => deepEqual(faultsOf(source), faults));
}

Deno.test("findFaults knows every function by the name it lists", () => {
  for (const name of FUNCTIONS) {
    deepEqual(
      faultsOf(`${name}(1)`).filter(
        (fault) => fault.includes("there is no function"),
      ),
      [],
    );
  }
});

Deno.test("a pattern that can unfold to millions of parts is not tried on apply", () => {
  const source = `payload.s.matches("${"(a{0,1000})".repeat(500)}(")`;
  const before = cpuMs();
  deepEqual(faultsOf(source), []);
  const tookMs = cpuMs() - before;
  equal(tookMs < 2000, true, `it took ${tookMs.toFixed(0)} ms`); // compiling it takes longer
});

Deno.test("what names nothing that exists still compiles and fails when it runs, as stored ones must", () => {
  for (const [source] of WRONG) {
    equal(compileExpression(source).run(scopeOf({ payload: {}, headers: {} })).ok, false, source);
  }
});
