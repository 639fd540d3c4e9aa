/**
 * Answers an approval by a new comment in the thread of its task's event. Its event only says which
 * comment to look at; the comment counts as the forge shows it, if a person wrote it, nobody changed it,
 * and its code is that of what is asked now.
 *
 * @module
 */

import { findPerson } from "../../auth/persons.ts";
import { defined } from "../../base/defined.ts";
import { AppError, type ErrorCode } from "../../base/errors.ts";
import { FORGE_WORDS } from "../../base/forge_names.ts";
import type { Log } from "../../base/log.ts";
import {
  type AnswerComment,
  findAnswer,
  findAnswerComment,
} from "../../connections/answer_in_comment.ts";
import { CallFailed, type WrittenComment } from "../../connections/api/forge.ts";
import type { EventReader } from "../../intake/waits/event_looks.ts";
import type { SeenEvent } from "../../intake/waits/seen_events.ts";
import { addressOf } from "../../outbox/answer_drafts.ts";
import { COMMENT_SHAPE, replyDraft, replyKey, threadKey } from "../../outbox/approval_drafts.ts";
import { mayHaveMarker } from "../../outbox/marker.ts";
import type { Draft } from "../../outbox/message_kind.ts";
import type { AnswerSources } from "../../outbox/origin.ts";
import { isDigest } from "../../store/rules/approvals.ts";
import type { Answer, AskedApproval, AskingPlace } from "../../store/approval_records.ts";
import { MESSAGES_OF_TASK } from "../../store/outbox_records.ts";
import type { OutboxStore } from "../../store/outbox_store.ts";
import type { KeyedPart, WaitPlace } from "../../store/wait_records.ts";
import {
  answerApproval,
  type Answerer,
  type AnswerHost,
  isCounted,
  MAX_COMMENT,
} from "./answer_approval.ts";
import { whatCame } from "./answer_words.ts";
import { type CommentedThread, openThread, type ThreadHost } from "./commented_thread.ts";
import { identityThrough } from "./forge_user.ts";

/** The parts of the daemon that answer by comments. */
export interface CommentHost extends AnswerHost, ThreadHost {
  readonly catalog: ThreadHost["catalog"];
  readonly clock: ThreadHost["clock"];
  readonly store:
    & AnswerHost["store"]
    & AnswerSources["store"]
    & Pick<OutboxStore, "listMessages">;
  readonly outbox: { enqueue(drafts: readonly Draft[]): Promise<unknown> };
  readonly log: Log;
}

/** How long a forge has to say what it knows of a comment; other waits are looked at afterwards. */
const ASK_MS = 10_000;

/** Errors that another look would give as well. */
const FINAL: ReadonlySet<ErrorCode> = new Set(["invalid", "refused", "not_found", "conflict"]);

/** Reads comments for open approvals. */
export function commentReader(host: CommentHost): EventReader {
  return {
    shape: COMMENT_SHAPE,
    keysOf(event) {
      const comment = toldIn(event);
      return comment === undefined ? [] : [threadKey(comment)];
    },
    async read(event, parts) {
      const comment = toldIn(event);
      if (comment === undefined) return;
      for (const part of concerned(comment, parts)) {
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

/** The comment that an event tells of, if it is worth a question to the forge. */
function toldIn({ delivery, event: { payload, coverage } }: SeenEvent): AnswerComment | undefined {
  if (delivery.via !== "http" || delivery.detail.unsigned === true) return undefined;
  // Who has svc sign or repeat an event may put any user into it.
  if (delivery.detail.by !== undefined) return undefined;
  if (coverage?.payload !== "all") return undefined;
  const comment = findAnswerComment(payload);
  return comment === undefined || mayHaveMarker(comment.text) ? undefined : comment;
}

/**
 * The questions that a comment answers: the one that has its code, open or decided. Those that are open
 * and have another one are told of their own only if no question has it.
 */
function concerned(
  { given: { code } }: AnswerComment,
  parts: readonly KeyedPart[],
): readonly KeyedPart[] {
  const named = parts.filter(({ asked }) => isDigest(code, digestIn(asked)));
  return named.length > 0 ? named : parts.filter(({ isOver }) => isOver !== true);
}

const digestIn = (asked: KeyedPart["asked"]) => (asked as unknown as AskedApproval).digest;

/** The answer in a comment that svc did not write: a step can have it comment as a person would. */
function answerIn(text: string) {
  return mayHaveMarker(text) ? undefined : findAnswer(text);
}

async function answer(
  told: AnswerComment,
  { taskId, position, round, asked, openedAt, isOver }: KeyedPart,
  event: SeenEvent,
  host: CommentHost,
): Promise<void> {
  const { digest, by: those } = asked as unknown as AskedApproval;
  // What came before the question was no answer to it. Its own code nobody knew then: the clock was set back.
  if (event.delivery.receivedAt < openedAt && !isDigest(told.given.code, digest)) return;
  const [task] = await host.store.findTasks(taskId);
  const step = task?.steps[position]?.id;
  if (task === undefined || step === undefined) return;
  const place = { task, step, round };
  // Every look sees it again, also one after a restart; what is decided stays as it is.
  if (isOver === true && await hasReply(told, place, host)) return;
  const late = new AbortController();
  using _timer = host.clock.after(ASK_MS, () => late.abort());
  // The thread is that of the task, whatever the event says.
  const thread = openThread(await addressOf(task, told.forge, host), host, late.signal);
  const comment = await readTold(told, thread, place, host);
  const given = comment === undefined ? undefined : answerIn(comment.text);
  if (comment === undefined || given === undefined) return;
  const by = whoWrote(comment, thread, { forge: told.forge, delivery: event.delivery }, host);
  if (
    isOver === true && await hasSaid(given.answer, by.identity, { taskId, position, round }, host)
  ) return;
  const writer = `${told.forge}:write`;
  const mayCount = isOver !== true && digest.startsWith(given.code) && those.includes(writer);
  const writes = mayCount && await thread.mayWrite(comment) ? [writer] : [];
  const surface = by.identity.startsWith("gitea:") ? "gitea" : told.forge;
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
  await reply(`${by.called}: ${whatCame(result)}.`, place, host, told.id);
}

/** Whether a comment has got its reply. */
async function hasReply(
  { id }: AnswerComment,
  { task: { id: taskId }, step, round }: AskingPlace,
  { store }: CommentHost,
): Promise<boolean> {
  const of = replyKey({ taskId, step, round });
  const messages = await store.listMessages({ taskId, limit: MESSAGES_OF_TASK });
  return messages.some(({ key, body }) => key === of && body["to"] === id);
}

/** Whether somebody's answer to a question was counted, and is the same. */
async function hasSaid(
  answer: Answer,
  identity: string,
  place: WaitPlace,
  { store }: CommentHost,
): Promise<boolean> {
  const answers = (await store.findApproval(place))?.answers ?? [];
  return answers.some((one) => one.identity === identity && one.answer === answer);
}

/** The comment as the forge shows it; `undefined` if it is nobody's answer. */
async function readTold(
  { id, forge }: AnswerComment,
  thread: CommentedThread,
  place: AskingPlace,
  host: CommentHost,
): Promise<WrittenComment | undefined> {
  const facts = { task: place.task.id, comment: id };
  try {
    const read = await thread.read(id);
    if ("comment" in read) return read.comment;
    host.log.debug("a comment is no answer", { ...facts, why: read.whyNot });
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error;
    host.log.warn("a comment could not be read, so it is no answer", { ...facts, error });
    const { title } = FORGE_WORDS[forge];
    await reply(
      `A comment could not be read at ${title}, so it did not count: write it again.`,
      place,
      host,
    );
  }
  return undefined;
}

/** Writes a reply; with `to`, the last one that this comment gets once its question is decided. */
async function reply(
  text: string,
  place: AskingPlace,
  host: CommentHost,
  to?: string,
): Promise<void> {
  await host.outbox.enqueue(await replyDraft({ ...place, text, ...defined({ to }) }, host));
}

function whoWrote(
  { userId, login }: WrittenComment,
  { connection }: CommentedThread,
  from: Parameters<typeof identityThrough>[2],
  { catalog }: CommentHost,
): Answerer & { readonly identity: string } {
  const identity = identityThrough(connection, userId, from);
  const person = findPerson(catalog, identity);
  const { title } = FORGE_WORDS[from.forge];
  const name = person?.name ?? (login === "" ? "somebody" : login);
  return { identity, role: person?.role ?? "read_only", called: `${name} at ${title}` };
}
