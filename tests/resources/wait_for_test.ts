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
  'waitFor: {trigger: ci, match: {payload.sha: "{{ payload.after }}"}, timeout: 2h}',
  "waitFor: {trigger: ci, match: {payload.sha: x}, if: payload.ok && task.id != '', outputs: {a: payload.b}, since: step, timeout: 2h, onTimeout: continue}",
  "waitFor: {trigger: ci, match: {payload.sha: x}, since: 10m, timeout: 366d}",
  "waitFor: {message: true, if: 'message.actor == \"U1\"', timeout: 3d}",
  "waitFor: {any: [{trigger: ci, match: {payload.sha: x}}, {message: true}], timeout: 1h}",
  "waitFor: {any: [{trigger: ci, match: {payload.sha: x}}, {for: 1h}]}",
  'waitFor: {for: 10m}, needs: [], when: "payload.n == 1", continueOnError: true',
];

for (const step of TAKEN) {
  Deno.test(`a step that waits: ${step}`, () => equal(said(step).join("\n"), ""));
}

const REFUSED: readonly [step: string, says: RegExp][] = [
  ["waitFor: {}", /spec\.steps\.0\.waitFor: A wait has one of "for" \(how long\), "until"/],
  ['waitFor: {for: 1m, until: "{{ 1 }}"}', /A wait has one of .* found "for" and "until"/],
  ["waitFor: {for: 0s}", /waitFor\.for: A wait takes 1s to 366d, found "0s"/],
  ["waitFor: {for: 367d}", /waitFor\.for: A wait takes 1s to 366d, found "367d"/],
  ["waitFor: {for: soon}", /waitFor\.for: /],
  ["waitFor: {until: tomorrow}", /waitFor\.until: "until" is a time such as .*found "tomorrow"/],
  ['waitFor: {until: "2030-01-31"}', /"until" is a time such as/],
  ['waitFor: {until: "2030-06-31T09:00:00Z"}', /"until" is a time such as/],
  ['waitFor: {until: "{{ 1 + }}"}', /waitFor\.until: Does not compile/],
  ["waitFor: {event: push}", /Unknown field "event"/],
  ["waitFor: {trigger: ci, timeout: 1h}", /A wait for an event needs "match"/],
  ["waitFor: {trigger: ci, match: {}, timeout: 1h}", /waitFor\.match: .*1 to 5 CEL/],
  [
    `waitFor: {trigger: ci, match: {${[..."abcdef"].map((x) => `payload.${x}: x`)}}, timeout: 1h}`,
    /waitFor\.match: .*1 to 5 CEL/,
  ],
  ["waitFor: {trigger: ci, match: {payload.sha: ''}, timeout: 1h}", /The text to match is empty/],
  ["waitFor: {trigger: ci, match: {payload.sha: x}}", /needs "timeout"/],
  ["waitFor: {trigger: ci, match: {payload.sha: x}, timeout: 367d}", /takes 1s to 366d/],
  ["waitFor: {trigger: other/ci, match: {payload.sha: x}, timeout: 1h}", /waitFor\.trigger: /],
  ["waitFor: {trigger: ci, match: {'payload.': x}, timeout: 1h}", /Does not compile/],
  ["waitFor: {trigger: ci, match: {steps.a: x}, timeout: 1h}", /there is no variable "steps"/],
  [
    "waitFor: {trigger: ci, match: {payload.a: x}, if: 'nope == 1', timeout: 1h}",
    /no variable "nope"/,
  ],
  [
    "waitFor: {trigger: ci, match: {payload.a: x}, since: later, timeout: 1h}",
    /since: "since" is task, step, or how far back, 1s to 366d; found "later"/,
  ],
  [
    "waitFor: {trigger: ci, match: {payload.a: x}, outputs: {a: '1 +'}, timeout: 1h}",
    /outputs\.a: Does not/,
  ],
  [
    "waitFor: {message: true, match: {payload.a: x}, timeout: 1h}",
    /"match" is not for a wait with "message"/,
  ],
  ["waitFor: {message: false, timeout: 1h}", /has message: true/],
  ["waitFor: {message: true, if: payload.a, timeout: 1h}", /no variable "payload"/],
  [
    "waitFor: {trigger: ci, match: {payload.a: x}, outputs: {delivery_id: payload.b}, timeout: 1h}",
    /"delivery_id" of its own/,
  ],
  ["waitFor: {for: 1m, if: 'true'}", /"if" is not for a wait with "for"/],
  ["waitFor: {for: 1m, timeout: 5m}", /is over at that, so it has no "timeout"/],
  ["waitFor: {any: [{message: true}], timeout: 1h}", /waitFor\.any: .*2 to 10/],
  ["waitFor: {trigger: ci, any: [{message: true}, {for: 1h}]}", /"trigger" belongs into one of/],
  ["waitFor: {any: [{message: true}, {for: 1h, until: x}]}", /any\.1: A wait has one of/],
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
