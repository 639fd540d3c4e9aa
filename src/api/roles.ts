/**
 * Access to the control plane: people and programs have a role; runs of steps and plugins have a
 * run token with grants.
 *
 * @module
 */

import type { Role } from "../base/roles.ts";

/** Kinds of runs that get a run token: the steps of a task, a plugin or hook, a cron plugin. */
export const RUN_KINDS = ["step", "plugin", "cron"] as const;
/** One of {@linkcode RUN_KINDS}. */
export type RunKind = typeof RUN_KINDS[number];

/**
 * Scope of a grant: everything, or only what belongs to the run, as named by the field `in` of the
 * input.
 */
export type Scope<Field extends string = string> = "everything" | {
  /** The run's own task, the delivery that started it, or the project it belongs to. */
  readonly own: "task" | "delivery" | "project";
  /** Field of the input that names it, or a list of them. */
  readonly in: Field;
};

/**
 * Which kinds of runs may use an operation, and with which scope; kinds that are absent may not.
 */
export type Grants<Field extends string = string> = {
  readonly [Kind in RunKind]?: Scope<Field>;
};

/** The access that an operation needs. */
export interface Access<Field extends string = string> {
  /** Least role of people and of bearer tokens. */
  readonly role: Role;
  /** Grants of run tokens; a run token has no role. */
  readonly grants: Grants<Field>;
}

/** Grants of operations that read what `svc get` shows: every run may. */
export const EVERY_RUN: Grants<never> = {
  step: "everything",
  plugin: "everything",
  cron: "everything",
};
