/**
 * Texts that the workbench makes: a condition as YAML, the name of a value of a payload, the place of
 * a fault.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { parse } from "yaml";
import { conditionYaml } from "../../console/page/pages/filter/condition_yaml.ts";
import { indexOf, placeOf } from "../../console/page/pages/filter/fault_place.ts";
import {
  expressionOf,
  findJson,
  membersOf,
  plainText,
  prettyJson,
} from "../../console/page/parts/json_value.ts";

Deno.test("a condition comes out of its YAML as it went in, whatever is in it", () => {
  const conditions = [
    "true",
    'payload.ref == "refs/heads/main"',
    'payload.a: "x" # no comment',
    '- payload["my-field"] ? { } : [ ] | > & * ! % @ `',
    'payload.a &&\n  payload.b ||\n\n    payload.c == "  two  "',
    'payload.a == """line \n end"""',
    'payload.tab == "\t"',
    'payload.bidi == "\u202e" && payload.zero == "\u200b\ufeff"',
    'payload.line == "\u2028\u0085"',
    'payload.emoji == "👩‍💻" && payload.name == "Ærø"',
    `'single' + "double" + 'it''s'`,
  ];
  for (const condition of conditions) {
    deepEqual(parse(conditionYaml(condition)), { spec: { event: { filter: { condition } } } });
  }
});

Deno.test("a value of a payload is named as an expression names it", () => {
  equal(expressionOf("payload", []), "payload");
  equal(expressionOf("payload", ["commits", 0, "id"]), "payload.commits[0].id");
  equal(expressionOf("headers", ["x-github-event"]), 'headers["x-github-event"]');
  equal(expressionOf("payload", ['a"b', "1st"]), 'payload["a\\"b"]["1st"]');
});

Deno.test("numbers keep all their digits, and what is no JSON is none", () => {
  const value = findJson('{"a": 9007199254740993, "b": 1.50, "c": 1e400, "d": 7}');
  const members = value === undefined ? undefined : membersOf(value);
  deepEqual(members?.map(([name, one]) => `${name} ${plainText(one)}`), [
    "a 9007199254740993",
    "b 1.50",
    "c 1e400",
    "d 7",
  ]);
  equal(findJson("ref=refs%2Fheads"), undefined);
});

Deno.test("a payload that is to be edited keeps what is in it", () => {
  equal(
    prettyJson('{"a":9007199254740993,"b":1.50}'),
    '{\n  "a": 9007199254740993,\n  "b": 1.50\n}',
  );
  equal(prettyJson("a=1&b=2"), "a=1&b=2");
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  equal(prettyJson(deep), deep);
});

Deno.test("the place of a fault is found in what a refusal says", () => {
  const refusal = (text: string) => ({ message: "No condition", details: [text] });
  deepEqual(placeOf(refusal("Does not compile at column 12: there is no …")), {
    line: 1,
    column: 12,
  });
  deepEqual(placeOf(refusal("Does not compile at line 2, column 3: …")), { line: 2, column: 3 });
  equal(placeOf(refusal("It is nested too deeply")), undefined);
  equal(indexOf("ab\ncdef", { line: 2, column: 3 }), 5);
  equal(indexOf("ab", { line: 9, column: 9 }), 2);
});
