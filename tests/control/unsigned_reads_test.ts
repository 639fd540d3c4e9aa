/**
 * What `apply` says about values that no signature covers: each with its place, what covers what,
 * and what to write instead; and nothing where there is no signature, or somebody has thought of it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const BASE = `
kind: SecretStore
metadata: {name: keys}
spec: {data: {a: "a secret of twenty bytes and more"}}
---
kind: SecretStore
metadata: {name: signing}
spec: {data: {a: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}
---
kind: Workspace
metadata: {name: w}
spec: {path: /tmp}
---
kind: Workflow
metadata: {name: plain}
spec: {steps: [{id: a, run: "true"}]}
`;

interface Given {
  readonly webhook?: string;
  readonly condition?: string;
  readonly workflow?: string;
  readonly more?: string;
}

function triggerOf(given: Given): string {
  const { webhook = "secret: {fromRef: keys}, scheme: github", workflow = "plain" } = given;
  const filter = given.condition === undefined
    ? ""
    : `, filter: {condition: ${JSON.stringify(given.condition)}}`;
  return `
---
kind: Trigger
metadata: {name: t}
spec:
  event: {source: webhook, webhook: {${webhook}}${filter}}
  action: {workflow: ${workflow}, workspace: w${given.more ?? ""}}
`;
}

async function warningsOf(rig: ControlRig, ...texts: string[]): Promise<readonly string[]> {
  const { warnings } = await rig.apply(BASE, ...texts);
  return warnings.filter((line) => / is (?:not signed|never there)/.test(line));
}

/** The values that are warned of. */
function values(warnings: readonly string[]): string[] {
  return warnings.map((line) =>
    /: (\S+(?:\["[^"]+"\])?) is (?:not signed|never there)/.exec(line)?.[1] ?? line
  );
}

controlTest(
  "a condition on a header that is not signed is warned of, with its place",
  async (rig) => {
    const condition = 'headers["x-github-event"] == "push" && payload.ref == "main"';
    const [warning, ...more] = await warningsOf(rig, triggerOf({ condition }));
    deepEqual(more, []);
    match(
      warning ?? "",
      /^[^:]+:\d+:\d+: spec\.event\.filter\.condition: headers\["x-github-event"\] /,
    );
    match(warning ?? "", /trigger\/t covers payload: anyone with one signed request/);
    match(warning ?? "", /Decide by the payload, or write unsigned\.headers\["x-github-event"\]/);
  },
);

controlTest("every place and every sort of value is warned of", async (rig) => {
  const workflow = `
---
kind: Agent
metadata: {name: bot}
spec: {command: cat, env: {FROM: "{{ remote }}"}}
---
kind: StepTemplate
metadata: {name: ask}
spec: {prompt: "{{ headers }} {{ payload.title }}"}
---
kind: Workflow
metadata: {name: full}
spec:
  env: {E: '{{ headers["x-one"] }}'}
  steps:
    - {id: a, when: 'query.kind == "x"', run: "true"}
    - {id: b, agent: bot, template: ask}
  finally:
    - {id: c, run: "true", env: {M: "{{ method }}"}}
`;
  const webhook = "secret: {fromRef: keys}, scheme: github, idempotencyKey: 'headers[\"x-id\"]', " +
    "debounce: {secs: 5, key: 'query[\"a-b\"]'}";
  const trigger = triggerOf({
    webhook,
    workflow: "full",
    more: ", goal: '{{ headers[\"x-goal\"] }}'",
    condition: 'remote == "192.0.2.1"',
  }) + "  concurrency: {policy: Queue, key: 'headers[\"x-two\"]'}\n";
  const warnings = await warningsOf(rig, workflow, trigger);
  deepEqual(values(warnings).toSorted(), [
    "headers",
    'headers["x-goal"]',
    'headers["x-id"]',
    'headers["x-one"]',
    'headers["x-two"]',
    "method",
    "query.kind",
    'query["a-b"]',
    "remote",
    "remote",
  ]);
  match(warnings.join("\n"), /spec\.steps\.0\.when: query\.kind/);
  match(warnings.join("\n"), /Let allowFrom decide by the address/);
  match(warnings.join("\n"), /Leave idempotencyKey out, set dedup: bytes/);
});

const SILENT: readonly (Given & { readonly name: string })[] = [
  { name: "the payload", condition: 'payload.action == "x" && payload_number > 1' },
  { name: "signed", condition: 'signed.payload.action == "x"' },
  { name: "unsigned, which says so", condition: 'unsigned.headers["x-github-event"] == "push"' },
  { name: "what no sender writes", condition: 'trigger.name == "t" && delivery.id != ""' },
  {
    name: "a header that is signed",
    webhook: "secret: {fromRef: signing}, scheme: standard-webhooks",
    condition: 'headers["webhook-id"] != ""',
  },
  {
    name: "a token, beside which nothing is better",
    webhook: "secret: {fromRef: keys}, scheme: gitlab",
    condition: 'headers["x-gitlab-event"] == "Push Hook"',
  },
  {
    name: "no check of the sender",
    webhook: "allowUnsigned: true",
    condition: 'headers["x-event"] == "a"',
  },
  {
    name: "headers that the sender may list as signed",
    webhook: "secret: {fromRef: keys}, scheme: contentful",
    condition: 'headers["x-contentful-topic"] == "a"',
  },
  { name: "a fallback of what is not there", condition: 'default(signed.query.a, "") == ""' },
];

controlTest("no warning where there is nothing to correct", async (rig) => {
  for (const one of SILENT) deepEqual(await warningsOf(rig, triggerOf(one)), [], one.name);
});

controlTest(
  "what is never there, and fields that a platform leaves out, are warned of",
  async (rig) => {
    const of = async (given: Given) => values(await warningsOf(rig, triggerOf(given)));
    deepEqual(await of({ condition: 'signed.headers["x-github-event"] == "push"' }), [
      'signed.headers["x-github-event"]',
    ]);
    const token = "secret: {fromRef: keys}, scheme: gitlab";
    deepEqual(await of({ webhook: token, condition: "signed.payload.a == 1" }), [
      "signed.payload.a",
    ]);
    const signed = "secret: {fromRef: signing}, scheme: gitlab";
    deepEqual(await of({ webhook: signed, condition: 'headers["x-gitlab-event"] == "a"' }), [
      'headers["x-gitlab-event"]',
    ]);
    const sns = "secret: {fromRef: keys}, scheme: sns";
    deepEqual(
      await of({
        webhook: sns,
        condition: 'payload.Message == "a" && payload_MessageAttributes.x == 1',
      }),
      ["payload.MessageAttributes"],
    );
  },
);

controlTest(
  "a workflow is warned of when it comes to a trigger, and when it changes",
  async (rig) => {
    const workflow = (header: string) => `
kind: Workflow
metadata: {name: w}
spec: {steps: [{id: a, when: 'headers["${header}"] == "x"', run: "true"}]}
`;
    deepEqual(await warningsOf(rig, workflow("x-one")), [], "nothing signed starts it");
    const { warnings } = await rig.apply(triggerOf({ workflow: "w" }).slice(5));
    equal(warnings.length, 1);
    match(
      warnings[0] ?? "",
      /^workflow\/w: spec\.steps\.0\.when: headers\["x-one"\] is not signed/,
    );
    deepEqual(values(await warningsOf(rig, workflow("x-two"))), ['headers["x-two"]']);
    const other = triggerOf({ workflow: "w" }).replace("name: t", "name: other").slice(5);
    await rig.apply(other);
    equal((await warningsOf(rig, workflow("x-three"))).length, 1, "once for both triggers");
  },
);

controlTest("what a wait reads is judged by the trigger whose events it waits for", async (rig) => {
  const workflow = (match: string) => `
---
kind: Workflow
metadata: {name: waits}
spec:
  steps:
    - id: ci
      waitFor:
        trigger: t
        match: {'${match}': "{{ headers.own }}"}
        if: headers["x-kind"] == "check" && payload.ok
        outputs: {by: query.by}
        timeout: 1h
`;
  const unsigned = triggerOf({ webhook: "allowUnsigned: true", workflow: "waits" })
    .replace("name: t}", "name: starts}");
  const found = await warningsOf(rig, triggerOf({}), unsigned, workflow('headers["x-sha"]'));
  deepEqual(values(found).toSorted(), ['headers["x-kind"]', 'headers["x-sha"]', "query.by"]);
  match(found.join("\n"), /waitFor\.if: headers\["x-kind"\] .* trigger\/t covers payload/);
  match(found.join("\n"), /Decide by the payload, or write unsigned\.headers\["x-kind"\]/);
  const one = await warningsOf(rig, triggerOf({ condition: "payload.ok" }));
  equal(one.length, 3, "the trigger alone");
  deepEqual((await warningsOf(rig, unsigned)).length, 0, "a trigger whose events start its task");
});
