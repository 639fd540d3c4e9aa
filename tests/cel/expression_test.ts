/**
 * CEL expressions: the variables and their types. Every fault is a value at run time, and an
 * `invalid` with its column at compile time.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { compileExpression, scopeOf } from "../../src/cel/expression.ts";
import { isJsonObject, type JsonObject, parseOwnJson, toJson } from "../../src/base/json.ts";
import { AppError } from "../../src/base/errors.ts";

/** Evaluates over a payload given as JSON text, as the daemon does. */
function run(source: string, payload = "{}", others: JsonObject = {}) {
  return compileExpression(source).run(scopeOf({ payload: parseOwnJson(payload), ...others }));
}

interface ValueCase {
  readonly source: string;
  readonly payload?: string;
  readonly others?: JsonObject;
  readonly value: unknown;
}

const VALUES: readonly ValueCase[] = [
  // Top-level fields, of any type
  { source: "payload_s", payload: '{"s":"x"}', value: "x" },
  { source: "payload_s", payload: '{"s":""}', value: "" },
  { source: "payload_t", payload: '{"t":false}', value: false },
  { source: "payload_n", payload: '{"n":null}', value: null },
  { source: "payload_n == null", payload: '{"n":null}', value: true },
  { source: "payload_l", payload: '{"l":[1,"a",null]}', value: [1n, "a", null] },
  { source: "payload_l[1]", payload: '{"l":[1,"a"]}', value: "a" },
  { source: "payload_o.a.b[0].c", payload: '{"o":{"a":{"b":[{"c":"deep"}]}}}', value: "deep" },
  { source: "payload_o", payload: '{"o":{"a":{"b":[]}}}', value: { a: { b: [] } } },
  // The whole object, and fields that are no identifiers
  { source: "payload.a == payload_a", payload: '{"a":"x"}', value: true },
  { source: 'payload["x-y"]', payload: '{"x-y":"v"}', value: "v" },
  { source: 'payload[""]', payload: '{"":"v"}', value: "v" },
  { source: 'payload["é 😀"]', payload: '{"é 😀":"v"}', value: "v" },
  { source: "payload_1a", payload: '{"1a":"v"}', value: "v" },
  { source: "payload__a", payload: '{"_a":"v"}', value: "v" },
  { source: "payload_if", payload: '{"if":"v"}', value: "v" },
  { source: "payload_payload_x", payload: '{"payload_x":"v"}', value: "v" },
  { source: "size(payload)", payload: '{"a":1,"b":2}', value: 2n },
  { source: "has(payload.a)", payload: '{"a":false}', value: true },
  { source: "has(payload.b)", payload: '{"a":null}', value: false },
  { source: '"a" in payload', payload: '{"a":1}', value: true },
  { source: '"toString" in payload', payload: "{}", value: false },
  { source: "has(payload.toString)", payload: "{}", value: false },
  // Names that JavaScript objects have by themselves
  { source: "payload.__proto__.x", payload: '{"__proto__":{"x":"own"}}', value: "own" },
  { source: "payload___proto__.x", payload: '{"__proto__":{"x":"own"}}', value: "own" },
  { source: "payload_constructor", payload: '{"constructor":"own"}', value: "own" },
  // Own variables come first
  { source: "payload_a", payload: '{"a":"field"}', others: { payload_a: "own" }, value: "own" },
  { source: 'headers["x-event"]', others: { headers: { "x-event": "push" } }, value: "push" },
  { source: "trigger.name", others: { trigger: { name: "t" } }, value: "t" },
  // Numbers: whole ones are int, all their digits kept
  { source: "payload_n + 1", payload: '{"n":1}', value: 2n },
  { source: "payload_n + 1", payload: '{"n":1.0}', value: 2n },
  { source: "payload_n + 1", payload: '{"n":1e3}', value: 1001n },
  { source: "payload_n + 0.25", payload: '{"n":1.5}', value: 1.75 },
  { source: "payload_n == 1.0", payload: '{"n":1}', value: true },
  { source: "payload_n < 1.5", payload: '{"n":1}', value: true },
  { source: "payload_n / 2", payload: '{"n":7}', value: 3n },
  { source: "payload_n", payload: '{"n":9007199254740991}', value: 9007199254740991n },
  { source: "payload_n", payload: '{"n":9007199254740993}', value: 9007199254740993n },
  { source: "payload_n + 1", payload: '{"n":9007199254740993}', value: 9007199254740994n },
  { source: "payload_n == 9007199254740993", payload: '{"n":9007199254740993}', value: true },
  { source: "payload_n == 9007199254740992", payload: '{"n":9007199254740993}', value: false },
  { source: "string(payload_n)", payload: '{"n":-9007199254740993}', value: "-9007199254740993" },
  { source: "payload_n", payload: '{"n":9223372036854775807}', value: 9223372036854775807n },
  { source: "payload_n", payload: '{"n":-9223372036854775808}', value: -9223372036854775808n },
  { source: "payload_n", payload: '{"n":18446744073709551615}', value: 18446744073709551615n },
  { source: "payload_n > 0", payload: '{"n":18446744073709551615}', value: true },
  { source: "payload_n > 1.0", payload: '{"n":18446744073709551616}', value: true },
  { source: "payload_n > 1.0", payload: '{"n":1e400}', value: true },
  { source: "payload_l", payload: '{"l":[9007199254740993]}', value: [9007199254740993n] },
  // Faults on one side of || and && do not spoil a clear answer
  { source: "payload_t || payload_missing", payload: '{"t":true}', value: true },
  { source: "payload_missing || payload_t", payload: '{"t":true}', value: true },
  { source: "payload_f && payload_missing", payload: '{"f":false}', value: false },
  // Results in JSON's terms
  { source: "[1, 2u, 'a', null, {'k': [true]}]", value: [1n, 2n, "a", null, { k: [true] }] },
  { source: "{1: 'a', true: 'b', 'c': 2}", value: { 1: "a", true: "b", c: 2n } },
  { source: "[1, 2, 3].exists(x, x > payload_n)", payload: '{"n":2}', value: true },
  { source: 'payload_s.matches("^v[0-9]+$")', payload: '{"s":"v12"}', value: true },
  { source: 'payload_s.startsWith("refs/")', payload: '{"s":"refs/heads"}', value: true },
];

for (const { source, payload, others, value } of VALUES) {
  Deno.test(`Expression.run ${source} over ${payload} ${toJson(others) ?? ""}`, () => {
    deepEqual(run(source, payload, others), { ok: true, value });
  });
}

interface FaultCase {
  readonly source: string;
  readonly payload?: string;
  readonly error: RegExp;
}

const FAULTS: readonly FaultCase[] = [
  { source: "payload_missing", error: /no such variable: payload_missing/ },
  { source: 'payload_a == "x" || nope', error: /no such variable: payload_a, nope/ },
  { source: "payload_x_y", payload: '{"x-y":1}', error: /no such variable: payload_x_y/ },
  { source: "payload_", payload: "{}", error: /no such variable/ },
  { source: "payload_toString", error: /no such variable/ },
  { source: "payload_constructor", error: /no such variable/ },
  { source: "payload___proto__", error: /no such variable/ },
  { source: "payload_hasOwnProperty", error: /no such variable/ },
  { source: "payload_s.x", payload: '{"s":"x"}', error: /x/ },
  { source: "payload_n.x", payload: '{"n":null}', error: /./ },
  { source: "payload_l[5]", payload: '{"l":[1]}', error: /./ },
  { source: "payload.missing", error: /missing/ },
  { source: "payload.toString", error: /toString/ },
  { source: "payload.constructor", error: /constructor/ },
  { source: "payload_a", payload: "[1]", error: /no such variable/ },
  { source: "payload_a", payload: "null", error: /no such variable/ },
  { source: "payload_length", payload: '"text"', error: /no such variable/ },
  { source: "payload_rawJSON", payload: "9007199254740993", error: /no such variable/ },
  { source: "payload_n + 1", payload: '{"n":"1"}', error: /overload/ },
  { source: "payload_n + 1", payload: '{"n":1.5}', error: /overload/ },
  { source: "payload_n + 1", payload: '{"n":9223372036854775807}', error: /overflow/ },
  { source: "1 / payload_n", payload: '{"n":0}', error: /zero/ },
  { source: "payload_s && true", payload: '{"s":"x"}', error: /expected bool/ },
  { source: "!payload_s", payload: '{"s":"true"}', error: /overload/ },
  { source: "payload_s ? 1 : 2", payload: '{"s":"x"}', error: /overload/ },
  { source: 'payload_s.matches("(")', payload: '{"s":"x"}', error: /regexp/ },
  { source: 'int("x")', error: /./ },
  { source: "unknown(1)", error: /unknown/ },
  { source: "payload_s.unknown()", payload: '{"s":"x"}', error: /unknown/ },
  { source: "Foo{a: 1}", error: /Foo/ },
  { source: "toString", error: /./ },
  { source: "constructor.name", error: /./ },
  { source: "__proto__", error: /./ },
];

for (const { source, payload, error } of FAULTS) {
  Deno.test(`Expression.run ${source} over ${payload} is an error, not a throw`, () => {
    const result = run(source, payload);
    equal(result.ok, false);
    match(result.ok ? "" : result.error, error);
  });
}

interface CompileCase {
  readonly source: string;
  readonly message: RegExp;
}

const UNCOMPILABLE: readonly CompileCase[] = [
  { source: "", message: /^Does not compile at column 1: it ends here, where a value was/ },
  { source: "  ", message: /^Does not compile at column 3: it ends here/ },
  { source: "payload_a == && 1", message: /column 11: no complete expression follows "=="$/ },
  { source: 'payload_a = "x"', message: /^Does not compile at column 11: write "==" to compare$/ },
  { source: "payload_a === 1", message: /column 11: write "==" instead of "==="$/ },
  { source: "payload_a <> 1", message: /column 11: write "!=" instead of "<>"$/ },
  { source: "payload_a =~ 'x'", message: /column 11: write VALUE\.matches\("PATTERN"\)$/ },
  { source: "payload_a and payload_b", message: /^Does not compile at column 11: write "&&"$/ },
  { source: "payload_a | payload_b", message: /^Does not compile at column 11: write "\|\|"$/ },
  { source: "payload_a && not payload_b", message: /^Does not compile at column 18: write "!"$/ },
  { source: "{{ payload_a }}", message: /: leave out "\{\{" and "\}\}", all of it is an expr/ },
  { source: "${{ payload_a }}", message: /^Does not compile at column 1: leave out/ },
  { source: "payload_a == “x”", message: /straight quotes/ },
  {
    source: "payload.list[*].name",
    message: /column 13: the expression that begins with "\[" is not complete$/,
  },
  { source: "(payload_a", message: /^Does not compile at column 11: it ends here, where '\)' was/ },
  { source: 'payload_a == "x', message: /^Does not compile at column 11: no complete expression/ },
  { source: "payload_a ==\n  'x' +", message: /^Does not compile at line 2, column 7: .* "\+"$/ },
  { source: "if", message: /^Does not compile at column 1: "if" is reserved/ },
  { source: "payload.in", message: /^Does not compile at column 9: "in" .* VALUE\["in"\]$/ },
  {
    source: "payload.",
    message: /^Does not compile at column 8: the expression that begins with "\." is not/,
  },
  { source: "a b", message: /^Does not compile at column 3: found "b", where an operator or the/ },
  { source: "1".repeat(8193), message: /longer than 8192/ },
  { source: "(".repeat(4000) + "1" + ")".repeat(4000), message: /^Does not compile/ },
  { source: "[".repeat(8000), message: /^Does not compile/ },
];

for (const { source, message } of UNCOMPILABLE) {
  Deno.test(`compileExpression refuses ${JSON.stringify(source.slice(0, 40))}`, () => {
    throws(() => compileExpression(source), { name: "AppError", code: "invalid", message });
  });
}

Deno.test("compileExpression takes 8192 characters", () => {
  deepEqual(compileExpression("1".padEnd(8192)).run(scopeOf({})), { ok: true, value: 1n });
});

/** Long enough to overflow a recursive walk. Each compiles, or is refused as `invalid`. */
const LONG: readonly [string, string][] = [
  ["a sum of 4,000 terms", Array(4000).fill("1").join("+")],
  ["2,700 indexes", "a" + "[0]".repeat(2700)],
  ["4,000 selections", "a" + ".b".repeat(4000)],
  ["8,000 negations", "!".repeat(8000) + "true"],
  ["2,000 alternatives", Array(2000).fill("a").join("||")],
  ["1,000 conditionals", "true?1:".repeat(1000) + "1"],
  ["1,300 calls", "size(".repeat(1300) + "a" + ")".repeat(1300)],
  ["500 nested loops", "[1].all(x,".repeat(500) + "true" + ")".repeat(500)],
];

for (const [what, source] of LONG) {
  Deno.test(`compileExpression compiles or refuses ${what}, and run gives a result`, () => {
    ok(source.length <= 8192);
    let outcome: unknown;
    try {
      outcome = compileExpression(source).run(scopeOf({ payload: {} })).ok;
    } catch (error) {
      outcome = error instanceof AppError ? error.code : error;
    }
    ok([true, false, "invalid"].includes(outcome as boolean), `${outcome}`);
  });
}

Deno.test("Expression.variables names free variables only", () => {
  const named = (source: string) => [...compileExpression(source).variables].sort();
  deepEqual(named("payload_a == b.c && d[e] > f(g)"), ["b", "d", "e", "g", "payload_a"]);
  deepEqual(named("xs.exists(x, x == y)"), ["xs", "y"]);
  deepEqual(named("x.exists(x, x == 1) || x"), ["x"]);
  deepEqual(named("[a, {b: c}].map(i, {i: d})"), ["a", "b", "c", "d"]);
  deepEqual(named("has(payload.a.b) ? h : 'x'"), ["h", "payload"]);
  deepEqual(named("1 + 2"), []);
});

Deno.test("Expression.cost tells loops and searches from the rest", () => {
  const cost = (source: string) => compileExpression(source).cost;
  equal(cost('payload_a == "x" && payload.b[0] > 1 || size(c) == 2'), "cheap");
  equal(cost('payload_a.startsWith("x")'), "cheap");
  equal(cost('payload_a.matches("x")'), "small");
  equal(cost('matches(payload_a, "x")'), "small");
  equal(cost('payload_a.contains("x")'), "small");
  equal(cost('[payload_a.contains("x")]'), "small");
  equal(cost('{"k": f(payload_a.matches("x"))}'), "small");
  for (const macro of ["all", "exists", "exists_one", "filter", "map"]) {
    equal(cost(`true && [payload_a].${macro}(x, x)`), "deadline");
  }
  equal(cost('[1].exists(x, "a".matches("b"))'), "deadline");
});

const LEVELS = 500_000;
const DEEP = `{"x":1,"deep":${"[".repeat(LEVELS)}${"]".repeat(LEVELS)}}`;

Deno.test("Expression.run gives a result for a payload nested 500,000 deep", () => {
  const payload = parseOwnJson(DEEP);
  const result = (source: string) => compileExpression(source).run(scopeOf({ payload }));
  equal(result("payload_deep == 1").ok, false);
  deepEqual(result("payload.x"), { ok: true, value: 1n });
  deepEqual(result("size(payload)"), { ok: true, value: 2n });
});

Deno.test("Expression.run looks only at the fields it names", () => {
  const payload = parseOwnJson(DEEP);
  ok(isJsonObject(payload));
  const result = compileExpression("payload_x + 1").run(scopeOf({ payload }));
  deepEqual(result, { ok: true, value: 2n });
});

Deno.test("Expression.run changes nothing in the payload", () => {
  const text = '{"a":[1,{"b":9007199254740993}],"__proto__":{"c":null}}';
  const payload = parseOwnJson(text);
  compileExpression("payload.a[1].b + payload_a[0]").run(scopeOf({ payload }));
  equal(toJson(payload), text);
});

Deno.test("a text is compiled once, until many others have come", () => {
  const source = 'payload_action == "opened"';
  const first = compileExpression(source);
  ok(compileExpression(source) === first);
  for (let n = 0; n < 300; n++) compileExpression(`size("${n}${"x".repeat(1000)}") > 0`);
  ok(compileExpression(source) !== first);
  ok(compileExpression(source) === compileExpression(source));
});

Deno.test("a text that does not compile fails each time", () => {
  for (let n = 0; n < 2; n++) throws(() => compileExpression("payload ="), { code: "invalid" });
});
