/**
 * The operations on tasks.
 *
 * @module
 */

import Type from "typebox";
import type { OutputName } from "../resources/may.ts";
import {
  defineOperation,
  json,
  lines,
  OPTIONAL_SECS,
  OPTIONAL_TEXT,
  TASK,
  TEXT,
  VALUES,
} from "./operation.ts";
import type { TaskRecord } from "./records.ts";
import { EVERY_RUN } from "./roles.ts";
import type { SandboxRules } from "./sandbox_operations.ts";

/** The result of cancelling one task. */
export interface CancelResult {
  readonly id: string;
  /** `cancelled` before it started, `stopping` while it runs, `ended` when it had ended already. */
  readonly result: "cancelled" | "stopping" | "ended";
  readonly state: string;
}

/** A line about the tasks that match: their number, and of children left out; then the result of each. */
export type MatchingLine = { readonly total: number; readonly left_out?: number } | {
  readonly task_id: string;
  /** Its state, after a cancel. */
  readonly state: string;
  /** The result of a cancel; absent in a dry run. */
  readonly result?: CancelResult["result"];
  /** The task that retries it; absent in a dry run. */
  readonly new_task_id?: string;
  readonly note?: string;
  /** Why nothing was done to it. */
  readonly error?: string;
};

/** A line of a wait: an ended task as `get` shows it, or a keepalive. */
export type WaitLine =
  | { readonly task: Readonly<Record<string, unknown>> }
  | { readonly open: number }
  | {
    /** Ids of those that have not ended in time. */
    readonly timed_out: readonly string[];
    /** These tasks as `get` shows them, in the same order. */
    readonly tasks: readonly TaskRecord[];
  };

/** A message to a task. */
export interface InboxEntry {
  /** Place in the inbox, from 0. */
  readonly position: number;
  /** RFC 3339. */
  readonly created_at: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** One of the things that a step waits for. */
type PlannedWait = { for?: string | number; until?: string; trigger?: string; message?: boolean };

/** A step as a task runs it, whatever was applied since. */
export interface PlannedStepView {
  readonly id: string;
  /** `run` is a shell line, `workflow` starts the one that `workflow` names. */
  readonly kind: "run" | "agent" | "wait" | "approval" | "workflow" | "repeat";
  /** How often its steps run; absent of a step without `repeat`. */
  readonly repeat?: { readonly max: number; readonly until: string };
  /** Id of the step whose `repeat` has it; absent of any other step. */
  readonly within?: string;
  /** What it waits for, as it is written; absent of any other kind. */
  readonly wait_for?: Readonly<PlannedWait & { any?: readonly PlannedWait[] }>;
  readonly workflow?: string;
  /** Name of the Agent; `null` for a step without one. */
  readonly agent: string | null;
  /** The Agents that take over from it, in this order, and the sandbox that it has with each. */
  readonly fallbacks: readonly Pick<PlannedStepView, "agent" | "sandbox">[];
  /** Ids of the steps in `needs`, else of the one before it; none for the first one of a `repeat`. */
  readonly needs: readonly string[];
  /** Its condition, in CEL. */
  readonly when: string | null;
  /** Whether it runs after all others, whatever became of them. */
  readonly finally: boolean;
  /** Time limit of each attempt; `null` if it has none of its own: then only the task's may end it. */
  readonly timeout_secs: number | null;
  /** What has set the limit. `step-timeout` is the present setting of this daemon. */
  readonly timeout_from: "step" | "agent" | "finally" | "step-timeout" | null;
  /** Most attempts, the first one included. */
  readonly attempts: number;
  /** Whether the task goes on when it fails. */
  readonly continue_on_error: boolean;
  /** What it may do at a platform; `null` for everything that its workflow may. */
  readonly may: readonly OutputName[] | null;
  /** Its sandbox; `none` if its manifest says so, `null` where nothing asks for one. */
  readonly sandbox: "none" | PlannedSandboxView | null;
}

/** The sandbox that a step is to have. */
export interface PlannedSandboxView extends SandboxRules {
  /** Name of the Sandbox; `null` for one without a name. */
  readonly name: string | null;
  /** Whether it is the one that an agent has if nothing is said. */
  readonly default: boolean;
  /** Whether only the present setting `require-sandbox` of this daemon asks for it. */
  readonly required: boolean;
  /** Paths that it may read, as they are written. */
  readonly read: readonly string[];
  /** Paths that it may also write. */
  readonly write: readonly string[];
}

/** A piece of a task's output. */
export interface LogEntry {
  /** RFC 3339. */
  readonly at: string;
  /** Id of the step. */
  readonly step: string;
  /**
   * `out` or `err`; `svc` for lines of svc's own, such as why the step failed; `raw` for what an agent
   * printed, if that was asked for.
   */
  readonly stream: "out" | "err" | "svc" | "raw";
  /** The bytes in base64. */
  readonly data: string;
}

/** A line of a task's output. */
export interface LogText {
  /**
   * Where the piece of output begins that has the start of the line, in the log file. Together with
   * `n`, the number of the line in that piece, it identifies the line.
   */
  readonly offset: number;
  readonly n: number;
  /** RFC 3339, when the line began. */
  readonly at: string;
  readonly step: string;
  readonly stream: "out" | "err" | "svc" | "raw";
  /** Without its line break; bytes that are no UTF-8 are U+FFFD. */
  readonly text: string;
  /** How many bytes of a long line were left out. */
  readonly cut?: number;
  /** The line is not finished: a later entry repeats it from its start. */
  readonly open?: true;
}

/** A part of a task's output. */
export interface LogPageView {
  /** Bytes of the log file. */
  readonly size: number;
  /** The beginning of the part: as `before`, it asks for the lines that precede it. */
  readonly start: number;
  /** The end of the part: as `after`, it asks for the lines that follow it. */
  readonly end: number;
  /** Whether the part reaches to the first line. */
  readonly at_start: boolean;
  /** Whether it reaches to the last one. */
  readonly at_end: boolean;
  readonly lines: readonly LogText[];
}

/** The last line of a log stream. */
export interface LogEnd {
  readonly state: string;
  /** Why the task ended so; empty when there is no reason to give. */
  readonly reason: string;
}

/** A place in a log file, in bytes. */
const LOG_OFFSET = Type.Optional(Type.Integer({ minimum: 0 }));
/** Text that lines are to contain, in whichever case. */
const SEARCHED = Type.Optional(Type.String({ minLength: 1, maxLength: 1000 }));

/** Which tasks to cancel or retry; at least one of the last four fields is needed. */
const MATCHING = {
  project: OPTIONAL_TEXT,
  trigger: OPTIONAL_TEXT,
  workflow: OPTIONAL_TEXT,
  state: OPTIONAL_TEXT,
  since_secs: OPTIONAL_SECS,
  dry_run: Type.Optional(Type.Boolean({ description: "Only lists which tasks match" })),
};

const TASK_IDS = Type.Array(TASK, { minItems: 1, maxItems: 1000 });

/** The operations on tasks, by name. */
export const TASK_OPERATIONS = {
  "task": defineOperation({
    summary: "Finds one task",
    input: { id: TASK },
    output: json<TaskRecord>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
    tool: {
      for: "person",
      description: "One task with its steps: their states, reasons, exit codes and outputs.",
      readOnly: true,
      fromOutside: true,
    },
  }),
  "task.logs": defineOperation({
    summary: "Streams the output of a task: `LogEntry` lines, then one `LogEnd`",
    input: {
      id: TASK,
      step: OPTIONAL_TEXT,
      follow: Type.Boolean(),
      tail: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })),
      since_secs: OPTIONAL_SECS,
      contains: SEARCHED,
      raw: Type.Optional(
        Type.Boolean({ description: "Only what agents printed, before svc made lines of it" }),
      ),
    },
    output: lines<LogEntry | LogEnd>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
  }),
  "task.plan": defineOperation({
    summary: "Shows the steps that a task runs and what each waits for, as copied when it was made",
    input: { id: TASK },
    output: json<{
      readonly id: string;
      readonly workflow: string;
      /** As `reason` of the task; empty where there is none. */
      readonly reason: string;
      /** `false` when it never got a plan: something it needs was missing. */
      readonly planned: boolean;
      /** Time limit of the whole task; `null` where it has none. */
      readonly timeout_secs: number | null;
      /** The setting that it comes from; `steps` where their timeouts and retries allow more. */
      readonly timeout_from: "workflow" | "steps" | "task-timeout" | null;
      /** In the order they were written, those under `finally` last. */
      readonly steps: readonly PlannedStepView[];
    }>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
    tool: {
      for: "person",
      description: "The steps that a task runs, what each waits for, its limits and its sandbox.",
      readOnly: true,
      fromOutside: false,
    },
  }),
  "task.log.read": defineOperation({
    summary: "Reads lines of the output of a task: the last ones, or those at a place of it",
    input: {
      id: TASK,
      step: OPTIONAL_TEXT,
      stream: Type.Optional(Type.Enum(["out", "err", "svc", "raw"])),
      before: LOG_OFFSET,
      after: LOG_OFFSET,
      at: OPTIONAL_TEXT,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 5000 })),
      contains: SEARCHED,
    },
    output: json<LogPageView>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
    tool: {
      for: "person",
      name: "task_logs",
      description: "The last lines that the steps of a task have printed. For the lines before " +
        "them, repeat it with the `before` that the answer names.",
      readOnly: true,
      fromOutside: true,
      input: {
        id: TASK,
        step: Type.Optional(Type.String({ description: "Only of the step with this id" })),
        contains: SEARCHED,
        before: LOG_OFFSET,
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 })),
      },
    },
  }),
  "task.wait": defineOperation({
    summary: "Waits until tasks have ended, and reports each as it ends",
    input: { ids: TASK_IDS, timeout_secs: OPTIONAL_SECS },
    output: lines<WaitLine>(),
    role: "read_only",
    grants: EVERY_RUN,
  }),
  "task.cancel": defineOperation({
    summary: "Cancels tasks, all or none",
    input: { ids: TASK_IDS, reason: OPTIONAL_TEXT },
    output: json<{ readonly tasks: readonly CancelResult[] }>(),
    role: "operator",
    console: true,
    grants: { step: { own: "task", in: "ids" } },
    tool: {
      for: "person",
      description: "Cancels tasks that wait or run. Their steps end at once.",
      readOnly: false,
      fromOutside: false,
      input: {
        ids: Type.Array(TASK, { minItems: 1, maxItems: 20 }),
        reason: OPTIONAL_TEXT,
      },
    },
  }),
  "task.continue": defineOperation({
    summary: "Ends the wait of a step by hand, so that its task goes on",
    input: { id: TASK, step: TEXT, reason: TEXT, set: VALUES },
    output: json<{ readonly id: string; readonly step: string }>(),
    role: "operator",
    console: true,
  }),
  "task.cancel.matching": defineOperation({
    summary: "Cancels the tasks that match, those that wait first",
    input: { ...MATCHING, reason: OPTIONAL_TEXT },
    output: lines<MatchingLine>(),
    role: "operator",
    console: true,
  }),
  "task.retry.matching": defineOperation({
    summary: "Retries the tasks that match and have not been retried yet, oldest first",
    input: MATCHING,
    output: lines<MatchingLine>(),
    role: "operator",
    console: true,
  }),
  "task.retry": defineOperation({
    summary: "Stores a task that repeats another one and takes over its finished steps",
    input: { id: TASK, from: OPTIONAL_TEXT },
    output: json<{
      readonly id: string;
      readonly retry_of: string;
      readonly kept: readonly string[];
      readonly note: string;
    }>(),
    role: "operator",
    console: true,
    tool: {
      for: "person",
      description:
        "Runs a task that has ended again, as a new one. Steps that have succeeded are " +
        "taken over; `from` names the first step to run again.",
      readOnly: false,
      fromOutside: false,
    },
  }),
  "task.inbox": defineOperation({
    summary: "Reads the messages to a task, oldest first",
    input: { id: TASK },
    output: json<{ readonly id: string; readonly messages: readonly InboxEntry[] }>(),
    role: "read_only",
    console: true,
    grants: { step: { own: "task", in: "id" } },
    tool: {
      for: "step",
      name: "inbox_read",
      description: "The messages to this task, oldest first: what people wrote in its thread, or " +
        "an operator sent, while it works.",
      readOnly: true,
      fromOutside: true,
    },
  }),
  "task.inbox.send": defineOperation({
    summary: "Sends a message to a task that has not ended",
    input: { id: TASK, text: TEXT },
    output: json<{ readonly id: string; readonly position: number }>(),
    role: "operator",
    console: true,
    grants: { step: { own: "task", in: "id" } },
  }),
  "task.workspace": defineOperation({
    summary: "Finds the directory in which the steps of a task ran",
    input: { id: TASK },
    output: json<{
      readonly id: string;
      readonly workspace: string;
      readonly isolation: string;
      readonly path: string;
    }>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
  }),
  "task.workspace.clean": defineOperation({
    summary: "Removes the worktree or copy that is kept for a task that has ended, and its commits",
    input: { id: TASK },
    output: json<{
      readonly id: string;
      /** Directory and refs, as far as there were any. */
      readonly removed: readonly string[];
    }>(),
    role: "operator",
  }),
};
