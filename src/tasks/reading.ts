/**
 * Which messages of its inbox a step has read. Pure. This is the only place that decides it
 * (docs/decisions/0038-conversations.md).
 *
 * @module
 */

import type { FailureKind } from "../agents/agent_failure.ts";
import { plannedSteps } from "../resources/step_list.ts";
import { partsOf, subjectOf } from "../resources/wait_for.ts";
import type { Plan, PlannedStep } from "./plan.ts";

/**
 * How a step reads:
 *
 * - `file`: it reads `$SVC_INBOX` while it runs, so it has read what svc had written into that file when
 *   its program ended. With an agent, it has also read what its prompt had.
 * - `prompt`: it has read the messages that its prompt had, which are those that were unread when it began.
 * - `nothing`: svc cannot tell that it reads, and so it has read nothing: a message is rather given twice
 *   than to nobody.
 */
export type Reading = "file" | "prompt" | "nothing";

/** The variable that names the file with the messages. */
const INBOX = "SVC_INBOX";

/** How a step reads, by its own text: its shell line, or the prompt and the command of its agent. */
export function readingOf({ agent, run, prompt }: PlannedStep): Reading {
  const texts = agent === undefined ? [run] : [prompt, agent.command];
  if (texts.some((text) => text?.includes(INBOX) === true)) return "file";
  return agent === undefined ? "nothing" : "prompt";
}

/** Exit codes of a shell that found no program, or could not run it. */
const NOT_RUN = [126, 127];

/**
 * Whether a program that has ended has read what it was given. It has not if a shell could not run it, or
 * if it is an agent to whose model nothing came: it is not logged in, or at its limit. Where svc cannot
 * tell whether a model has answered before that, it has not, either.
 */
export function hasReadAll({ state, exitCode, failure, hasAnswered }: {
  readonly state: string;
  readonly exitCode: number;
  readonly failure?: FailureKind | undefined;
  /** Whether the model of an agent has answered, as far as the agent tells. */
  readonly hasAnswered: boolean;
}): boolean {
  if (state !== "failed" || hasAnswered) return true;
  return !NOT_RUN.includes(exitCode) && failure !== "limit" && failure !== "auth";
}

/** Whether a task with this plan can read messages: one of its steps does, or waits for one. */
export function readsMessages(plan: Plan): boolean {
  return plannedSteps(plan).some((step) =>
    readingOf(step) !== "nothing" ||
    step.waitFor !== undefined &&
      partsOf(step.waitFor).some((part) => subjectOf(part) === "message")
  );
}
