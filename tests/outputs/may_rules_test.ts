/**
 * What a task may do: its workflow's `may`, its step's, the ceiling of the Connection, and the limits
 * that count where nothing is written.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import {
  askingStep,
  findRefusal,
  limitsFor,
  limitsOf,
  type MayPlan,
  type OutputAsked,
} from "../../src/outputs/may_rules.ts";
import { type ForgeName, FORGES } from "../../src/base/forge_names.ts";
import type { ConnectionSpec } from "../../src/resources/connection.ts";
import { declaredOutputs, type May, type OutputName, OUTPUTS } from "../../src/resources/may.ts";

const github = { repository: "acme/site", token: { fromSecret: { store: "acme", key: "token" } } };
const connectionWith = (allow?: NonNullable<ConnectionSpec["allow"]>) => ({
  name: "acme",
  spec: { github, ...allow === undefined ? {} : { allow } },
});

/** A task of workflow `fix`, with one step of each kind. */
function asked(may: May | undefined, more: Partial<OutputAsked> = {}): OutputAsked {
  const plan: MayPlan = {
    ...may === undefined ? {} : { may },
    steps: [{ id: "fix", may: [] }, { id: "talk", may: ["comment"] }, { id: "open" }],
    finally: [{ id: "last" }],
  };
  return { forge: "github", workflow: "fix", plan, step: undefined, ...more };
}

/** Those that a forge has. */
const outputsAt = (forge: ForgeName): readonly OutputName[] =>
  OUTPUTS.filter((output) => forge === "github" || output !== "check");

Deno.test("may: what is allowed is what workflow, step and Connection all allow", () => {
  const may: May = { github: { comment: {}, pull: {}, label: {} } };
  const rows: [what: string, asked: OutputAsked, allowed: string][] = [
    ["no may", asked(undefined), "comment status react"],
    ["no plan", asked(undefined, { plan: undefined }), "comment status react"],
    ["no may, a step", asked(undefined, { step: "open" }), "comment status react"],
    ["an empty may", asked({}), ""],
    ["an empty may.github", asked({ github: {} }), ""],
    ["a person", asked(may), "comment pull label"],
    ["a step without may", asked(may, { step: "open" }), "comment pull label"],
    ["a step under finally", asked(may, { step: "last" }), "comment pull label"],
    ["a step with an empty may", asked(may, { step: "fix" }), ""],
    ["a step with less", asked(may, { step: "talk" }), "comment"],
    ["a step that is not there", asked(may, { step: "other" }), ""],
    ["a step without a plan", asked(may, { step: "fix", plan: undefined }), ""],
    ["a Connection", asked(may, { connection: connectionWith() }), "comment pull label"],
    [
      "targets alone",
      asked(may, { connection: connectionWith({ targets: [] }) }),
      "comment pull label",
    ],
    [
      "a ceiling",
      asked(may, { connection: connectionWith({ outputs: ["pull", "push"] }) }),
      "pull",
    ],
    ["the switch", asked(may, { connection: connectionWith({ outputs: [] }) }), ""],
    [
      "all three",
      asked(may, { step: "talk", connection: connectionWith({ outputs: ["pull"] }) }),
      "",
    ],
  ];
  deepEqual(
    rows.map(([what, one]) => [
      what,
      OUTPUTS.filter((output) => findRefusal(output, one) === undefined).join(" "),
    ]),
    rows.map(([what, , allowed]) => [what, allowed]),
  );
});

Deno.test("may: a refusal names the rule, and what it allows", () => {
  const may: May = { github: { pull: {}, comment: {} } };
  const refusal = (output: "push" | "pull", one: OutputAsked) => `${findRefusal(output, one)}`;
  match(
    refusal("pull", asked(undefined)),
    /^may\.github\.pull is not in Workflow "fix": .*comment, status, react$/,
  );
  match(refusal("push", asked({})), /^may\.github\.push .* it allowed nothing$/);
  match(
    refusal("pull", asked(may, { step: "talk" })),
    /^may of step "talk" does not have pull: it allows comment$/,
  );
  match(refusal("pull", asked(may, { step: "gone" })), /no step "gone"$/);
  match(
    refusal("pull", asked(may, { connection: connectionWith({ outputs: [] }) })),
    /^allow\.outputs of Connection "acme" does not have pull: it allows nothing$/,
  );
  throws(() => limitsFor("push", asked(may)), { name: "AppError", code: "refused" });
});

Deno.test("may: the block of one forge allows nothing at another", () => {
  const may: May = { github: { pull: {} }, gitlab: { comment: {} } };
  const at = (forge: ForgeName) =>
    OUTPUTS.filter((output) => findRefusal(output, asked(may, { forge })) === undefined);
  deepEqual(FORGES.map(at), [["pull"], ["comment"]]);
  match(
    `${findRefusal("pull", asked(may, { forge: "gitlab" }))}`,
    /^may\.gitlab\.pull is not in Workflow "fix": .* it allowed comment$/,
  );
  throws(() => limitsFor("pull", asked(may, { forge: "gitlab" })), { code: "refused" });
  for (const forge of FORGES) deepEqual([...declaredOutputs({}, forge)], []);
});

Deno.test("may: every output has limits by default, and only where it is declared", () => {
  const paths = { workflows: false };
  const change = { paths, files: 100, bytes: 4 * 1024 * 1024, secretsIn: [], hold: "protected" };
  const defaults = {
    comment: { hold: "protected" },
    status: { hold: "protected" },
    react: { hold: "protected" },
    pull: {
      ...change,
      max: 1,
      branch: "svc/",
      draft: true,
      title: "",
      labels: [],
      allowLabels: [],
      reviewers: [],
    },
    push: { ...change, max: 2, rounds: 3 },
    issue: { max: 1, title: "", labels: [], allowLabels: [], open: 5, hold: "protected" },
    label: { add: [], remove: [], max: 3, hold: "protected" },
    review: { max: 1, comments: 20, events: ["comment"], hold: "protected" },
    check: { max: 5, hold: "protected" },
    checks: { hold: "never" },
  };
  for (const forge of FORGES) {
    for (const output of outputsAt(forge)) {
      deepEqual(limitsOf({ [forge]: { [output]: {} } }, forge, output), defaults[output]);
      equal(limitsOf({}, forge, output), undefined);
    }
    deepEqual(OUTPUTS.filter((output) => limitsOf(undefined, forge, output) !== undefined), [
      ...declaredOutputs(undefined, forge),
    ]);
  }
});

Deno.test("may: what is written counts", () => {
  const pull = {
    max: 3,
    base: ["main", "release/*"],
    branch: "bot/",
    draft: false,
    title: "[svc] ",
    labels: ["automated"],
    allowLabels: ["area/*"],
    reviewers: ["acme/core"],
    paths: { allow: ["src/**"], deny: ["**/*.pem"], free: ["package.json"] },
    files: 7,
    bytes: "64Ki",
    workflows: true,
    secretsIn: ["tests/**"],
    repository: "acme/site",
  };
  const { workflows, ...limits } = pull;
  for (const forge of FORGES) {
    deepEqual(limitsOf({ [forge]: { pull } }, forge, "pull"), {
      ...limits,
      paths: { ...pull.paths, workflows },
      bytes: 65_536,
      hold: "protected",
    });
    deepEqual(limitsOf({ [forge]: { comment: { max: 2 } } }, forge, "comment"), {
      max: 2,
      hold: "protected",
    });
    equal(limitsOf({ [forge]: { push: { bytes: 5 } } }, forge, "push")?.bytes, 5);
  }
});

for (const forge of FORGES) {
  Deno.test(`may: of two holds the stricter one counts, at ${forge}`, () => {
    const holds = ["never", "protected", "always"] as const;
    const holdOf = (written: NonNullable<May["github"]>, output: OutputName = "pull") =>
      limitsOf({ [forge]: written }, forge, output)?.hold;
    const found = holds.map((all) =>
      holds.map((own) => holdOf({ hold: all, pull: { hold: own } }))
    );
    deepEqual(found, [
      ["never", "protected", "always"],
      ["protected", "protected", "always"],
      ["always", "always", "always"],
    ]);
    equal(holdOf({ hold: "never", pull: {} }), "never");
    equal(holdOf({ pull: { hold: "never" } }), "never");
    for (const output of outputsAt(forge)) {
      const isRead = output === "checks"; // it has no message that could wait
      equal(holdOf({ hold: "always", [output]: {} }, output), isRead ? "never" : "always");
    }
  });
}

Deno.test("may: a run that names no step may do nothing", () => {
  equal(askingStep({}), undefined);
  equal(askingStep({ grant: { stepId: "fix" } }), "fix");
  throws(() => askingStep({ grant: {} }), { name: "AppError", code: "forbidden" });
});
