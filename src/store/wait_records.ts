/**
 * Records of waits: what a step of a task waits for, apart from an agent. A wait is open once and over
 * once.
 *
 * @module
 */

/** What a wait waits for. */
export const WAIT_KINDS = ["time"] as const;
/** One of {@linkcode WAIT_KINDS}. */
export type WaitKind = typeof WAIT_KINDS[number];

/** How a wait has ended: its time came, a person let the task go on, or its task was cancelled or ended. */
export type WaitEnd =
  | { readonly by: "time" }
  | { readonly by: "hand"; readonly who: string; readonly reason: string }
  | { readonly by: "task" };

/** What a step asks to wait for. */
export interface AskedWait {
  readonly taskId: string;
  /** Position of the step in its workflow. */
  readonly position: number;
  readonly project: string;
  readonly kind: WaitKind;
  /** When it is over by itself, in milliseconds since the epoch. */
  readonly dueAt: number;
  /** Whether the time is counted from when it opens: then a clock that is set back moves it. */
  readonly isRelative: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The wait of a step, as it is stored. */
export interface Wait extends Omit<AskedWait, "now"> {
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Absent while it is open. */
  readonly end?: WaitEnd & { readonly at: number };
}

/** An open wait in a list. */
export interface ListedWait extends Omit<Wait, "end"> {
  /** Id of the step. */
  readonly step: string;
  readonly trigger: string;
  readonly workflow: string;
}

/** Filter of a list of open waits. */
export interface WaitQuery {
  readonly project?: string;
  /** Name of the trigger of their tasks. */
  readonly trigger?: string;
  /** Only those of this task, by their position. */
  readonly taskId?: string;
  readonly limit: number;
}

/** What came of a request to end a wait by hand. */
export type ContinueResult =
  /** The task goes on. */
  | { readonly is: "over" }
  /** Somebody or something else was first. */
  | { readonly is: "was over"; readonly end: WaitEnd & { readonly at: number } }
  /** The step has no wait. */
  | { readonly is: "none" }
  /** The task has ended, or is being cancelled. */
  | { readonly is: "ended" };
