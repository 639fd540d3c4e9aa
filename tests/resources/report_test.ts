/**
 * The refusals of `report`, and the name of an answer that a key gives.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { type ForgeName, FORGES } from "../../src/base/forge_names.ts";
import { ANSWER_KEY } from "../../src/outbox/marker.ts";
import {
  answerKeyOf,
  checkReport,
  type Report,
  whyNeverAnswered,
} from "../../src/resources/report.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";

const secret = { fromRef: "s" };

Deno.test("a report says something, at each forge that it names", () => {
  const said = (report: Report) =>
    checkReport(report).map(({ path, message }) => `${path.join(".")} ${message.slice(0, 19)}`);
  const nothing = "Nothing is reported";
  deepEqual(said({}), [`spec.report ${nothing}`]);
  for (const forge of FORGES) {
    deepEqual(said({ [forge]: {} }), [`spec.report.${forge} ${nothing}`]);
    deepEqual(said({ [forge]: { react: true } }), []);
  }
  deepEqual(said({ github: { react: true }, gitlab: { react: false } }), [
    `spec.report.gitlab ${nothing}`,
  ]);
});

Deno.test("what no event of a trigger can answer is known before one comes", () => {
  const rows: [event: TriggerSpec["event"], github: RegExp | undefined, gitlab?: RegExp][] = [
    [{ source: "webhook", webhook: { secret } }, undefined],
    [
      { source: "webhook", webhook: { scheme: "github", secret } },
      undefined,
      /report\.github says/,
    ],
    [{ source: "webhook", webhook: { scheme: "gitea", secret } }, undefined, /report\.github says/],
    [{ source: "webhook", webhook: { scheme: "gitlab", secret } }, /report\.gitlab says/],
    [{ source: "webhook", webhook: { allowUnsigned: true } }, /allowUnsigned/, /allowUnsigned/],
    [{ source: "cron", cron: { schedule: "* * * * *" } }, /pull request/, /merge request/],
  ];
  for (const [event, ...whys] of rows) {
    for (const [index, forge] of FORGES.entries()) {
      const found = whyNeverAnswered({ event }, forge);
      const why = whys[index];
      if (why === undefined) equal(found, undefined, `${forge} ${JSON.stringify(event)}`);
      else match(found ?? "", why);
    }
  }
});

const said = (forge: ForgeName, key: string) =>
  checkReport({ [forge]: { comment: "x", key } }).map(({ level, path, message }) =>
    `${level} ${path.join(".")} ${message}`
  );

for (const forge of FORGES) {
  Deno.test(`a key at ${forge} is a name, or a template that makes one`, () => {
    const at = `error spec\\.report\\.${forge}\\.key`;
    for (const key of ["review", "a.b_c/d-1", "c-{{ payload.comment.id }}", "{{ task.id }}"]) {
      deepEqual(said(forge, key), [], key);
    }
    for (const key of ["a -->", "-a", "a b", "x".repeat(254)]) {
      const found = said(forge, key)[0] ?? "";
      match(found, new RegExp(`^${at} Expected letters, digits, .* or a template such as`), key);
    }
    match(said(forge, "{{ task. }}")[0] ?? "", new RegExp(`^${at} Does not compile`));
    match(said(forge, "{{ stpes.a }}")[0] ?? "", new RegExp(`^${at} .*stpes`));
  });
}

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
