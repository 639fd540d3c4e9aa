/**
 * The order of steps, and refusals on apply: cycles, unknown ids, steps that can never run, agents
 * without a prompt.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { readDocument } from "../../src/resources/read.ts";
import {
  ancestorsOf,
  checkGraph,
  checkStepNames,
  needsOf,
  type StepNeeds,
} from "../../src/resources/step_graph.ts";

const kinds = new KindLookup([]);

type Fields = Readonly<Record<string, unknown>>;

/** A step that runs something, unless it says otherwise. */
function step(id: string, fields: Fields = {}): Fields {
  return { id, ...("agent" in fields ? {} : { run: "echo" }), ...fields };
}

/** What apply says of a workflow: `level path: message`. */
function said(steps: readonly Fields[], last?: readonly Fields[]): string[] {
  const spec = { steps, ...defined({ finally: last }) };
  const { findings } = readDocument({ kind: "Workflow", metadata: { name: "w" }, spec }, { kinds });
  return findings.map(({ level, path, message }) => `${level} ${path.join(".")}: ${message}`);
}

const DIAMOND: readonly StepNeeds[] = [
  { id: "a" },
  { id: "b" },
  { id: "c", needs: ["a"] },
  { id: "d", needs: ["b", "c"] },
  { id: "e", needs: [] },
];

Deno.test("needsOf: the step before, unless a step says otherwise", () => {
  deepEqual(DIAMOND.map((_, index) => needsOf(DIAMOND, index)), [[], ["a"], ["a"], ["b", "c"], []]);
});

Deno.test("ancestorsOf: all that has to be over", () => {
  const of = (id: string) => [...ancestorsOf(DIAMOND, id)].sort();
  deepEqual([of("a"), of("d"), of("e"), of("none")], [[], ["a", "b", "c"], [], []]);
});

/** Steps `s0`, `s1` and so on, with whatever `fields` says of each. */
const chain = (count: number, fields: (place: number) => Fields = () => ({})) =>
  Array.from({ length: count }, (_, place) => step(`s${place}`, fields(place)));

/** Steps whose `needs` count how often they are read. */
function watched(count: number) {
  let looks = 0;
  const steps = Array.from({ length: count }, (_, place) => ({
    id: `s${place}`,
    run: "echo",
    get needs() {
      looks++;
      return place === 0 ? [] : [`s${place - 1}`];
    },
  }));
  return { steps, looks: () => looks };
}

Deno.test("checkGraph looks at each step a fixed number of times, however many there are", () => {
  const looksAt = (count: number) => {
    const { steps, looks } = watched(count);
    const placed = steps.map((step, place) => ({ step, at: [place] }));
    deepEqual(checkGraph(placed), []);
    deepEqual(checkStepNames(placed), []);
    return looks() / count;
  };
  deepEqual(looksAt(800), looksAt(100));
});

Deno.test("a workflow has at most 1000 steps, and one with more is refused at once", () => {
  deepEqual(said(chain(999), [step("z")]), []);
  deepEqual(said(chain(100_000)), [
    "error spec.steps: A workflow has at most 1000 steps, this one has 100000: split it",
  ]);
  deepEqual(said(chain(1000), [step("z")]), [
    "error spec.steps: A workflow has at most 1000 steps, this one has 1001: split it",
  ]);
});

Deno.test("the steps of a workflow name at most 10000 others, also one twice", () => {
  const needs = Array.from({ length: 5001 }, () => "s0");
  deepEqual(said(chain(3, (place) => place === 0 ? { needs: [] } : { needs })), [
    'error spec.steps: The steps of a workflow name at most 10000 others under "needs", these name 10002',
  ]);
  const each = (place: number) => ({
    needs: chain(Math.min(place, 10)).map((_, before) => `s${before}`),
  });
  deepEqual(said(chain(1000, each)), []);
});

Deno.test("the message of a cycle of 1000 steps is short", () => {
  const round = chain(1000, (place) => place === 0 ? { needs: ["s999"] } : {});
  const findings = said(round);
  deepEqual(
    [findings.length, findings[5]],
    [
      1000,
      'error spec.steps.5: Step "s5" waits for itself: ' +
      "s5 → s4 → s3 → s2 → s1 → s0 → s999 → s998 → s997 → … → s5",
    ],
  );
});

const CASES: Readonly<Record<string, { says: string[]; steps: Fields[]; last?: Fields[] }>> = {
  "a diamond": { says: [], steps: DIAMOND.map(({ id, ...rest }) => step(id, rest)) },
  "steps in any order": {
    says: [],
    steps: [step("last", { needs: ["first"] }), step("first", { needs: [] })],
  },
  "a step that needs itself": {
    says: ['error spec.steps.0.needs: Step "a" waits for itself: a → a'],
    steps: [step("a", { needs: ["a"] })],
  },
  "a cycle of three": {
    says: [
      'error spec.steps.0.needs: Step "a" waits for itself: a → c → b → a',
      'error spec.steps.1.needs: Step "b" waits for itself: b → a → c → b',
      'error spec.steps.2.needs: Step "c" waits for itself: c → b → a → c',
    ],
    steps: [
      step("a", { needs: ["c"] }),
      step("b", { needs: ["a"] }),
      step("c", { needs: ["b"] }),
    ],
  },
  "a cycle through the step before": {
    says: [
      'error spec.steps.0.needs: Step "a" waits for itself: a → b → a',
      'error spec.steps.1: Step "b" waits for itself: b → a → b',
    ],
    steps: [step("a", { needs: ["b"] }), step("b")],
  },
  "an unknown need": {
    says: ['error spec.steps.1.needs.1: No step is called "z" here'],
    steps: [step("a"), step("b", { needs: ["a", "z"] })],
  },
  "the same id twice": {
    says: ['error spec.steps.1.id: Another step is already called "a"'],
    steps: [step("a"), step("a")],
  },
  "an id of finally among the steps": {
    says: ['error spec.finally.0.id: Another step is already called "a"'],
    steps: [step("a")],
    last: [step("a")],
  },
  "a condition that is never true": {
    says: [
      'error spec.steps.1.when: Step "b" can never run: its condition is the same for every task and not true',
    ],
    steps: [step("a"), step("b", { when: '1 == 2 || "x" == "y"' })],
  },
  "a condition that is always true": { says: [], steps: [step("a", { when: "1 == 1" })] },
  "a condition that does not compile": {
    says: [
      'error spec.steps.0.when: Does not compile at column 11: no complete expression follows "=="',
    ],
    steps: [step("a", { when: "payload.x ==" })],
  },
  "a condition over a variable that does not exist": {
    says: [
      'error spec.steps.0.when: Does not compile at column 1: there is no variable "step", did you mean "steps"?',
    ],
    steps: [step("a", { when: 'step.b == "c"' })],
  },
  "a name of a step that does not exist": {
    says: ['error spec.steps.1.env.V: No step is called "built" here'],
    steps: [step("build"), step("b", { env: { V: "{{ steps.built.outputs.version }}" } })],
  },
  "a name of a step that need not be over": {
    says: [
      'warning spec.steps.1.when: Step "a" may not have ended by then: name it under "needs"',
    ],
    steps: [step("a"), step("b", { needs: [], when: 'steps.a.state == "succeeded"' })],
  },
  "finally may name every step": {
    says: [],
    steps: [step("a"), step("b", { needs: [] })],
    last: [step("tell", { when: 'steps.a.state == "failed" || steps["b"].state == "failed"' })],
  },
  "needs under finally": {
    says: [
      'error spec.finally.0.needs: Steps under "finally" run one after the other when all other steps have ended: remove "needs"',
    ],
    steps: [step("a")],
    last: [step("z", { needs: [] })],
  },
  "an agent with a prompt": { says: [], steps: [step("a", { agent: "x", prompt: "p" })] },
  "an agent with a template": { says: [], steps: [step("a", { agent: "x", template: "t" })] },
  "an agent without a prompt": {
    says: [
      'error spec.steps.0: An agent needs "prompt" (text) or "template" (the name of a StepTemplate)',
    ],
    steps: [step("a", { agent: "x" })],
  },
  "an agent with both": {
    says: ['error spec.steps.0.template: An agent gets "prompt" or "template", remove one of them'],
    steps: [step("a", { agent: "x", prompt: "p", template: "t" })],
  },
  "an agent and a line": {
    says: ['error spec.steps.0.agent: A step has either "run" or "agent", remove one of them'],
    steps: [step("a", { agent: "x", prompt: "p", run: "echo" })],
  },
  "a line with a prompt": {
    says: ['error spec.steps.0.prompt: "prompt" is for steps with "agent", this one has "run"'],
    steps: [step("a", { prompt: "p" })],
  },
  "a prompt that does not compile": {
    says: [
      'error spec.steps.0.prompt: Does not compile at column 8: the expression that begins with "." is not complete',
    ],
    steps: [step("a", { agent: "x", prompt: "{{ payload. }}" })],
  },
  "no attempt at all": {
    says: [
      "error spec.steps.0.retry.attempts: Expected a number of attempts, 1 to 100, found the number 0",
    ],
    steps: [step("a", { retry: { attempts: 0 } })],
  },
};

for (const [name, { says, steps, last }] of Object.entries(CASES)) {
  Deno.test(`Workflow with ${name}`, () => {
    deepEqual(said(steps, last), says);
  });
}

/** What is said of an agent that has a limit. */
const saidOfAgent = (spec: Fields) => saidOf("Agent", { timeout: "30m", sandbox: "none", ...spec });

function saidOf(kind: string, spec: Fields): string[] {
  const { findings } = readDocument({ kind, metadata: { name: "n" }, spec }, { kinds });
  return findings.map(({ level, path, message }) => `${level} ${path.join(".")}: ${message}`);
}

Deno.test("Agent refuses a hole in its command, and warns where the prompt would be lost", () => {
  deepEqual(saidOfAgent({ command: 'agent "{{ payload.x }}"' }).length, 1);
  deepEqual(saidOfAgent({ command: "agent", promptDelivery: "stdin" }), []);
  deepEqual(saidOfAgent({ command: 'agent "$1"', promptDelivery: "arg" }), []);
  deepEqual(saidOfAgent({ command: "agent", promptDelivery: "arg" }), [
    'warning spec.command: The prompt is delivered as "$1", which the command does not name',
  ]);
  deepEqual(saidOfAgent({ command: "agent", promptDelivery: "env" }), [
    'warning spec.command: The prompt is delivered as "$SVC_PROMPT", which the command does not name',
  ]);
});

function trigger(more: Fields, webhook: Fields = {}): Fields {
  return {
    event: { source: "webhook", webhook: { secret: { fromRef: "s" }, ...webhook } },
    action: { workflow: "w", workspace: "ws" },
    ...more,
  };
}

const TRIGGERS: Readonly<Record<string, { spec: Fields; says: string[] }>> = {
  "a group by key": {
    spec: trigger({ concurrency: { policy: "Queue", key: "payload.ref", max: 2 } }),
    says: [],
  },
  "a key that is not used": {
    spec: trigger({ concurrency: { key: "payload.ref" } }),
    says: [
      'warning spec.concurrency.key: "key" has no effect with "policy: Allow", write Forbid, Replace or Queue',
    ],
  },
  "an unknown policy": {
    spec: trigger({ concurrency: { policy: "forbid" } }),
    says: [
      'error spec.concurrency.policy: Expected one of Allow, Forbid, Replace, Queue, found "forbid", ' +
      'did you mean "Forbid"?',
    ],
  },
  "notify without a token": {
    spec: trigger({}, { slack: { notify: ["failed"] } }),
    says: [
      "error spec.event.webhook.slack.notify: svc cannot post without a bot token, name its " +
      "secret under botToken, or a Connection to Slack under event.webhook.connection",
    ],
  },
  "a rate of nothing": {
    spec: trigger({}, { rateLimit: { perMinute: 0 } }),
    says: ["error spec.event.webhook.rateLimit.perMinute: Must be >= 1, found the number 0"],
  },
};

for (const [name, { spec, says }] of Object.entries(TRIGGERS)) {
  Deno.test(`Trigger with ${name}`, () => {
    deepEqual(saidOf("Trigger", spec), says);
  });
}

const inRounds = (fields: Fields, steps: readonly Fields[] = [step("c"), step("d")]) => [
  step("a"),
  { id: "build", repeat: { max: 3, until: "steps.build.rounds > 1", steps, ...fields } },
  step("z"),
];

const REFUSED: readonly [what: string, steps: readonly Fields[], said: string][] = [
  ["no max", inRounds({ max: undefined }), "max"],
  ["max 0", inRounds({ max: 0 }), "1 to 50"],
  ["max 51", inRounds({ max: 51 }), "1 to 50"],
  ["no until", inRounds({ until: undefined }), "until"],
  ["an until that does not compile", inRounds({ until: "steps.(" }), "repeat.until"],
  ["an until over no step", inRounds({ until: "steps.no.state == 'x'" }), 'No step is called "no"'],
  ["an until over a step outside", inRounds({ until: "steps.a.state == 'x'" }), "reads no step of"],
  ["an until over nothing", inRounds({ until: "false" }), "steps.d.outputs.state"],
  ["no steps", inRounds({}, []), "at least one step"],
  [
    "a repeat in a repeat",
    inRounds({}, [{ id: "c", repeat: {} }]),
    'Unknown field "repeat", which',
  ],
  ["a repeat that runs something", [{ ...inRounds({})[1], run: "true" }], 'so it has no "run"'],
  ["an id twice", inRounds({}, [step("a")]), 'already called "a"'],
  ["a need outside", inRounds({}, [step("c", { needs: ["a"] })]), 'under "needs" of "build"'],
  ["a need into it", [...inRounds({}), step("y", { needs: ["c"] })], 'need "build"'],
  ["a circle in it", inRounds({}, [step("c", { needs: ["c"] })]), "waits for itself"],
];

for (const [what, steps, expected] of REFUSED) {
  Deno.test(`repeat: ${what} is refused`, () => {
    const errors = said(JSON.parse(JSON.stringify(steps))).filter((one) => one.startsWith("error"));
    deepEqual(errors.map((one) => one.includes(expected)), [true], errors.join());
  });
}

Deno.test("repeat: none stands under finally", () => {
  const findings = said([step("a")], [{ id: "z", repeat: { max: 1, until: "true", steps: [] } }]);
  deepEqual(findings.some((one) => one.includes('or under "finally"')), true, findings.join());
});

Deno.test("repeat: its steps read those of the round before, with a default", () => {
  const reads = (env: string) => [step("c", { env: { TAIL: env } }), step("d")];
  deepEqual(said(inRounds({}, reads('{{ default(steps.d.outputs.tail, "") }}'))), []);
  deepEqual(said(inRounds({ until: "steps.build.rounds > 1 && steps.d.state == 'x'" })), []);
  const [bare = ""] = said(inRounds({}, reads("{{ steps.d.outputs.tail }}")));
  deepEqual(bare.startsWith("warning") && bare.includes("in the first round"), true, bare);
  const after = [...inRounds({}), step("y", { when: "steps.d.state == 'succeeded'" })];
  deepEqual(said(after), []);
});

const UNREAD: readonly [what: string, next: Fields, isRefused: boolean][] = [
  ["no when", {}, true],
  ["a when over something else", { when: "payload.n == 1" }, true],
  // After a rejection the step has succeeded, and has a comment.
  ["a when over its state", { when: 'steps.ok.state == "succeeded"' }, true],
  ["a when over its comment", { when: 'steps.ok.outputs.comment != ""' }, true],
  ["a when over its answer", { when: 'steps.ok.outputs.answer == "approved"' }, false],
  ["a when over its answer by name", { when: 'steps.ok.outputs["answer"] != "rejected"' }, false],
];

for (const [what, next, isRefused] of UNREAD) {
  Deno.test(`onReject: continue: before ${what}: ${isRefused ? "refused" : "taken"}`, () => {
    const ok = { id: "ok", approval: { ask: "x", by: ["ada"], onReject: "continue" } };
    const errors = said([ok, step("z", next)]).filter((one) => one.startsWith("error"));
    deepEqual(
      errors.map((one) => one.includes('Step "z" would run whatever')),
      isRefused ? [true] : [],
    );
  });
}

for (const field of ["priority", "budget"]) {
  Deno.test(`a trigger that starts nothing has no ${field}`, () => {
    const values = { priority: "high", budget: [{ runs: 1, per: "day" }] };
    const { action: _, ...spec } = trigger({});
    deepEqual(saidOf("Trigger", { ...spec, [field]: values[field as keyof typeof values] }), [
      `error spec.${field}: "${field}" is for the tasks of a trigger: one without "action" starts none`,
    ]);
  });
}
