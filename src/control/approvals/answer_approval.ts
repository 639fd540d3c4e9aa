/**
 * Answers the question of an approval, whichever way the answer came: from a command, the console, or a
 * message of a platform. Whoever answers is told the truth, also the one who comes second.
 *
 * @module
 */

import type { Role } from "../../base/roles.ts";
import type { Answer, AnswerResult, AnswerSurface } from "../../store/approval_records.ts";

/** Who answers, as far as svc knows. */
export interface Answerer {
  /** Name of the Person whose token or session it is. */
  readonly person?: string;
  /** As a Person has it in `is`: `github:583231`, `slack:T01/U02`; its Person is found by it. */
  readonly identity?: string;
  /** Login at the forge, for its question who may write; absent where no forge vouches for it. */
  readonly login?: string;
  /** Whether it came through the socket, without a token. */
  readonly isSocket?: true;
  readonly role: Role;
  /** For people, and in the audit: `ada`, `ada (console)`, `octocat at GitHub`. */
  readonly called: string;
}

/** An answer to a question. */
export interface GivenAnswer {
  readonly taskId: string;
  /** Id of the step; the one that asks if absent, and only one does. */
  readonly step?: string;
  /** Number of the round; the newest if absent. */
  readonly round?: number;
  readonly answer: Answer;
  /** Digest of what was shown, or at least its first eight digits. */
  readonly digest: string;
  readonly comment?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly by: Answerer;
  readonly surface: AnswerSurface;
  /** Why an admin answers in the place of those who may. */
  readonly forced?: string;
}

/**
 * Answers a question, and records that in the audit, also an answer that does not count. Throws only for
 * what no result tells: `not_found` for a task or step that does not exist, `overloaded`.
 */
export type AnswerApproval = (given: GivenAnswer) => Promise<AnswerResult>;
