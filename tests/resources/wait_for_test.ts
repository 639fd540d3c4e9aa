/** `waitFor` of a step: what is refused on apply, and what it says. */

import { match, strictEqual as equal } from "node:assert/strict";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { formatFinding, parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";

const kinds = new KindLookup([]);

function said(step: string, under = "steps"): string[] {
  const first = under === "steps" ? "" : "  steps: [{id: first, run: 'true'}]\n";
  const text =
    `kind: Workflow\nmetadata: {name: w}\nspec:\n${first}  ${under}:\n    - {id: a, ${step}}\n`;
  const { documents, errors } = parseManifest("f.yaml", text);
  return [
    ...errors,
    ...documents.flatMap((document) =>
      readDocument(document.value, { kinds }).findings.map((one) => formatFinding(document, one))
    ),
  ];
}

const TAKEN = [
  "waitFor: {for: 10m}",
  "waitFor: {for: 1}",
  "waitFor: {for: 366d}",
  'waitFor: {until: "2030-01-31T09:00:00Z"}',
  'waitFor: {until: "2030-01-31T09:00:00.5+01:00"}',
  'waitFor: {until: "{{ payload.at }}"}',
  'waitFor: {for: 10m}, needs: [], when: "payload.n == 1", continueOnError: true',
];

for (const step of TAKEN) {
  Deno.test(`a step that waits: ${step}`, () => equal(said(step).join("\n"), ""));
}

const REFUSED: readonly [step: string, says: RegExp][] = [
  ["waitFor: {}", /spec\.steps\.0\.waitFor: A wait has either "for" \(how long\) or "until"/],
  ['waitFor: {for: 1m, until: "{{ 1 }}"}', /A wait has either "for"/],
  ["waitFor: {for: 0s}", /waitFor\.for: A wait takes 1s to 366d, found "0s"/],
  ["waitFor: {for: 367d}", /waitFor\.for: A wait takes 1s to 366d, found "367d"/],
  ["waitFor: {for: soon}", /waitFor\.for: /],
  ["waitFor: {until: tomorrow}", /waitFor\.until: "until" is a time such as .*found "tomorrow"/],
  ['waitFor: {until: "2030-01-31"}', /"until" is a time such as/],
  ['waitFor: {until: "2030-06-31T09:00:00Z"}', /"until" is a time such as/],
  ['waitFor: {until: "{{ 1 + }}"}', /waitFor\.until: Does not compile/],
  ["waitFor: {event: push}", /Unknown field "event"/],
  [
    "waitFor: {for: 1m}, run: x",
    /spec\.steps\.0\.run: A step with "waitFor" runs nothing, so it has no "run"/,
  ],
  ["waitFor: {for: 1m}, agent: x, prompt: y", /so it has no "agent"/],
  ["waitFor: {for: 1m}, retry: {attempts: 2}", /so it has no "retry"/],
  ["waitFor: {for: 1m}, timeout: 5m", /so it has no "timeout"/],
  ["waitFor: {for: 1m}, env: {A: x}", /so it has no "env"/],
];

for (const [step, says] of REFUSED) {
  Deno.test(`a step that cannot wait so: ${step}`, () => match(said(step).join("\n"), says));
}

Deno.test("no step under finally waits", () => {
  match(
    said("waitFor: {for: 1m}", "finally").join("\n"),
    /spec\.finally\.0\.waitFor: Steps under "finally" end the task, so none of them waits/,
  );
});
