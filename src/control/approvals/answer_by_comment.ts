/**
 * Answers an approval by a new comment in the thread of its task's event. The comment counts only if a
 * signature covers it, a person wrote it, and its code is that of what is asked now.
 *
 * @module
 */

import { findPerson } from "../../auth/persons.ts";
import { defined } from "../../base/defined.ts";
import { AppError, type ErrorCode } from "../../base/errors.ts";
import { FORGE_WORDS } from "../../base/forge_names.ts";
import type { Log } from "../../base/log.ts";
import { type AnswerComment, findAnswerComment } from "../../connections/answer_in_comment.ts";
import type { OwnUsers } from "../../connections/own_users.ts";
import type { EventReader } from "../../intake/waits/event_looks.ts";
import type { SeenEvent } from "../../intake/waits/seen_events.ts";
import { mayHaveMarker } from "../../outbox/marker.ts";
import { COMMENT_SHAPE, replyDraft, threadKey } from "../../outbox/approval_drafts.ts";
import type { Draft } from "../../outbox/message_kind.ts";
import type { AnswerSources } from "../../outbox/origin.ts";
import type { AskedApproval } from "../../store/approval_records.ts";
import type { OpenPart } from "../../store/wait_records.ts";
import type { SenderCheck } from "../../tasks/sender_check.ts";
import {
  answerApproval,
  type Answerer,
  type AnswerHost,
  isCounted,
  MAX_COMMENT,
} from "./answer_approval.ts";
import { whatCame } from "./answer_words.ts";
import { identityAt } from "./forge_user.ts";

/** The parts of the daemon that answer by comments. */
export interface CommentHost extends AnswerHost {
  readonly store: AnswerHost["store"] & AnswerSources["store"];
  readonly ownUsers: Pick<OwnUsers, "isOwn">;
  readonly outbox: { enqueue(drafts: readonly Draft[]): Promise<unknown> };
  /** Asks a forge anew who may write: an approval trusts no earlier reply. */
  readonly newSenderCheck: () => SenderCheck;
  readonly log: Log;
}

/** How long a forge has to say whether somebody may write; other waits are looked at afterwards. */
const ASK_MS = 10_000;

/** Errors that another look would give as well. */
const FINAL: ReadonlySet<ErrorCode> = new Set(["invalid", "refused", "not_found", "conflict"]);

/** Reads comments for open approvals. */
export function commentReader(host: CommentHost): EventReader {
  return {
    shape: COMMENT_SHAPE,
    keysOf(event) {
      const comment = commentOf(event, host);
      return comment === undefined ? [] : [threadKey(comment)];
    },
    async read(event, parts) {
      const comment = commentOf(event, host);
      if (comment === undefined) return;
      for (const part of parts) {
        try {
          await answer(comment, part, event, host);
        } catch (error) {
          // A stranger must not stop the look at all other events.
          if (!(error instanceof AppError) || !FINAL.has(error.code)) throw error;
          host.log.debug("a comment is no answer", { task: part.taskId, error });
        }
      }
    },
  };
}

/** The comment of an event, if it may answer anything at all. */
function commentOf(
  { delivery, event: { payload, coverage } }: SeenEvent,
  { ownUsers }: CommentHost,
): AnswerComment | undefined {
  if (delivery.via !== "http" || delivery.detail.unsigned === true) return undefined;
  if (coverage?.payload !== "all") return undefined;
  const comment = findAnswerComment(payload);
  if (comment === undefined) return undefined;
  // A step can have svc comment, and another daemon may not know yet as which user.
  if (mayHaveMarker(comment.text)) return undefined;
  return ownUsers.isOwn(comment.userId) ? undefined : comment;
}

async function answer(
  comment: AnswerComment,
  { taskId, position, round, project, asked, openedAt }: OpenPart,
  event: SeenEvent,
  host: CommentHost,
): Promise<void> {
  const { given } = comment;
  const by = whoWrote(comment, event, host);
  if (by === undefined) {
    host.log.debug("nothing vouches for the server of a comment", { task: taskId });
    return;
  }
  // What came before the question was no answer to it.
  if (event.delivery.receivedAt < openedAt) return;
  const [task] = await host.store.findTasks(taskId);
  const step = task?.steps[position]?.id;
  if (task === undefined || step === undefined) return;
  const { digest, by: those } = asked as unknown as AskedApproval;
  const writer = `${comment.forge}:write`;
  const mayCount = digest.startsWith(given.code) && those.includes(writer);
  const writes = mayCount && await mayWrite(event, project, host) ? [writer] : [];
  const surface = by.identity.startsWith("gitea:") ? "gitea" : comment.forge;
  const { result } = await answerApproval({
    taskId,
    step,
    round,
    surface,
    answer: given.answer,
    digest: given.code,
    comment: given.comment.slice(0, MAX_COMMENT),
    by: { ...by, writes },
  }, host);
  host.log.debug("a comment answered an approval", { task: taskId, step, result: result.is });
  if (isCounted(result)) return;
  const text = `${by.called}: ${whatCame(result)}.`;
  await host.outbox.enqueue(await replyDraft({ task, step, round, text }, host));
}

/** Whether the author of the comment may write to its repository now; no reply is a no. */
async function mayWrite(
  { event: { payload, coverage, trigger } }: SeenEvent,
  project: string,
  { newSenderCheck, clock }: CommentHost,
): Promise<boolean> {
  if (coverage === undefined) return false;
  const { connection } = trigger.resource.spec.event.webhook ?? {};
  const guard = { permission: "write", ...defined({ connection }) } as const;
  const late = new AbortController();
  using _timer = clock.after(ASK_MS, () => late.abort());
  const why = await newSenderCheck().whyNot({ project, guard, payload, coverage }, late.signal);
  return why === undefined;
}

function whoWrote(
  { forge, userId, login }: AnswerComment,
  { delivery, event: { payload } }: SeenEvent,
  { catalog }: CommentHost,
): Answerer & { readonly identity: string } | undefined {
  const identity = identityAt(userId, { delivery, payload }, catalog);
  if (identity === undefined) return undefined;
  const person = findPerson(catalog, identity);
  const { title } = FORGE_WORDS[forge];
  const name = person?.name ?? (login === "" ? "somebody" : login);
  return { identity, role: person?.role ?? "read_only", called: `${name} at ${title}` };
}
