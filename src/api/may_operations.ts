/**
 * The operations that say what a task may do at a forge, and what is left of it.
 *
 * @module
 */

import { FORGE_WORDS, type ForgeName, ofForge } from "../base/forge_names.ts";
import type { Hold, OutputName } from "../resources/may.ts";
import { defineOperation, json, TASK } from "./operation.ts";

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

function mayAt(forge: ForgeName) {
  const { title } = FORGE_WORDS[forge];
  return {
    may: defineOperation({
      summary: `What a task may do at ${title}, and what is left of it`,
      input: { task: TASK },
      output: json<TaskMay>(),
      role: "read_only",
      grants: { step: { own: "task", in: "task" } },
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
