/**
 * What a task may do at a forge: `may` of its plan, that of the step which asks, and the ceiling of the
 * Connection. Pure. It holds for every caller, a person too: a task does what its workflow declares.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { ForgeName, ReviewEvent } from "../base/forge_names.ts";
import type { ConnectionSpec } from "../resources/connection.ts";
import {
  bytesOf,
  declaredOutputs,
  END_OF_TASK,
  type ForgeMay,
  HOLD,
  type Hold,
  type May,
  type OutputName,
  OUTPUTS,
} from "../resources/may.ts";
import type { PathRules } from "./path_rules.ts";
import { plannedSteps } from "../resources/step_list.ts";

/** The limits of one output, with every default filled in. */
export interface OutputLimits {
  /** Most different units in one task; absent where any number is allowed. */
  readonly max?: number;
  /** Which messages wait for a person; without files, `protected` holds none. */
  readonly hold: Hold;
}

/** The limits of an output whose effect is a commit. */
export interface ChangeLimits extends OutputLimits {
  readonly max: number;
  readonly paths: PathRules;
  /** Most changed files. */
  readonly files: number;
  /** Most bytes of new content, unpacked. */
  readonly bytes: number;
  /** Patterns of paths in which forms of tokens are no secrets. */
  readonly secretsIn: readonly string[];
}

/** The limits of an output that a name tells apart at a commit. */
export interface NamedLimits extends OutputLimits {
  /** Patterns of the names that a step may give; any where absent. */
  readonly names?: readonly string[];
}

/** The limits of each output. */
export interface LimitsOf {
  readonly comment: OutputLimits;
  readonly status: NamedLimits;
  readonly react: OutputLimits;
  readonly check: NamedLimits & { readonly max: number };
  readonly checks: OutputLimits;
  readonly pull: ChangeLimits & {
    /** Patterns of branches; only the default branch of the repository where absent. */
    readonly base?: readonly string[];
    /** What the names of branches begin with. */
    readonly branch: string;
    readonly draft: boolean;
    /** Put before each title; may be empty. */
    readonly title: string;
    /** Labels that are always set. */
    readonly labels: readonly string[];
    /** Patterns of the labels that a step may add. */
    readonly allowLabels: readonly string[];
    readonly reviewers: readonly string[];
    /** Absent for the repository of the event. */
    readonly repository?: string;
  };
  readonly push: ChangeLimits & {
    /** Most of them onto one pull between two events of a person. */
    readonly rounds: number;
  };
  readonly issue: OutputLimits & {
    readonly max: number;
    readonly title: string;
    readonly labels: readonly string[];
    readonly allowLabels: readonly string[];
    /** Most issues of this workflow that are open at once. */
    readonly open: number;
    readonly repository?: string;
  };
  readonly label: OutputLimits & {
    readonly max: number;
    /** Patterns of the labels that a step may add, and remove; none where empty. */
    readonly add: readonly string[];
    readonly remove: readonly string[];
  };
  readonly review: OutputLimits & {
    readonly max: number;
    /** Most comments on lines. */
    readonly comments: number;
    readonly events: readonly ReviewEvent[];
  };
}

/** The limits of an output that `may` declares; `undefined` for one that it does not. */
export function limitsOf<Name extends OutputName>(
  may: May | undefined,
  forge: ForgeName,
  output: Name,
): LimitsOf[Name] | undefined {
  if (!declaredOutputs(may, forge).includes(output)) return undefined;
  return LIMITS[output](may?.[forge] ?? {}) as LimitsOf[Name];
}

/** The limits of each output as the block of a forge writes them, or by default. */
const LIMITS: { readonly [Name in OutputName]: (may: ForgeMay) => LimitsOf[Name] } = {
  comment: (may) => ({ ...maxOf(may.comment), hold: holdOf(may, may.comment?.hold) }),
  status: (may) => ({ ...maxOf(may.status), ...namesOf(may.status), hold: holdOf(may) }),
  react: (may) => ({ hold: holdOf(may) }),
  check: (may) => ({
    max: may.check?.max ?? 5,
    ...namesOf(may.check),
    hold: holdOf(may),
  }),
  checks: () => ({ hold: "never" }),
  pull: (may) => {
    const { base, branch = "svc/", draft = true, title = "", repository, ...pull } = may.pull ?? {};
    return {
      ...changeLimits(may, pull, 1),
      ...base === undefined ? {} : { base },
      branch,
      draft,
      title,
      labels: pull.labels ?? [],
      allowLabels: pull.allowLabels ?? [],
      reviewers: pull.reviewers ?? [],
      ...repository === undefined ? {} : { repository },
    };
  },
  push: (may) => ({ ...changeLimits(may, may.push ?? {}, 2), rounds: may.push?.rounds ?? 3 }),
  issue: (may) => {
    const { max = 1, title = "", labels = [], allowLabels = [], open = 5, repository, hold } =
      may.issue ?? {};
    const named = repository === undefined ? {} : { repository };
    return { max, title, labels, allowLabels, open, ...named, hold: holdOf(may, hold) };
  },
  label: (may) => {
    const { add = [], remove = [], max = 3, hold } = may.label ?? {};
    return { add, remove, max, hold: holdOf(may, hold) };
  },
  review: (may) => {
    const { max = 1, comments = 20, events = ["comment"], hold } = may.review ?? {};
    return { max, comments, events, hold: holdOf(may, hold) };
  },
};

const maxOf = (written: { readonly max?: number } | undefined) =>
  written?.max === undefined ? {} : { max: written.max };

const namesOf = (written: { readonly names?: readonly string[] } | undefined) =>
  written?.names === undefined ? {} : { names: written.names };

function changeLimits(
  may: ForgeMay,
  written: NonNullable<ForgeMay["push"]>,
  max: number,
): ChangeLimits {
  return {
    max: written.max ?? max,
    paths: { ...written.paths, workflows: written.workflows === true },
    files: written.files ?? 100,
    bytes: bytesOf(written.bytes ?? "4Mi"),
    secretsIn: written.secretsIn ?? [],
    hold: holdOf(may, written.hold),
  };
}

/** The stricter of what the output and what all outputs say; else protected files wait. */
function holdOf({ hold: all }: ForgeMay, own?: Hold): Hold {
  if (own === undefined || all === undefined) return own ?? all ?? "protected";
  return HOLD.indexOf(own) > HOLD.indexOf(all) ? own : all;
}

/** What `may` declares for a forge, with its limits. */
export function declaredLimits(
  may: May | undefined,
  forge: ForgeName,
): readonly { readonly output: OutputName; readonly limits: OutputLimits }[] {
  return OUTPUTS.flatMap((output) => {
    const limits = limitsOf(may, forge, output);
    return limits === undefined ? [] : [{ output, limits }];
  });
}

/** A task that is asked to do something, and on whose behalf. */
export interface OutputAsked {
  /** Where it is to be done. */
  readonly forge: ForgeName;
  /** Name of its workflow. */
  readonly workflow: string;
  /** Its plan; absent for a task that has none, because its workflow was missing. */
  readonly plan: MayPlan | undefined;
  /** Id of the step that asks, see {@linkcode askingStep}; absent for a person. */
  readonly step: string | undefined;
  /** The Connection through which it goes; absent where there is none yet. */
  readonly connection?: { readonly name: string; readonly spec: ConnectionSpec } | undefined;
}

/** The part of a plan that says what its task may do. */
export interface MayPlan {
  readonly may?: May;
  readonly steps: readonly MayStep[];
  readonly finally?: readonly MayStep[];
}

interface MayStep {
  readonly id: string;
  readonly may?: readonly OutputName[];
}

/**
 * The step on whose behalf a caller asks; `undefined` for a person.
 *
 * @throws {AppError} `forbidden` for a run that names none.
 */
export function askingStep(
  { grant }: { readonly grant?: { readonly stepId?: string } },
): string | undefined {
  if (grant === undefined || grant.stepId !== undefined) return grant?.stepId;
  throw new AppError("forbidden", "The run token names no step, so nothing says what it may do");
}

/** Why an output is not allowed, in one sentence; `undefined` where it is. */
export function findRefusal(output: OutputName, asked: OutputAsked): string | undefined {
  const { forge, workflow, plan, step: stepId, connection } = asked;
  const declared = declaredOutputs(plan?.may, forge);
  if (!declared.includes(output)) {
    return `may.${forge}.${output} is not in Workflow "${workflow}": when this task was made, it ` +
      `allowed ${listed(declared)}`;
  }
  if (stepId !== undefined && stepId !== END_OF_TASK) {
    const steps = plan === undefined ? [] : plannedSteps(plan);
    const step = steps.find(({ id }) => id === stepId);
    if (step === undefined) return `this task has no step "${stepId}"`;
    if (step.may !== undefined && !step.may.includes(output)) {
      return `may of step "${stepId}" does not have ${output}: it allows ${listed(step.may)}`;
    }
  }
  return connection && findCeiling(output, connection);
}

/** Why a Connection lets nothing of an output through; `undefined` where it does. */
export function findCeiling(
  output: OutputName,
  { name, spec: { allow } }: { readonly name: string; readonly spec: ConnectionSpec },
): string | undefined {
  if (allow?.outputs === undefined || allow.outputs.includes(output)) return undefined;
  return `allow.outputs of Connection "${name}" does not have ${output}: it allows ` +
    listed(allow.outputs);
}

const listed = (outputs: readonly OutputName[]) =>
  outputs.length === 0 ? "nothing" : outputs.join(", ");

/**
 * The limits of an output that a caller asks for.
 *
 * @throws {AppError} `refused` where it is not allowed.
 */
export function limitsFor<Name extends OutputName>(
  output: Name,
  asked: OutputAsked,
): LimitsOf[Name] {
  const refusal = findRefusal(output, asked);
  const limits = limitsOf(asked.plan?.may, asked.forge, output);
  if (refusal === undefined && limits !== undefined) return limits;
  throw new AppError("refused", refusal ?? `may.${asked.forge}.${output} is not allowed`);
}
