/**
 * Records of approvals: what a step asks people, and what they have answered. The question is sealed: an
 * answer names the digest of exactly what was shown.
 *
 * @module
 */

import type { Task } from "./task_records.ts";
import type { EndedWait, WaitPlace } from "./wait_records.ts";

/** Where an answer was given. */
export const ANSWER_SURFACES = [
  "cli",
  "console",
  "api",
  "slack",
  "github",
  "gitlab",
  "gitea",
] as const;
/** One of {@linkcode ANSWER_SURFACES}. */
export type AnswerSurface = typeof ANSWER_SURFACES[number];

/** What a person can say. */
export const ANSWERS = ["approved", "rejected"] as const;
/** One of {@linkcode ANSWERS}. */
export type Answer = typeof ANSWERS[number];

/** A field of a question, to be filled in with the answer. */
export interface AskedField {
  readonly type: "text" | "choice";
  /** The value of an answer that gives none; without it, an approval has to. */
  readonly default?: string;
  /** The values of a choice. */
  readonly of?: readonly string[];
}

/** Somebody, as far as it is known who it is: a Person, a user of a platform, both, or nobody in particular. */
export interface Somebody {
  /** Name of the Person. */
  readonly person?: string;
  /** As a Person has it in `is`, such as `github:583231`. */
  readonly identity?: string;
}

/** What holds an agent of the task back from answering its own question. */
export type Protection =
  /** Each step before it ran in a sandbox, without the socket and the data directory. */
  | "sandbox"
  /** The socket allows only reading, so a step would have to take the database. */
  | "socket"
  /** Nothing: it guards against mistakes. */
  | "none";

/** What a step asks, as it is stored with its wait (`asked`). */
export interface AskedApproval {
  /** SHA-256 of everything that was shown, in hexadecimal digits. */
  readonly digest: string;
  readonly ask: string;
  readonly fields: Readonly<Record<string, AskedField>>;
  /** Who may answer, as written: names of Persons, `@GROUP`, `FORGE:write`, `socket`. */
  readonly by: readonly string[];
  /** How many distinct people have to approve. */
  readonly need: number;
  /** Whether those who started the task may not answer. */
  readonly fourEyes: boolean;
  /** The git tree that is sealed; absent without `diff`. */
  readonly tree?: string;
  /** The commit that is checked out; absent without `diff`. */
  readonly head?: string;
  /** Whether more is sealed than the change shows that is stored with the wait. */
  readonly isCut?: true;
  readonly protection: Protection;
}

/** Who has made the task run. */
export interface Starter extends Somebody {
  readonly did: "started" | "retried" | "redelivered";
  /** For people: `ada`, `token ci`, `octocat at GitHub`. */
  readonly called: string;
  /** It was a Person who was deleted since: nobody knows which of the others that is now. */
  readonly isGone?: true;
}

/** An answer to an open question. */
export interface AskedAnswer extends WaitPlace, Somebody {
  /** `person:NAME`, else the identity, else `socket`: an answer replaces an earlier one of its key. */
  readonly key: string;
  /** Every identity of the Person. */
  readonly identities: readonly string[];
  /** When the Person was applied first, in milliseconds since the epoch; absent without a Person. */
  readonly personSince?: number;
  /** Keys of answers that count no longer: their Person was deleted, or is another one of that name now. */
  readonly gone: readonly string[];
  /** The entries of `by` that let this answer count. */
  readonly mayBy: readonly string[];
  /** Everybody who has made the task run, as far as svc knows now; nobody has if empty. */
  readonly startedBy: readonly Starter[];
  /** For people: a name. */
  readonly called: string;
  readonly surface: AnswerSurface;
  readonly answer: Answer;
  /** Digest, or at least its first eight digits, of what was shown. */
  readonly digest: string;
  readonly comment: string;
  /** The fields that were given. */
  readonly fields: Readonly<Record<string, string>>;
  /** Why an admin answers in the place of those who may; absent for an answer of theirs. */
  readonly forced?: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** An answer that was counted. */
export interface StoredAnswer extends Somebody {
  readonly key: string;
  readonly called: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly surface: AnswerSurface;
  readonly answer: Answer;
  readonly comment: string;
  /** Every field of the question, with its value. */
  readonly fields: Readonly<Record<string, string>>;
  readonly forced?: string;
}

/** The place of a question; the newest round if none is named. */
export interface ApprovalPlace extends Omit<WaitPlace, "round"> {
  readonly round?: number;
}

/** A question with the answers to it. */
export interface Approval extends WaitPlace {
  readonly project: string;
  /** Id of the step. */
  readonly step: string;
  readonly workflow: string;
  readonly trigger: string;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  readonly asked: AskedApproval;
  /** What the worktree changes, as a patch; absent without `diff`. */
  readonly diff?: string;
  /** In the order in which they were given. */
  readonly answers: readonly StoredAnswer[];
  /** Absent while it is open. */
  readonly end?: EndedWait;
}

/** A step that asks, in one round. */
export interface AskingPlace {
  readonly task: Task;
  /** Id of the step. */
  readonly step: string;
  readonly round: number;
}

/** A question that people are told of outside of svc. */
export interface ToldQuestion extends AskingPlace {
  readonly asked: AskedApproval;
  /** What the worktree changes, as a patch. */
  readonly diff?: string;
}

/** What became of an answer. */
export type AnswerResult =
  /** It has decided: the task goes on. */
  | { readonly is: "over"; readonly answer: Answer }
  /** It counts, and others have to answer as well. */
  | { readonly is: "counted"; readonly given: number; readonly need: number }
  /** The same person has answered so before; nothing has changed. */
  | {
    readonly is: "repeated";
    readonly answer: Answer;
    readonly given: number;
    readonly need: number;
    /** Absent while it is open. */
    readonly end?: EndedWait;
  }
  /** This caller's answer does not count. */
  | { readonly is: "not allowed"; readonly why: string }
  /** What was shown is not what is asked now. */
  | { readonly is: "other digest"; readonly digest: string }
  /** A field is missing, unknown or no value of its type, or others have approved with another. */
  | { readonly is: "wrong fields"; readonly why: string }
  /** It was decided before, by whom and when, or its time was over. */
  | { readonly is: "was over"; readonly end: EndedWait }
  /** The step asks nothing. */
  | { readonly is: "none" }
  /** The task has ended, or is being cancelled. */
  | { readonly is: "ended" };
