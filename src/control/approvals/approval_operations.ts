/**
 * The handlers of the operations on approvals.
 *
 * @module
 */

import type { APPROVAL_OPERATIONS } from "../../api/approval_operations.ts";
import type { Input, Output } from "../../api/operations.ts";
import { askedBy, type Caller, isBareSocket } from "../../auth/caller.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { Handlers } from "../server/server.ts";
import {
  answerApproval,
  type Answerer,
  type AnswerHost,
  findAsking,
  isCounted,
} from "./answer_approval.ts";
import type { AnswerSurface } from "../../store/approval_records.ts";
import { whatCame, whyNotCounted } from "./answer_words.ts";
import { shownApproval } from "../records/approval_record_type.ts";

/** Most characters of a reason. */
const MAX_REASON = 500;

/** The handlers, by name of the operation. */
export function approvalHandlers(
  host: AnswerHost,
): Pick<Handlers, keyof typeof APPROVAL_OPERATIONS> {
  return {
    "approval": ({ id, step }) => showApproval({ taskId: id, ...defined({ step }) }, host),
    "approval.answer": (input, caller) => answerAsCaller(input, caller, host),
  };
}

async function showApproval(
  asked: { readonly taskId: string; readonly step?: string },
  { store }: AnswerHost,
): Promise<Output<"approval">> {
  const { step, position } = await findAsking(asked, store);
  const found = await store.findApproval({ taskId: asked.taskId, position });
  if (found !== undefined) return shownApproval(found);
  throw new AppError("not_found", `Step "${step}" of task ${asked.taskId} has asked nothing`);
}

/**
 * Answers as the caller of the operation. No run answers, whatever its token allows.
 *
 * @throws {AppError} `refused` if the answer does not count because of who gives it, `conflict` if it
 * came too late or was shown something else, `invalid` for its fields.
 */
async function answerAsCaller(
  { id, step, answer, digest, comment, fields, forced }: Input<"approval.answer">,
  caller: Caller,
  host: AnswerHost,
): Promise<Output<"approval.answer">> {
  if (caller.grant !== undefined) {
    throw new AppError("forbidden", "No step or plugin answers a question: people are asked");
  }
  if (forced !== undefined) checkForced(forced, caller);
  const done = await answerApproval({
    taskId: id,
    answer,
    digest,
    caller,
    by: answererOf(caller),
    surface: surfaceOf(caller),
    ...defined({ step, comment, fields, forced }),
  }, host);
  const { result } = done;
  if (!isCounted(result)) throw toError(result.is, whyNotCounted(result));
  const { is } = result as { readonly is: Output<"approval.answer">["is"] };
  return { task_id: id, step: done.step, is, text: whatCame(result) };
}

function toError(is: string, message: string): AppError {
  if (is === "not allowed") return new AppError("refused", message);
  return new AppError(is === "wrong fields" ? "invalid" : "conflict", message);
}

/** An admin answers in the place of others only with a token: the socket is nobody in particular. */
function checkForced(reason: string, caller: Caller): void {
  if (reason.trim() === "" || reason.length > MAX_REASON) {
    throw new AppError("invalid", `A reason has 1 to ${MAX_REASON} characters`);
  }
  if (caller.role === "admin" && !isBareSocket(caller)) return;
  const found = isBareSocket(caller) ? "never the bare socket" : `and yours acts as ${caller.role}`;
  throw new AppError(
    "refused",
    `Only a token with the role admin answers in the place of others, ${found}`,
  );
}

function answererOf(caller: Caller): Answerer {
  const { role } = caller;
  return { role, ...askedBy(caller), ...isBareSocket(caller) ? { isSocket: true } : {} };
}

/** Where a caller answers: a gateway is the console of a team, however its token is named. */
function surfaceOf({ client, viaGateway }: Caller): AnswerSurface {
  if (viaGateway === true || client === "console") return "console";
  return client === undefined ? "cli" : "api";
}
