/**
 * The refusals of `report`, and the name of an answer that a key gives.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { ANSWER_KEY } from "../../src/outbox/marker.ts";
import { answerKeyOf, checkReport } from "../../src/resources/report.ts";

const said = (key: string) =>
  checkReport({ github: { comment: "x", key } }).map(({ level, message }) => `${level} ${message}`);

Deno.test("a key is a name, or a template that makes one", () => {
  for (const key of ["review", "a.b_c/d-1", "c-{{ payload.comment.id }}", "{{ task.id }}"]) {
    deepEqual(said(key), [], key);
  }
  for (const key of ["a -->", "-a", "a b", "x".repeat(254)]) {
    match(said(key)[0] ?? "", /^error Expected letters, digits, .* or a template such as/, key);
  }
  match(said("{{ task. }}")[0] ?? "", /^error Does not compile/);
  match(said("{{ stpes.a }}")[0] ?? "", /^error .*stpes/);
});

Deno.test("whatever is filled in, a key ends no marker", () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["answer-42", "answer-42"],
    ["IC_kwDOA==", "IC_kwDOA-"],
    ["-->x<!-- svc", "x----svc"],
    ["äöü", undefined],
    ["", undefined],
    ["-._/", undefined],
    ["y".repeat(300), "y".repeat(253)],
  ];
  for (const [filled, name] of cases) {
    equal(answerKeyOf(filled), name);
    if (name !== undefined) match(name, ANSWER_KEY);
  }
});
