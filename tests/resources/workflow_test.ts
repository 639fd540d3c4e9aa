/**
 * Kind `Workflow`: steps, their ids, timeouts and environments; and shell lines, which are never
 * templates.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { FORGES } from "../../src/base/forge_names.ts";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { formatFinding, parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";
import { workflow } from "../../src/resources/workflow.ts";

const kinds = new KindLookup([]);

/** A workflow with one step `a`, whose further fields start at line 6, column 7. */
const manifest = (...fields: string[]) =>
  `kind: Workflow
metadata: {name: w}
spec:
  steps:
    - id: a
${["run: echo", ...fields].slice(-Math.max(1, fields.length)).map((f) => `      ${f}\n`).join("")}`;

function said(text: string): string[] {
  const { documents, errors } = parseManifest("f.yaml", text);
  return [
    ...errors,
    ...documents.flatMap((document) =>
      readDocument(document.value, { kinds }).findings.map((one) => formatFinding(document, one))
    ),
  ];
}

/** A step that runs `line`. */
const runs = (line: string) => manifest(`run: ${JSON.stringify(line)}`);

const LINES_TAKEN = [
  "echo $SVC_PAYLOAD_FILE",
  "docker inspect -f '{{.Id}}' x",
  "docker ps --format '{{json .}}'",
  "echo '{{ .payload }}' '{{ \"payload\" }}'",
  "echo {{ unrelated }}",
  "a\nb\n",
  'jq -r ".ref" < "$SVC_PAYLOAD_FILE"',
];

for (const line of LINES_TAKEN) {
  Deno.test(`Workflow takes the shell line ${JSON.stringify(line)}`, () => {
    deepEqual(said(runs(line)), []);
  });
}

const HOLES: readonly [line: string, hole: string][] = [
  ["echo {{ payload_ref }}", "{{ payload_ref }}"],
  ["echo '{{payload.head_commit.message}}'", "{{payload.head_commit.message}}"],
  ['echo "{{ trigger.name }}"', "{{ trigger.name }}"],
  ["docker inspect -f '{{.Id}}' {{ payload_id }}", "{{ payload_id }}"],
];

for (const [line, hole] of HOLES) {
  Deno.test(`Workflow refuses ${JSON.stringify(line)} and says what to do`, () => {
    const lines = said(runs(line));
    equal(lines.length, 1);
    ok(
      lines[0]?.startsWith(`f.yaml:6:7: spec.steps.0.run: ${hole} is not filled in here`),
      lines[0],
    );
    match(lines[0] ?? "", /env/);
  });
}

const STEPS: readonly [what: string, text: string, findings: readonly RegExp[]][] = [
  ["an id and a line", manifest(), []],
  ["an empty line", runs(""), [/^f\.yaml:6:7: spec\.steps\.0\.run: Expected a shell line/]],
  ["a NUL in its line", runs("a\0b"), [/^f\.yaml:6:7: spec\.steps\.0\.run: .*NUL/]],
  ["a line that is a list", manifest("run: [a]"), [
    /^f\.yaml:6:7: .*Expected a shell line, found a/,
  ]],
  ["no line", manifest("workdir: x"), [
    /^f\.yaml:5:7: spec\.steps\.0: A step needs "run" \(a shell line\), "agent" \(.*\), "waitFor"/,
  ]],
  [
    "an unknown field",
    manifest("run: x", "timout: 3"),
    [/^f\.yaml:7:7: spec\.steps\.0\.timout: Unknown field "timout", did you mean "timeout"\?/],
  ],
  ["its standard output as an output", manifest("run: x", "stdout: answer"), []],
  ["a key that is none", manifest("run: x", 'stdout: "a b"'), [
    /^f\.yaml:7:7: spec\.steps\.0\.stdout: Expected the key of an output/,
  ]],
  ["a shell by name", manifest("run: x", "shell: bash"), []],
  ["a program as its shell", manifest("run: x", "shell: [python3, -u]"), []],
  ["an unknown shell", manifest("run: x", "shell: zsh"), [
    /^f\.yaml:7:7: spec\.steps\.0\.shell: Expected sh, bash, or a list: a program and its options/,
  ]],
  ["an empty list as its shell", manifest("run: x", "shell: []"), [/Expected sh, bash, or a list/]],
  ["a program with its options in one", manifest("run: x", 'shell: ["python3 -u"]'), [
    /^f\.yaml:7:7: spec\.steps\.0\.shell: .*write \[python3, -u\]$/,
  ]],
  ["an option first", manifest("run: x", "shell: [-u]"), [/found the option "-u"/]],
  ["a NUL in its shell", manifest("run: x", 'shell: ["a\\0"]'), [/NUL/]],
  ["a shell for an agent", manifest("agent: x", "prompt: y", "shell: bash"), [
    /^f\.yaml:8:7: spec\.steps\.0\.shell: "shell" is for steps with "run": the "command" of an Agent/,
  ]],
  ["a template in workdir", manifest("run: x", 'workdir: "{{ payload_dir }}"'), []],
  [
    "a broken template in workdir",
    manifest("run: x", 'workdir: "{{ 1 + }}"'),
    [/^f\.yaml:7:7: spec\.steps\.0\.workdir: Does not compile at column 3/],
  ],
  ["a template in env", manifest("run: x", 'env: {A: "{{ payload.a }}", _b1: ""}'), []],
  ["a secret in env", manifest("run: x", "env: {A: {fromSecret: {store: s, key: k}}}"), []],
  [
    "a broken template in env",
    manifest("run: x", "env:", '  A: "{{ a b }}"'),
    [/^f\.yaml:8:9: spec\.steps\.0\.env\.A: Does not compile at column 3/],
  ],
  [
    "a number in env",
    manifest("run: x", "env:", "  PORT: 8080"),
    [/^f\.yaml:8:9: spec\.steps\.0\.env\.PORT: Expected text \(quote numbers/],
  ],
  [
    "a secret without a key in env",
    manifest("run: x", "env:", "  A: {fromSecret: {store: s}}"),
    [/^f\.yaml:8:9: spec\.steps\.0\.env\.A: Expected text .*fromSecret/],
  ],
  [
    "a reserved variable in env",
    manifest("run: x", "env:", "  SVC_TASK_ID: x"),
    [/^f\.yaml:8:9: spec\.steps\.0\.env\.SVC_TASK_ID: .*SVC_/],
  ],
  [
    "a variable with a hyphen in env",
    manifest("run: x", "env:", "  A-B: x"),
    [/^f\.yaml:8:9: spec\.steps\.0\.env\.A-B: /],
  ],
  [
    "another workflow",
    manifest("workflow: b", "with: {a: '{{ payload.a }}'}", "workspace: w", "timeout: 2h"),
    [],
  ],
  [
    "another workflow for each item",
    manifest(
      "workflow: b",
      "forEach: payload.items",
      "maxParallel: 2",
      "with: {a: '{{ item.x }} {{ index }}'}",
    ),
    [],
  ],
  ["an item without a list", manifest("workflow: b", "with: {a: '{{ item }}'}"), [
    /spec\.steps\.0\.with\.a/,
  ]],
  ["how many at once, without a list", manifest("workflow: b", "maxParallel: 2"), [
    /spec\.steps\.0\.maxParallel: "maxParallel" is for a step with "forEach"/,
  ]],
  ["a list that does not compile", manifest("workflow: b", "forEach: '1 +'"), [
    /spec\.steps\.0\.forEach: Does not compile/,
  ]],
  ["no task at once", manifest("workflow: b", "forEach: payload.a", "maxParallel: 0"), [
    /Expected a number of tasks, 1 to 100/,
  ]],
  ["another workflow and a line", manifest("workflow: b", "run: x"), [
    /^f\.yaml:7:7: spec\.steps\.0\.run: A step with "workflow" runs another task, so it has no "run"/,
  ]],
  ["a retry of another workflow", manifest("workflow: b", "retry: {attempts: 2}"), [
    /^f\.yaml:7:7: spec\.steps\.0\.retry: .*"workflow" runs another task/,
  ]],
  ["an input of no name", manifest("workflow: b", "with: {'a b': x}"), [/spec\.steps\.0\.with/]],
  ["an input that is no text", manifest("workflow: b", "with: {a: 1}"), [
    /spec\.steps\.0\.with\.a/,
  ]],
  ["an input that does not compile", manifest("workflow: b", "with: {a: '{{ 1 + }}'}"), [
    /spec\.steps\.0\.with\.a: Does not compile/,
  ]],
  ["another workflow for too long", manifest("workflow: b", "timeout: 367d"), [/takes 1s to 366d/]],
  ["inputs of a line", manifest("run: x", "with: {a: b}"), [
    /^f\.yaml:7:7: spec\.steps\.0\.with: "with" is for steps with "workflow"/,
  ]],
  ["its own workflow", manifest("workflow: w"), [
    /^f\.yaml:6:7: spec\.steps\.0\.workflow: Workflow "w" would start itself again and again/,
  ]],
  ["its own workflow, at times", manifest("workflow: w", "when: payload.a"), []],
  ["its own workflow for a list", manifest("workflow: w", "forEach: payload.a"), []],
  ["an input that it reads", manifest("run: x", "env: {A: '{{ inputs.a }}'}"), []],
  [
    "a NUL in env",
    manifest("run: x", "env:", '  A: "a\\0b"'),
    [/^f\.yaml:8:9: spec\.steps\.0\.env\.A: .*NUL/],
  ],
];

for (const [what, text, expected] of STEPS) {
  Deno.test(`Workflow step with ${what}`, () => {
    const lines = said(text);
    equal(lines.length, expected.length, lines.join("\n"));
    for (const [index, pattern] of expected.entries()) match(lines[index] ?? "", pattern);
  });
}

for (const id of ["a", "A1", "_x", "build-it", "a".repeat(63)]) {
  Deno.test(`Workflow takes the step id ${id}`, () => {
    deepEqual(said(manifest().replace("id: a", `id: ${id}`)), []);
  });
}

for (const id of ['""', "1a", "-a", "a.b", "a b", "a".repeat(64), '"a\\n"', "ä", "3", "true"]) {
  Deno.test(`Workflow refuses the step id ${id}`, () => {
    const lines = said(manifest().replace("id: a", `id: ${id}`));
    equal(lines.length, 1);
    match(lines[0] ?? "", /^f\.yaml:5:7: spec\.steps\.0\.id: Expected a step id/);
  });
}

for (const timeout of ["1", "90", '"1s"', "10m", '"1h30m"', "2w"]) {
  Deno.test(`Workflow takes the timeout ${timeout}`, () => {
    deepEqual(said(manifest("run: x", `timeout: ${timeout}`)), []);
  });
}

const TIMEOUTS_REFUSED = [
  "0",
  "-1",
  "1.5",
  '"0s"',
  '"10x"',
  '""',
  ".inf",
  ".nan",
  "true",
  "[]",
  "1e20",
  "3153600001",
  "36501d",
  "99999999w",
];

for (const timeout of TIMEOUTS_REFUSED) {
  Deno.test(`Workflow refuses the timeout ${timeout}, of a step and of the whole`, () => {
    const lines = said(manifest("run: x", `timeout: ${timeout}`) + `  timeout: ${timeout}\n`);
    deepEqual(lines.map((line) => line.split(" ").slice(0, 2).join(" ")).sort(), [
      "f.yaml:7:7: spec.steps.0.timeout:",
      "f.yaml:8:3: spec.timeout:",
    ]);
  });
}

Deno.test("Workflow refuses two steps of one name at the second", () => {
  const text = `${manifest()}    - {id: b, run: x}\n    - {id: a, run: x}\n`;
  deepEqual(said(text), ['f.yaml:8:8: spec.steps.2.id: Another step is already called "a"']);
});

for (const steps of ["[]", "{}", "x"]) {
  Deno.test(`Workflow refuses ${steps} for its steps`, () => {
    const text = `kind: Workflow\nmetadata: {name: w}\nspec:\n  steps: ${steps}\n`;
    match(said(text).join(), /^f\.yaml:4:3: spec\.steps: Expected a list of at least one step/);
  });
}

Deno.test("Workflow reports what is wrong in each of 30 steps", () => {
  const steps = Array.from({ length: 30 }, (_, i) => `    - {id: s${i}, run: ""}\n`).join("");
  const lines = said(`kind: Workflow\nmetadata: {name: w}\nspec:\n  steps:\n${steps}`);
  equal(lines.length, 30);
});

Deno.test("workflow.references names the stores of every env block with their places", () => {
  const from = (store: string) => ({ fromSecret: { store, key: "k" } });
  const references = workflow.references?.({
    env: { A: from("s1"), B: "text" },
    steps: [{ id: "a", run: "x" }, { id: "b", run: "x", env: { C: from("s2") } }],
  }) ?? [];
  deepEqual(references.map((one) => [one.kind, one.name, one.path.join(".")]), [
    ["SecretStore", "s1", "spec.env.A.fromSecret.store"],
    ["SecretStore", "s2", "spec.steps.1.env.C.fromSecret.store"],
  ]);
});

/** What is said of a step under `finally` with this variable. */
const inFinally = (value: string, more = "") =>
  said(`${manifest()}  finally:
    - {id: z, env: {X: ${JSON.stringify(value)}}, run: echo${more}}
`);

const MAY_BE_ABSENT: readonly [value: string, cure: string][] = [
  ["{{ steps.a.outputs.url }}", '{{ default(steps.a.outputs.url, "") }}'],
  ["x {{ steps.a.outputs['u'] + '!' }} y", `{{ default(steps.a.outputs['u'] + '!', "") }}`],
  ["{{ steps.a.state }}", '{{ default(steps.a.state, "skipped") }}'],
  ["{{ default(payload.x, steps.a.outputs.url) }}", "{{ default(default("],
];

for (const [value, cure] of MAY_BE_ABSENT) {
  Deno.test(`Workflow warns of ${value} in finally, with what to write instead`, () => {
    const lines = inFinally(value);
    equal(lines.length, 1, lines.join("\n"));
    match(
      lines[0] ?? "",
      /^f\.yaml:8:\d+: .*spec\.finally\.0\.env\.X: \{\{ .* has no value if /,
    );
    ok(lines[0]?.includes(`write ${cure}`), lines[0]);
  });
}

const CAREFUL: readonly [value: string, more?: string][] = [
  ["{{ default(steps.a.outputs.url, 'none') }}"],
  ["{{ steps?.a.outputs.url }}"],
  ["{{ steps.a.outputs?.url.orValue('none') }}"],
  ["{{ has(steps.a.outputs.url) ? steps.a.outputs.url : '' }}"],
  ["{{ task.state }} {{ task.reason }} {{ payload.x }}"],
  ["{{ steps.a.outputs.url }}", ", when: task.state == 'succeeded'"],
];

for (const [value, more] of CAREFUL) {
  Deno.test(`Workflow has nothing to say of ${value}${more ?? ""} in finally`, () => {
    deepEqual(inFinally(value, more), []);
  });
}

/** A manifest of a step with an agent, and further fields. */
const asks = (...fields: string[]) => manifest("agent: a", "prompt: p", ...fields);

Deno.test("Workflow takes a list of agents that are all different", () => {
  deepEqual(said(manifest("agent: [a, b]", "prompt: p")), []);
  match(said(manifest("agent: [a, a]", "prompt: p")).join(), /up to 8 different names/);
  match(said(manifest("agent: {a: b}", "prompt: p")).join(), /the name of an Agent, or a list/);
  match(said(manifest("agent: b c", "prompt: p")).join(), /the name of an Agent, or a list/);
  match(
    said(manifest("agent: []", "prompt: p")).join(),
    /up to 8 different names.*found an empty list/,
  );
  match(said(manifest("agent: [a, b c]", "prompt: p")).join(), /agent\.1: .*name/);
});

Deno.test("Workflow takes the key of a session as an expression, for agents in a sandbox", () => {
  deepEqual(said(asks("session: {key: string(payload.issue.number)}")), []);
  match(said(asks("session: {key: payload.}")).join(), /session\.key/);
  match(said(asks("session: {}")).join(), /key/);
  match(said(asks("session: {key: \"'x'\"}", "sandbox: none")).join(), /remove "session"/);
});

Deno.test("Workflow refuses fields of agents on a shell line", () => {
  for (const field of ["session: {key: \"'x'\"}", "onLimit: fail", "prompt: p"]) {
    match(said(manifest("run: echo", field)).join(), /is for steps with "agent"/);
  }
});

/** A workflow whose `may` is this line, with these steps. */
const mayDo = (may: string, ...steps: string[]) =>
  `kind: Workflow
metadata: {name: w}
spec:
  may: ${may}
  steps:
${(steps.length === 0 ? ["{id: a, run: echo}"] : steps).map((step) => `    - ${step}\n`).join("")}`;

const AGENT = "{id: a, agent: x, prompt: p}";

const MAYS: readonly [what: string, text: string, findings: readonly RegExp[]][] = [
  ["nothing", mayDo("{}"), []],
  [
    "every default",
    mayDo("{github: {comment: {}, pull: {}, push: {}, issue: {}, review: {}}}"),
    [],
  ],
  ["an unknown platform", mayDo("{gitlub: {}}"), [/spec\.may\.gitlub: Unknown field "gitlub"/]],
  ["an unknown output", mayDo("{github: {pul: {}}}"), [
    /spec\.may\.github\.pul: Unknown field "pul", did you mean "pull"\?/,
  ]],
  ["an unknown field", mayDo("{github: {pull: {drafts: true}}}"), [
    /spec\.may\.github\.pull\.drafts: Unknown field "drafts", did you mean "draft"\?/,
  ]],
  ["no pull request at all", mayDo("{github: {pull: {max: 0}}}"), [
    /spec\.may\.github\.pull\.max: Expected a number from 1 to 100/,
  ]],
  ["a review that says nothing", mayDo("{github: {review: {events: []}}}"), [
    /spec\.may\.github\.review\.events: Expected a list of at least one of comment/,
  ]],
  ["labels without names", mayDo("{github: {label: {}}}"), [
    /spec\.may\.github\.label: "label" allows nothing without "add" or "remove"/,
  ]],
  ["labels", mayDo("{github: {label: {add: [bug, 'area/*']}}}"), []],
  ["a branch", mayDo("{github: {pull: {branch: bot/svc-}}}"), []],
  ["every branch", mayDo("{github: {pull: {branch: ''}}}"), [
    /branch: Expected a text of at most 100 characters in one line, found an empty/,
  ]],
  ["the branch main", mayDo("{github: {pull: {branch: main}}}"), [
    /"main" cannot begin the branches/,
  ]],
  ["a branch above", mayDo("{github: {pull: {branch: ../}}}"), [/cannot begin the branches/]],
  ["a title of two lines", mayDo('{github: {pull: {title: "a\\nb"}}}'), [/title: .*in one line/]],
  ["a bracket left open", mayDo("{github: {pull: {paths: {deny: ['[a']}}}}"), [
    /spec\.may\.github\.pull\.paths\.deny\.0: "\[a" is not a glob/,
  ]],
  ["a bracket in a branch", mayDo("{github: {pull: {base: [main, '[a']}}}"), [
    /spec\.may\.github\.pull\.base\.1: /,
  ]],
  ["bytes", mayDo("{github: {push: {bytes: 64Mi}}}"), []],
  ["no bytes", mayDo("{github: {push: {bytes: 0Mi}}}"), [/bytes: The bytes of a change/]],
  ["too many bytes", mayDo("{github: {push: {bytes: 65Mi}}}"), [/from 1 to 64Mi, found 65Mi/]],
  ["bytes of a drive", mayDo("{github: {push: {bytes: 1Gi}}}"), [/a number of bytes, such as 4Mi/]],
  ["an approval", mayDo("{github: {review: {events: [comment, approve]}}}"), [
    /events\.1: A text from outside may talk the task into it/,
  ]],
  ["names of statuses", mayDo("{github: {status: {names: ['svc/*']}}}", AGENT), []],
  ["names that are no patterns", mayDo("{github: {status: {names: ['[']}}}"), [
    /spec\.may\.github\.status\.names\.0: "\[" is not a glob/,
  ]],
  ["any name, without an agent", mayDo("{github: {status: {}}}"), []],
  ["any name, with an agent", mayDo("{github: {status: {max: 2}}}", AGENT), [
    /spec\.may\.github\.status: An agent can report any name as green/,
  ]],
  ["no hold, without an agent", mayDo("{github: {pull: {hold: never}}}"), []],
  ["no hold, with an agent", mayDo("{github: {pull: {hold: never}}}", AGENT), [
    /spec\.may\.github\.pull\.hold: "never" sends what an agent has changed/,
  ]],
  ["no hold for all", mayDo("{github: {hold: never, push: {}}}", AGENT), [
    /spec\.may\.github\.hold: "never" sends/,
  ]],
  [
    "no hold under a stricter one",
    mayDo("{github: {hold: always, pull: {hold: never}}}", AGENT),
    [],
  ],
  [
    "a stricter hold under none",
    mayDo("{github: {hold: never, pull: {hold: protected}}}", AGENT),
    [],
  ],
  ["a step with less", mayDo("{github: {pull: {}}}", "{id: a, run: x, may: []}"), []],
  ["a step with the same", mayDo("{github: {pull: {}}}", "{id: a, run: x, may: [pull]}"), []],
  ["a step with more", mayDo("{github: {pull: {}}}", "{id: a, run: x, may: [pull, comment]}"), [
    /spec\.steps\.0\.may\.1: A step has no more than its workflow, which allows pull: add comment/,
  ]],
  ["a step of a workflow that says nothing", manifest("run: x", "may: [react]"), []],
  ["a step with more than by default", manifest("run: x", "may: [pull]"), [
    /spec\.steps\.0\.may\.0: .* allows comment, status, react: add pull to spec\.may\.github/,
  ]],
  ["a step with an unknown output", manifest("run: x", "may: [comments]"), [
    /spec\.steps\.0\.may\.0: /,
  ]],
  [
    "a step under finally with more",
    `${mayDo("{}")}  finally:\n    - {id: z, run: x, may: [status]}\n`,
    [/spec\.finally\.0\.may\.0: .* allows nothing/],
  ],
];

for (const [what, text, findings] of MAYS) {
  Deno.test(`Workflow may do ${what}`, () => {
    for (const forge of FORGES) {
      const lines = said(text.replaceAll("github", forge));
      equal(lines.length, findings.length, lines.join("\n"));
      for (const [index, { source }] of findings.entries()) {
        const finding = source.replaceAll("github", text.includes("github") ? forge : "github");
        match(lines[index] ?? "", new RegExp(finding));
      }
    }
  });
}

const FORGE_MAYS: readonly [what: string, text: string, findings: readonly RegExp[]][] = [
  ["check runs of any name", mayDo("{github: {check: {}}}", AGENT), [
    /spec\.may\.github\.check: An agent can report any name as green/,
  ]],
  ["check runs of some names", mayDo("{github: {check: {names: [svc]}}}", AGENT), []],
  ["a check run", mayDo("{gitlab: {check: {}}}"), [/spec\.may\.gitlab\.check: Unknown field/]],
  ["a repository of GitHub", mayDo("{github: {issue: {repository: a/b/c}}}"), [
    /repository: .*OWNER\/NAME/,
  ]],
  ["a review that asks for changes", mayDo("{gitlab: {review: {events: [request_changes]}}}"), [
    /review\.events\.0: .*comment.*approve/,
  ]],
  ["a project in two groups", mayDo("{gitlab: {issue: {repository: a/b/c}}}"), []],
  ["a project above", mayDo("{gitlab: {pull: {repository: a/../c}}}"), [
    /repository: .*GROUP\/PROJECT/,
  ]],
  [
    "a step with what one forge has",
    mayDo("{github: {pull: {}}, gitlab: {comment: {}}}", "{id: a, run: x, may: [comment, pull]}"),
    [],
  ],
  [
    "a step with what no forge has",
    mayDo("{github: {pull: {}}, gitlab: {comment: {}}}", "{id: a, run: x, may: [push]}"),
    [/allows comment, pull: add push to spec\.may\.github or spec\.may\.gitlab/],
  ],
];

for (const [what, text, findings] of FORGE_MAYS) {
  Deno.test(`Workflow may do, at one forge: ${what}`, () => {
    const lines = said(text);
    equal(lines.length, findings.length, lines.join("\n"));
    for (const [index, finding] of findings.entries()) match(lines[index] ?? "", finding);
  });
}
