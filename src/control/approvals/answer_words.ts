/**
 * What the giver of an answer is told, whichever way the answer came. Pure.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import type { AnswerResult } from "../../store/approval_records.ts";
import { shortDigest } from "../../store/rules/approvals.ts";
import { howEnded } from "../records/wait_record_type.ts";

/** Why an answer changes nothing, as a sentence without its end; empty for one that counts. */
export function whyNotCounted(result: AnswerResult): string {
  switch (result.is) {
    case "over":
    case "counted":
    case "repeated":
      return "";
    case "not allowed":
    case "wrong fields":
      return result.why;
    case "other digest":
      return "What is asked is not what was shown: look at it again, its digest is " +
        `${shortDigest(result.digest)} now`;
    case "was over":
      return `It is decided since ${rfc3339(result.end.at)}: ${howEnded(result.end)}`;
    case "none":
      return "The step asks nothing";
    case "ended":
      return "The task has ended, or is being cancelled";
  }
}

/** What came of an answer that counts, as a sentence without its end. */
export function whatCame(result: AnswerResult): string {
  switch (result.is) {
    case "over":
      return `${result.answer}, and the task goes on`;
    case "counted":
      return `your answer counts, ${result.given} of ${result.need}`;
    case "repeated":
      return result.end === undefined
        ? `this was your answer already, ${result.given} of ${result.need}`
        : `this was your answer already, and it is decided: ${howEnded(result.end)}`;
    default:
      return whyNotCounted(result);
  }
}
