/**
 * Tells people of an approval where its workflow names it (`tell`), and takes it back when it is over:
 * what nobody can answer any more must not look as if one could.
 *
 * @module
 */

import type { Tell } from "../../resources/tell.ts";
import type { AskingPlace, ToldQuestion } from "../../store/approval_records.ts";
import type { NewMessage } from "../../store/outbox_records.ts";
import type { WaitKey } from "../../store/wait_records.ts";

/** Makes and sends what is told of approvals. */
export interface ApprovalTeller {
  /** The messages of a question, for the transaction that opens its wait. */
  ask(question: ToldQuestion, tell: readonly Tell[]): Promise<{
    readonly messages: readonly NewMessage[];
    /** By which events its comments are found; absent if it is asked at no forge. */
    readonly key?: WaitKey;
    /** Why it is not told somewhere, as sentences without a full stop. */
    readonly lacks: readonly string[];
  }>;
  /** Says what came of a question where it was told, as a sentence without a full stop. Harmless twice. */
  over(place: AskingPlace, what: string): Promise<void>;
}
