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
import type { ConnectionSpec } from "../../src/resources/connection.ts";
import { declaredOutputs, type May, OUTPUTS } from "../../src/resources/may.ts";

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
  return { workflow: "fix", plan, step: undefined, ...more };
}

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
  };
  for (const output of OUTPUTS) {
    deepEqual(limitsOf({ github: { [output]: {} } }, output), defaults[output]);
    equal(limitsOf({}, output), undefined);
  }
  deepEqual(OUTPUTS.filter((output) => limitsOf(undefined, output) !== undefined), [
    ...declaredOutputs(undefined),
  ]);
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
  deepEqual(limitsOf({ github: { pull } }, "pull"), {
    ...limits,
    paths: { ...pull.paths, workflows },
    bytes: 65_536,
    hold: "protected",
  });
  deepEqual(limitsOf({ github: { comment: { max: 2 } } }, "comment"), {
    max: 2,
    hold: "protected",
  });
  equal(limitsOf({ github: { push: { bytes: 5 } } }, "push")?.bytes, 5);
});

Deno.test("may: of two holds the stricter one counts", () => {
  const holds = ["never", "protected", "always"] as const;
  const found = holds.map((all) =>
    holds.map((own) => limitsOf({ github: { hold: all, pull: { hold: own } } }, "pull")?.hold)
  );
  deepEqual(found, [
    ["never", "protected", "always"],
    ["protected", "protected", "always"],
    ["always", "always", "always"],
  ]);
  equal(limitsOf({ github: { hold: "never", pull: {} } }, "pull")?.hold, "never");
  equal(limitsOf({ github: { pull: { hold: "never" } } }, "pull")?.hold, "never");
  for (const output of ["status", "react", "check"] as const) {
    equal(limitsOf({ github: { hold: "always", [output]: {} } }, output)?.hold, "always");
  }
});

Deno.test("may: a run that names no step may do nothing", () => {
  equal(askingStep({}), undefined);
  equal(askingStep({ grant: { stepId: "fix" } }), "fix");
  throws(() => askingStep({ grant: {} }), { name: "AppError", code: "forbidden" });
});
