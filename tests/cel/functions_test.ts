/**
 * The functions of expressions beside the library's own, and the corrections of the library: null
 * fields exist, timestamps take seconds, texts count characters, errors stay errors, and texts have
 * a largest size.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type JsonObject, parseJson } from "../../src/base/json.ts";
import { createEvaluator } from "../../src/cel/evaluator.ts";
import { compileExpression, scopeOf } from "../../src/cel/expression.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

/** Payload of every case here. */
const PAYLOAD = `{
  "nul": null, "no": false, "zero": 0, "empty": "", "list": [1, null], "o": {"on": null},
  "s": "crème 🍮 brûlée", "wide": "a😀b😀c", "half": "\\ud83d", "n": 1700000000, "keys": {"1": "one"}
}`;

function run(source: string) {
  return compileExpression(source).run(scopeOf({ payload: parseJson(PAYLOAD) }));
}

const VALUES: readonly [source: string, value: unknown][] = [
  // A field that exists is present with any value
  ["has(payload.nul)", true],
  ["has(payload.no)", true],
  ["has(payload.zero)", true],
  ["has(payload.empty)", true],
  ["has(payload.gone)", false],
  ["has(payload.o.on)", true],
  ["has(payload.o.on)", true],
  ["has(payload.o.out)", false],
  ["has({'a': null}.a)", true],
  ["has({'a': 1}.b)", false],
  ['"nul" in payload', true],
  ['"gone" in payload', false],
  ['"on" in payload_o', true],
  ['"on" in payload.o && payload.o["on"] == null', true],
  ["'a' in {'a': null}", true],
  ["1 in {1: null}", true],
  ["1u in {1: null}", true],
  ["1.5 in {1: null}", false],
  ["null in payload.list", true],
  ["2 in payload.list", false],
  ['payload.exists(key, key == "nul")', true],
  ["payload.o.all(key, has(payload.o.on))", true],
  // Optional fields
  ["payload?.gone", null],
  ["payload?.o", { on: null }],
  ["payload?.o.gone.deeper", null],
  ["payload.?o.?on", null],
  ["payload.gone?.a", null],
  ["payload?.gone.startsWith('x')", null],
  ["payload?.list[7].a", null],
  ["payload?.keys['1']", "one"],
  ["payload.list.exists(x, x == payload?.gone)", true],
  ["[{'a': 1}, {}].map(x, x?.a)", [1n, null]],
  ["[{'a': 1}, {}].exists(x, default(x.a, 0) == 1)", true],
  ["has(payload?.gone.a)", false],
  ["has(payload?.o.on)", true],
  ["payload.no ? '?.x' : r'.?\\'", ".?\\"],
  ["payload.no ?.5 : 1", 1n],
  ["payload?.no // ?.x\n ? 1 : 2", 2n],
  ["default(payload.s, 1) == payload.s", true],
  ["default(payload.gone, 1)", 1n],
  ["default(payload.gone.deeper[3]['a'].b, 1)", 1n],
  ["default(payload_gone, 1)", 1n],
  ["default(payload.nul, 1)", 1n],
  ["default(payload.zero, 1)", 0n],
  ["default(payload.no, true)", false],
  ["default(payload.empty, 'x')", ""],
  ["default(payload.gone + 1, 7)", 7n],
  ["default(int(payload.gone), 7)", 7n],
  ["default(payload[payload.gone], 7)", 7n],
  ["default(payload.gone == 1, true)", true],
  ["default(strings.quote(payload.gone), 'x')", "x"],
  ["default(payload.zero, payload.gone)", 0n],
  ["default(default(payload.gone, payload.nul), 7)", 7n],
  ["default(payload.gone, default(payload.nul, 7))", 7n],
  ["default(payload.gone, []).exists(x, x == 1)", false],
  ["payload.gone.orValue(7)", 7n],
  ["payload?.gone.orValue('x').upperAscii()", "X"],
  ["default(fromJson(payload.gone).a, 7)", 7n],
  ["default(fromJson('{}').a, 7)", 7n],
  ['fromJson(\'{"a": [1, 2.5, null, "x"]}\').a', [1n, 2.5, null, "x"]],
  ["fromJson(' 12345678901234567890123 ') > 1e22", true],
  // Seconds, in both directions
  ["int(timestamp(1700000000))", 1700000000n],
  ["timestamp(payload.n) == timestamp('2023-11-14T22:13:20Z')", true],
  ["timestamp(0)", "1970-01-01T00:00:00Z"],
  ["timestamp(-1)", "1969-12-31T23:59:59Z"],
  ["timestamp(253402300799)", "9999-12-31T23:59:59Z"],
  ["timestamp(-62135596800)", "0001-01-01T00:00:00Z"],
  ["timestamp('0031-02-03T04:05:06Z').getFullYear()", 31n],
  ["timestamp('2023-12-31T23:59:59.999Z').getDayOfYear()", 364n],
  ["timestamp('2024-12-31T23:59:59.999Z').getDayOfYear()", 365n],
  ["timestamp('2024-06-01T00:00:00Z').getHours('-03:30')", 20n],
  ["timestamp('2024-06-01T00:00:00Z').getDate('-03:30')", 31n],
  ["timestamp('2024-06-01T00:00:00Z').getDayOfWeek('Australia/Sydney')", 6n],
  ["timestamp('2024-03-10T07:30:00Z').getHours('America/New_York')", 3n],
  ["timestamp('1969-12-31T23:59:59.250Z').getMilliseconds()", 250n],
  // Characters, not halves of them
  ["size(payload.wide)", 5n],
  ["payload.wide.charAt(1)", "😀"],
  ["payload.wide.charAt(4)", "c"],
  ["payload.wide.charAt(5)", ""],
  ["payload.wide.substring(2)", "b😀c"],
  ["payload.wide.substring(1, 4)", "😀b😀"],
  ["payload.wide.substring(5)", ""],
  ['payload.wide.indexOf("c")', 4n],
  ['payload.wide.indexOf("😀", 2)', 3n],
  ['payload.wide.lastIndexOf("😀")', 3n],
  ['payload.wide.lastIndexOf("😀", 2)', 1n],
  ['payload.wide.indexOf("x")', -1n],
  ['payload.wide.split("")', ["a", "😀", "b", "😀", "c"]],
  ["payload.wide.reverse()", "c😀b😀a"],
  ['payload.wide.replace("", "-")', "-a-😀-b-😀-c-"],
  ['payload.wide.replace("", "-", 2)', "-a-😀b😀c"],
  ["payload.s.upperAscii()", "CRèME 🍮 BRûLéE"],
  ["'ÀÉ AZ'.lowerAscii()", "ÀÉ az"],
  // Limits
  ["'a b c d'.split(' ', 2)", ["a", "b c d"]],
  ["'a b c d'.split(' ', 4)", ["a", "b", "c", "d"]],
  ["'a b c d'.split(' ', 9)", ["a", "b", "c", "d"]],
  ["'a b c d'.split(' ', 1)", ["a b c d"]],
  ["'a b c d'.split(' ', 0)", []],
  ["'a b c d'.split(' ', -1)", ["a", "b", "c", "d"]],
  ["'abc'.split('', 2)", ["a", "bc"]],
  ["''.split(',')", [""]],
  ["'a.a.a'.replace('a', 'aa')", "aa.aa.aa"],
  ["'a.a.a'.replace('a', 'b', 2)", "b.b.a"],
  ["'a.a.a'.replace('a', 'b', 0)", "a.a.a"],
  ["'a.a.a'.replace('a', 'b', -1)", "b.b.b"],
  ["'a.a.a'.replace('.', '$&')", "a$&a$&a"],
  ["['x', 'y'].join()", "xy"],
  ["[].join('-')", ""],
  ["payload.s.split(' ').join(' ') == payload.s", true],
  ["'\\t a\\u3000'.trim()", "a"],
  ["'   '.trim()", ""],
  ["strings.quote('a\\n\\\"\\\\')", '"a\\n\\"\\\\"'],
  ["strings.quote(payload.half)", '"\ufffd"'],
  ["'%d%%'.format([99])", "99%"],
  ["'%s'.format([[1, null, {'b': 2.5, 'a': true}]])", "[1, null, {a: true, b: 2.5}]"],
  ["'%.2f %x %b'.format([1.005, 255, 5])", "1.00 ff 101"],
  ["matches('abc', 'b')", true],
  ["type(payload.n) == int", true],
  ["type(type(1)) == type", true],
  ["type(timestamp(0)) == google.protobuf.Timestamp", true],
];

for (const [source, value] of VALUES) {
  Deno.test(`an expression gives ${source}`, () => deepEqual(run(source), { ok: true, value }));
}

const ERRORS: readonly [source: string, error: RegExp][] = [
  ["payload.list[5]", /^index out of bounds: 5$/],
  ["payload?.s.deeper", /^a value of type string has no field deeper$/],
  ["default(payload.s.deeper, 1)", /^a value of type string has no field deeper$/],
  ["default(payload.list.deeper, 1)", /^a value of type list has no field deeper$/],
  ["default(int(payload.s), 1)", /Cannot convert/],
  ["default(payload.gone, payload.away)", /^field not found: away$/],
  ["default(payload.no ? 1 : payload.gone, 1)", /^field not found: gone$/],
  ["payload?.gone && true", /expected bool/],
  ["!payload?.gone", /overload/],
  ["size(payload?.gone)", /overload/],
  ["fromJson(payload.s)", /^fromJson: Not valid JSON: "crème 🍮 brûlée"$/],
  ["fromJson(payload.n)", /overload/],
  ["payload_list[-1]", /^index out of bounds: -1$/],
  ["[1][payload.n]", /^index out of bounds: 1700000000$/],
  ["timestamp(253402300800)", /out of range/],
  ["timestamp(-62135596801)", /out of range/],
  ["timestamp(payload.n * 1000)", /out of range/],
  ["timestamp('2024-01-01T00:00:00Z').getHours('Nowhere/Land')", /zone/],
  ["timestamp('2024-01-01T00:00:00Z').getHours('')", /zone/],
  ["payload.wide.charAt(6)", /^index out of range: 6$/],
  ["payload.wide.charAt(-1)", /^index out of range: -1$/],
  ["payload.wide.charAt(9223372036854775807)", /^index out of range/],
  ["payload.wide.substring(6)", /^index out of range: 6$/],
  ["payload.wide.substring(0, 6)", /^index out of range: 6$/],
  ["payload.wide.substring(3, 2)", /start 3 is after the end 2/],
  ["payload.wide.indexOf('a', 5)", /^index out of range: 5$/],
  ["payload.wide.lastIndexOf('a', -1)", /^index out of range: -1$/],
  ["payload.list.join(',')", /join/],
  ["payload.n.lowerAscii()", /overload/],
  ["payload.nul.trim()", /overload/],
  ["payload.s.split(1)", /overload/],
  ["'%d'.format(['x'])", /format/],
  ["'%d'.format([])", /too few/],
  ["''.format([1])", /too many/],
  ["'%q'.format([1])", /format/],
  ["'%.999999999f'.format([1.5])", /./],
  ["matches('abc', '(')", /regexp/],
  // Expressions whose results would not fit into memory
  [`'aa'${".replace('a', 'aa')".repeat(40)}`, /characters of text/],
  [`'aa'${".split('').join('aa')".repeat(40)}`, /characters of text/],
  [`${"strings.quote(".repeat(60)}'"'${")".repeat(60)}`, /characters of text/],
  [`'%s%s'.format(['aa', 'bb'])${".replace('', 'aaaaaaaaaaaaaaaa')".repeat(9)}`, /characters/],
  ["payload.wide.replace('', payload.wide).split('').map(x, x)[99]", /index out of bounds: 99/],
];

for (const [source, error] of ERRORS) {
  Deno.test(`an expression fails as ${error}: ${source.slice(0, 80)}`, () => {
    const result = run(source);
    match(result.ok ? `the value ${result.value}` : result.error, error);
  });
}

Deno.test(skippable("what one evaluation made does not count for the next", NOT_SLOW), () => {
  const source = "size('a'.replace('', 'aaaaaaaaaaaaaaaa')) > 0";
  for (let i = 0; i < 10; i++) deepEqual(run(source), { ok: true, value: true });
  const large = `size(${"'aaaaaaaaaaaaaaaa'"}${".replace('a', 'aaaaaaaaaaaaaaaa')".repeat(5)})`;
  for (let i = 0; i < 3; i++) deepEqual(run(large), { ok: true, value: 16n ** 6n });
});

Deno.test("clocks do not depend on the zone of the daemon", async () => {
  const sources = [
    "timestamp('2024-03-10T02:30:00Z').getHours()", // no such hour in New York
    "timestamp('2024-07-10T00:30:00Z').getDayOfYear()",
    "timestamp('2024-03-10T02:30:00Z').getHours('Asia/Kolkata')",
  ];
  const at = import.meta.resolve("../../src/cel/expression.ts");
  const script = `import { compileExpression, scopeOf } from "${at}";
    for (const source of ${JSON.stringify(sources)}) {
      console.log(compileExpression(source).run(scopeOf({})).value);
    }`;
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "-c", config, script],
    env: { TZ: "America/New_York", NO_COLOR: "1" },
    stderr: "inherit",
  }).output();
  equal(new TextDecoder().decode(output.stdout), "2n\n191n\n8n\n");
});

Deno.test("an expression that can make a text grow has a deadline, others do not", () => {
  const cost = (source: string) => compileExpression(source).cost;
  for (
    const source of [
      "payload.s.split('/')",
      "payload.s.replace('refs/heads/', '')",
      "payload.s.replace('-', '_', 1)",
      "payload.l.join().trim().split(payload.b)",
      "payload.l.join('').contains('x')",
      "payload.s.substring(1).indexOf('x')",
      "payload.s.charAt(0)",
    ]
  ) equal(cost(source), "small", source);
  for (
    const source of [
      "payload.s.replace('a', 'bb')",
      "payload.s.replace('a', payload.b)",
      "payload.s.replace(payload.b, '')" + ".replace(payload.b, 'x')",
      "payload.l.join(',')",
      "payload.l.join(payload.b)",
      "'%s'.format([payload.s])",
      "strings.quote(payload.s)",
      "matches(payload.s, payload.b)",
      "matches(payload.s, 'a{9}')",
    ]
  ) equal(cost(source), "deadline", source);
});

/**
 * Payloads a sender can choose, with ordinary expressions; one that is late is an error too.
 */
const LARGE: readonly { source: string; payload: () => JsonObject }[] = [
  { source: "payload.s.lowerAscii() == 'x'", payload: () => ({ s: "A".repeat(5_000_000) }) },
  { source: "payload.s.split('').size()", payload: () => ({ s: "a".repeat(5_000_000) }) },
  { source: "payload.s.split(',').join(', ')", payload: () => ({ s: ",".repeat(5_000_000) }) },
  {
    source: "payload.s.replace('a', payload.b).size()",
    payload: () => ({ s: "a".repeat(1_000_000), b: "b".repeat(1_000_000) }),
  },
  { source: "payload.f.format([1])", payload: () => ({ f: "%".repeat(5_000_000) }) },
  { source: "payload.s.trim().charAt(0)", payload: () => ({ s: " ".repeat(5_000_000) + "x" }) },
];

for (const { source, payload } of LARGE) {
  Deno.test(`${source} over megabytes leaves the event loop alone`, async () => {
    using evaluator = createEvaluator({ deadlineMs: 5000 });
    const asked = evaluator.evaluate(compileExpression(source), scopeOf({ payload: payload() }));
    ok(asked instanceof Promise, "it ran where everybody waits for it");
    equal(typeof (await asked).ok, "boolean");
  });
}
