/**
 * The operations on approvals.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, json, OPTIONAL_TEXT, TASK, TEXT, VALUES } from "./operation.ts";

/** A field of a question. */
export interface ApprovalFieldView {
  readonly type: "text" | "choice";
  /** The value of an answer that gives none; `null` if an approval has to give one. */
  readonly default: string | null;
  /** The values of a choice; `null` for a text. */
  readonly of: readonly string[] | null;
}

/** An answer that counts. */
export interface ApprovalAnswerView {
  /** For people: the name of a Person, or what its platform calls the user. */
  readonly by: string;
  readonly person: string | null;
  readonly answer: "approved" | "rejected";
  readonly comment: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly surface: string;
  /** RFC 3339. */
  readonly at: string;
}

/** A question to people. */
export interface ApprovalView {
  /** `TASK.STEP`. */
  readonly id: string;
  readonly project: string;
  readonly task_id: string;
  readonly step: string;
  readonly round: number;
  readonly workflow: string;
  readonly trigger: string;
  /** Text from outside may be in it. */
  readonly ask: string;
  readonly fields: Readonly<Record<string, ApprovalFieldView>>;
  /** Who may answer, as written. */
  readonly by: readonly string[];
  /** How many people have to approve. */
  readonly need: number;
  readonly four_eyes: boolean;
  /** In the order in which they were given. */
  readonly answers: readonly ApprovalAnswerView[];
  /** SHA-256 of what is shown; an answer names it, or at least its first eight digits. */
  readonly digest: string;
  /** The git tree of the files that are sealed; `null` if none are. */
  readonly tree: string | null;
  /** What holds an agent of the task back from answering: nothing if `none`. */
  readonly protection: "sandbox" | "socket" | "none";
  /** RFC 3339. */
  readonly opened_at: string;
  /** RFC 3339. Then it fails. */
  readonly due_at: string;
}

/** A question with all that it shows, and how it ended. */
export interface ShownApproval extends ApprovalView {
  /** What is committed and what the files change, as a patch; only their names if it is too long; `null` without. */
  readonly diff: string | null;
  /** Whether more is sealed than the diff shows; it says itself what. */
  readonly diff_is_cut: boolean;
  /** How it ended, for people; `null` while it is open. */
  readonly ended: string | null;
}

/** What came of an answer that counts. */
export interface AnswerView {
  readonly task_id: string;
  readonly step: string;
  /** `over`: the task goes on. `counted`: others have to answer, too. `repeated`: it was given before. */
  readonly is: "over" | "counted" | "repeated";
  readonly text: string;
}

/** The operations on approvals, by name. */
export const APPROVAL_OPERATIONS = {
  "approval": defineOperation({
    summary: "Shows the question of a step, and all that it shows beside it",
    input: { id: TASK, step: OPTIONAL_TEXT },
    output: json<ShownApproval>(),
    role: "read_only",
    console: true,
  }),
  "approval.answer": defineOperation({
    summary: "Answers the question of a step, as one of those who may",
    input: {
      id: TASK,
      step: OPTIONAL_TEXT,
      answer: Type.Enum(["approved", "rejected"]),
      digest: TEXT,
      comment: OPTIONAL_TEXT,
      fields: VALUES,
      /** Why an admin answers in the place of those who may. */
      forced: OPTIONAL_TEXT,
    },
    output: json<AnswerView>(),
    role: "read_only", // being named in the question is enough
    changes: true,
    console: true,
  }),
};
