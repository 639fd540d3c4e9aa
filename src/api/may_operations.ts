/**
 * The operations by which a task looks: what it may do at a forge, what is left of it, and how a commit
 * stands there.
 *
 * @module
 */

import { type CheckState, FORGE_WORDS, type ForgeName, ofForge } from "../base/forge_names.ts";
import type { Hold, OutputName } from "../resources/may.ts";
import { OWN_TASK } from "./answer_operations.ts";
import { defineOperation, json, TASK, TEXT } from "./operation.ts";

/** What is left of one output in a task. */
export interface OutputLeft {
  readonly output: OutputName;
  /** Most units in one task; `null` where any number is allowed. */
  readonly max: number | null;
  /** Units that count already: the keys of pulls, the ids of other messages. */
  readonly used: readonly string[];
  /** `null` where any number is allowed. */
  readonly left: number | null;
  /** Which of its messages wait for a person. */
  readonly hold: Hold;
}

/** What a task may do, as far as its caller may ask for it. */
export interface TaskMay {
  readonly task_id: string;
  readonly workflow: string;
  /** The step that asks; `null` for a person. */
  readonly step: string | null;
  /** Whether the workflow had `may` when the task was made. */
  readonly declared: boolean;
  /** The Connection through which it goes; `null` where there is none. */
  readonly connection: string | null;
  /** The repository of the event, else the one that `may` names; `null` where there is none. */
  readonly repository: string | null;
  /** The commit at which the worktree of the task started; `null` where svc does not know it. */
  readonly start: string | null;
  readonly outputs: readonly OutputLeft[];
  /** What its workflow allows and this caller may not ask for, each with the rule. */
  readonly refused: readonly { readonly output: OutputName; readonly why: string }[];
}

/** How a commit stands by its checks. */
export interface CommitChecks {
  readonly task_id: string;
  readonly repository: string;
  /** Its whole id. */
  readonly commit: string;
  /** `none` if nothing has looked at it yet. */
  readonly state: CheckState | "none";
  /** How many checks stand so. */
  readonly counts: Readonly<Record<CheckState, number>>;
  /** At most 50: the red ones first, then those that run. Names and addresses are from outside. */
  readonly checks: readonly {
    readonly name: string;
    readonly state: CheckState;
    /** The word of the forge, such as `timed_out`. */
    readonly said: string;
    /** Its page; `null` if it has none. */
    readonly url: string | null;
  }[];
}

function mayAt(forge: ForgeName) {
  const { title } = FORGE_WORDS[forge];
  return {
    checks: defineOperation({
      summary: `How a commit stands at ${title} by its checks`,
      input: { task: TASK, commit: TEXT },
      output: json<CommitChecks>(),
      role: "read_only",
      grants: OWN_TASK,
    }),
    may: defineOperation({
      summary: `What a task may do at ${title}, and what is left of it`,
      input: { task: TASK },
      output: json<TaskMay>(),
      role: "read_only",
      grants: OWN_TASK,
      tool: {
        for: "step",
        description:
          `What this task may still do at ${title}, and how many of each are left. Ask it ` +
          "before you do work that would be refused.",
        readOnly: true,
        fromOutside: false,
        forge,
      },
    }),
  };
}

/** The operations, by name. */
export const MAY_OPERATIONS = {
  ...ofForge("github", mayAt("github")),
  ...ofForge("gitlab", mayAt("gitlab")),
};
