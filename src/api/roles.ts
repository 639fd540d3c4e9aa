/**
 * Who may call the control plane: people and programs by role, and what the daemon runs by its run
 * token.
 *
 * @module
 */

/** Roles of people and of bearer tokens, weakest first; each may do what those before it may. */
export const ROLES = ["read_only", "operator", "admin"] as const;
/** One of {@linkcode ROLES}. */
export type Role = typeof ROLES[number];

/** What the daemon gives a run token to: the steps of a task, a plugin or hook, a cron plugin. */
export const RUN_KINDS = ["step", "plugin", "cron"] as const;
/** One of {@linkcode RUN_KINDS}. */
export type RunKind = typeof RUN_KINDS[number];

/**
 * How far a run token reaches with an operation: everything, or only what is the run's own, which
 * the field `in` of the input names.
 */
export type Scope<Field extends string = string> = "everything" | {
  /** The run's own task, the delivery that started it, or the project it belongs to. */
  readonly own: "task" | "delivery" | "project";
  /**
   * Field of the input that names it; a task or delivery by the beginning of its id, or several.
   */
  readonly in: Field;
};

/** Which run tokens may use an operation, and how far; a kind of run that is not named may not. */
export type Grants<Field extends string = string> = {
  readonly [Kind in RunKind]?: Scope<Field>;
};

/** Who may use an operation. */
export interface Access<Field extends string = string> {
  /** The least role of people and of bearer tokens. */
  readonly role: Role;
  /** What run tokens may do; a run token has no role. */
  readonly grants: Grants<Field>;
}

/** Reading what `svc get` shows: every run may. */
export const EVERY_RUN: Grants<never> = {
  step: "everything",
  plugin: "everything",
  cron: "everything",
};
