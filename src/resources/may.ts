/**
 * `may` of a Workflow: what its tasks may do at a forge, how often, and on which paths. A
 * plan copies it, so that nothing which is applied later widens a task.
 *
 * @module
 */

import Type from "typebox";
import { type ForgeName, FORGES, REVIEW_EVENTS } from "../base/forge_names.ts";
import { REPOSITORY_PATTERN } from "../base/github_names.ts";
import { PROJECT_PATTERN } from "../base/gitlab_names.ts";
import { findGlobFault } from "../base/glob.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";

const CLOSED = { additionalProperties: false };

/**
 * What a task may do at a forge; each is a field of `may.github`, and all but `check` of `may.gitlab`.
 * `checks` reads, all others write.
 */
export const OUTPUTS = [
  "comment",
  "status",
  "react",
  "pull",
  "push",
  "issue",
  "label",
  "review",
  "check",
  "checks",
] as const;
/** One of {@linkcode OUTPUTS}. */
export type OutputName = typeof OUTPUTS[number];

/** What a workflow without `may` may do. */
export const DEFAULT_OUTPUTS: readonly OutputName[] = ["comment", "status", "react"];

/**
 * Stands in a run token for the end of a task, where the daemon itself makes what its trigger reports. No
 * step has this name.
 */
export const END_OF_TASK = "end of task";

/** Which messages wait until a person sends them. */
export const HOLD = ["never", "protected", "always"] as const;
/** One of {@linkcode HOLD}. */
export type Hold = typeof HOLD[number];

const Hold = Type.Enum([...HOLD]);
const Max = Type.Integer({ minimum: 1, maximum: 100, title: "a number from 1 to 100" });
const Glob = Type.String({ minLength: 1, maxLength: 300, title: 'a pattern, such as "src/**"' });
const Globs = Type.Array(Glob, { minItems: 1, maxItems: 100, title: "a list of patterns" });
const Line = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: "^[^\\x00-\\x1f\\x7f]*$",
  title: "a text of at most 100 characters in one line",
});
const Labels = Type.Array(Line, { maxItems: 20, title: "a list of labels" });

/** The paths that a change may touch. */
const Paths = Type.Object({
  allow: Type.Optional(Globs),
  deny: Type.Optional(Globs),
  free: Type.Optional(Globs),
}, CLOSED);

/** The fields of each output whose effect is a commit. */
const CHANGE = {
  max: Type.Optional(Max),
  paths: Type.Optional(Paths),
  files: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  bytes: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1 }), Type.String({ pattern: "^[0-9]{1,9}(Ki|Mi)?$" })], {
      title: "a number of bytes, such as 4Mi",
    }),
  ),
  workflows: Type.Optional(Type.Boolean()),
  secretsIn: Type.Optional(Globs),
  hold: Type.Optional(Hold),
};

/** What sets a color of a commit, which a branch may require before a merge. */
const Color = Type.Object({ max: Type.Optional(Max), names: Type.Optional(Globs) }, CLOSED);

/** The fields that the block of every forge has. */
const forgeFields = (forge: ForgeName, repository: Type.TString) => ({
  hold: Type.Optional(Hold),
  comment: Type.Optional(
    Type.Object({ max: Type.Optional(Max), hold: Type.Optional(Hold) }, CLOSED),
  ),
  status: Type.Optional(Color),
  react: Type.Optional(Type.Object({}, CLOSED)),
  pull: Type.Optional(Type.Object({
    ...CHANGE,
    base: Type.Optional(Globs),
    branch: Type.Optional(Line),
    draft: Type.Optional(Type.Boolean()),
    title: Type.Optional(Line),
    labels: Type.Optional(Labels),
    allowLabels: Type.Optional(Globs),
    reviewers: Type.Optional(Type.Array(Line, { maxItems: 15 })),
    repository: Type.Optional(repository),
  }, CLOSED)),
  push: Type.Optional(Type.Object({
    ...CHANGE,
    rounds: Type.Optional(Max),
  }, CLOSED)),
  issue: Type.Optional(Type.Object({
    max: Type.Optional(Max),
    title: Type.Optional(Line),
    labels: Type.Optional(Labels),
    allowLabels: Type.Optional(Globs),
    open: Type.Optional(Max),
    repository: Type.Optional(repository),
    hold: Type.Optional(Hold),
  }, CLOSED)),
  label: Type.Optional(Type.Object({
    add: Type.Optional(Globs),
    remove: Type.Optional(Globs),
    max: Type.Optional(Max),
    hold: Type.Optional(Hold),
  }, CLOSED)),
  review: Type.Optional(Type.Object({
    max: Type.Optional(Max),
    comments: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
    events: Type.Optional(
      Type.Array(Type.Enum([...REVIEW_EVENTS[forge]]), {
        minItems: 1,
        title: `a list of at least one of ${REVIEW_EVENTS[forge].join(", ")}`,
      }),
    ),
    hold: Type.Optional(Hold),
  }, CLOSED)),
  checks: Type.Optional(Type.Enum(["read"], { title: "read" })),
});

const GitHubMay = Type.Object({
  ...forgeFields(
    "github",
    Type.String({ pattern: REPOSITORY_PATTERN, title: "a repository: OWNER/NAME" }),
  ),
  check: Type.Optional(Color),
}, CLOSED);

const GitLabMay = Type.Object(
  forgeFields(
    "gitlab",
    Type.String({ pattern: PROJECT_PATTERN, title: "a project: GROUP/PROJECT" }),
  ),
  CLOSED,
);

/** Schema of `spec.may`. */
export const May = Type.Object({
  github: Type.Optional(GitHubMay),
  gitlab: Type.Optional(GitLabMay),
}, CLOSED);
/** `spec.may` as written by the user. */
export type May = Type.Static<typeof May>;
/** The block of a forge as written by the user; only that of GitHub has `check`. */
export type ForgeMay = Type.Static<typeof GitHubMay>;

/** `may` of a step: the outputs of its workflow that it may ask for; none where it is empty. */
export const StepMay = Type.Array(Type.Enum([...OUTPUTS]), {
  uniqueItems: true,
  title: "a list of outputs, such as [comment]; [] is none",
});

/** The number of bytes that a field stands for; the checks refuse any other text at apply. */
export function bytesOf(written: string | number): number {
  const [, number = "", unit = ""] = /^([0-9]+)(Ki|Mi|)$/.exec(String(written)) ?? [];
  return Number(number) * BYTES[unit as keyof typeof BYTES];
}

const BYTES = { "": 1, Ki: 1024, Mi: 1024 ** 2 };

/** Most bytes of new content, whatever a workflow allows. */
const MOST_BYTES = 64 * BYTES.Mi;

/** Checks of `may` that a schema cannot express. */
export function checkMay(may: May | undefined, at: FieldPath): Finding[] {
  return FORGES.flatMap((forge) => checkForge(may?.[forge] ?? {}, [...at, forge]));
}

function checkForge(may: ForgeMay, path: FieldPath): Finding[] {
  const { pull, push, issue, label, review, status, check } = may;
  const globs: readonly (readonly [fields: FieldPath, patterns: readonly string[] | undefined])[] =
    [
      ...Object.entries({ pull, push }).flatMap(([name, output]) => [
        ...Object.entries(output?.paths ?? {}).map(([list, patterns]) =>
          [[name, "paths", list], patterns] as const
        ),
        [[name, "secretsIn"], output?.secretsIn] as const,
      ]),
      [["pull", "base"], pull?.base],
      [["pull", "allowLabels"], pull?.allowLabels],
      [["issue", "allowLabels"], issue?.allowLabels],
      [["label", "add"], label?.add],
      [["label", "remove"], label?.remove],
      [["status", "names"], status?.names],
      [["check", "names"], check?.names],
    ];
  return [
    ...globs.flatMap(([fields, patterns = []]) => checkGlobs(patterns, [...path, ...fields])),
    ...checkBytes(pull?.bytes, [...path, "pull", "bytes"]),
    ...checkBytes(push?.bytes, [...path, "push", "bytes"]),
    ...checkBranch(pull?.branch, [...path, "pull", "branch"]),
    ...checkLabel(label, [...path, "label"]),
    ...checkEvents(review?.events, [...path, "review", "events"]),
  ];
}

function checkGlobs(patterns: readonly string[], at: FieldPath): Finding[] {
  return patterns.flatMap((pattern, index) => {
    const fault = findGlobFault(pattern);
    return fault === undefined ? [] : [errorAt([...at, index], fault)];
  });
}

function checkBytes(written: string | number | undefined, at: FieldPath): Finding[] {
  if (written === undefined) return [];
  const bytes = bytesOf(written);
  if (bytes >= 1 && bytes <= MOST_BYTES) return [];
  return [errorAt(at, `The bytes of a change are from 1 to 64Mi, found ${written}`)];
}

/** What git takes as the beginning of a branch, and what no other branch of the repository begins with. */
const BRANCH = /^[a-z0-9][a-z0-9_-]*(\/[a-z0-9_-]+)*[/-]$/;

function checkBranch(prefix: string | undefined, at: FieldPath): Finding[] {
  if (prefix === undefined || BRANCH.test(prefix)) return [];
  return [errorAt(
    at,
    `"${prefix}" cannot begin the branches of svc: take small letters, digits, _ and -, with / or - ` +
      'at its end, such as "svc/"',
  )];
}

function checkLabel(label: ForgeMay["label"], at: FieldPath): Finding[] {
  if (label === undefined || label.add !== undefined || label.remove !== undefined) return [];
  return [errorAt(at, '"label" allows nothing without "add" or "remove": name the labels')];
}

function checkEvents(events: readonly string[] | undefined, at: FieldPath): Finding[] {
  const index = events?.indexOf("approve") ?? -1;
  if (index === -1) return [];
  return [warningAt(
    [...at, index],
    "A text from outside may talk the task into it: an approval of svc counts like one of a person",
  )];
}

/** Checks the field `may` of a step against that of its workflow, whichever forge it is for. */
export function checkStepMay(
  written: readonly OutputName[] | undefined,
  may: May | undefined,
  at: FieldPath,
): Finding[] {
  const any = FORGES.flatMap((forge) => declaredOutputs(may, forge));
  const declared = OUTPUTS.filter((output) => any.includes(output));
  const has = declared.length === 0 ? "nothing" : declared.join(", ");
  const used = FORGES.filter((forge) => may?.[forge] !== undefined);
  const where = (used.length === 0 ? FORGES : used).map((forge) => `spec.may.${forge}`).join(
    " or ",
  );
  return (written ?? []).flatMap((output, index) =>
    declared.includes(output) ? [] : [errorAt(
      [...at, index],
      `A step has no more than its workflow, which allows ${has}: add ${output} to ${where}`,
    )]
  );
}

/** The outputs that a workflow declares for a forge; without `may`, those of old. */
export function declaredOutputs(
  may: May | undefined,
  forge: ForgeName,
): readonly OutputName[] {
  if (may === undefined) return DEFAULT_OUTPUTS;
  const written: ForgeMay = may[forge] ?? {};
  return OUTPUTS.filter((output) => written[output] !== undefined);
}
