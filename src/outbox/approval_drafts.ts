/**
 * An approval as messages to where its workflow tells of it (`tell`): a post with buttons in Slack, a
 * comment at a forge. When it is over, each of them is changed, so that nobody clicks in vain.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { FORGE_WORDS, type ForgeName } from "../base/forge_names.ts";
import type { Thread } from "../connections/api/forge.ts";
import type { AskedPlace } from "../connections/slack/answer_button.ts";
import { type Tell, THREAD } from "../resources/tell.ts";
import type { AskingPlace, ToldQuestion } from "../store/approval_records.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";
import { shortDigest } from "../store/rules/approvals.ts";
import { digestOf } from "../store/rules/wait_keys.ts";
import type { WaitKey } from "../store/wait_records.ts";
import { addressOf, type AnswerAddress, commentDraft, forgeOfTask } from "./answer_drafts.ts";
import type { Draft } from "./message_kind.ts";
import type { AnswerSources } from "./origin.ts";
import {
  answeredComment,
  askingComment,
  commandOf,
  factsOf,
  showApproval,
} from "./shown_approval.ts";
import { askKey, slackAskDraft, type SlackPlace } from "./slack_ask.ts";
import { slackThreadOf } from "./slack_answers.ts";

/** Where a question goes. */
export interface Told {
  readonly drafts: readonly Draft[];
  /** By which events its comments are found, if it is asked at a forge. */
  readonly key?: WaitKey;
  /** Why it is not told somewhere, as sentences without a full stop. */
  readonly lacks: readonly string[];
}

/** Makes the messages of a question. */
export async function approvalDrafts(
  question: ToldQuestion,
  tell: readonly Tell[],
  host: AnswerSources,
): Promise<Told> {
  const drafts: Draft[] = [];
  const lacks: string[] = [];
  let key: WaitKey | undefined;
  for (const where of tell) {
    try {
      if (where === THREAD) {
        const told = await inThread(question, host);
        drafts.push(told.draft);
        key ??= told.key;
      } else {
        const { connection, channel } = where.slack;
        const { project } = question.task;
        drafts.push(inSlack(question, { project, connection, trigger: "", channel, thread: "" }));
      }
    } catch (error) {
      if (!(error instanceof AppError) || error.code === "overloaded") throw error;
      lacks.push(error.message);
    }
  }
  return { drafts, lacks, ...key === undefined ? {} : { key } };
}

async function inThread(
  question: ToldQuestion,
  host: AnswerSources,
): Promise<{ readonly draft: Draft; readonly key?: WaitKey }> {
  const { task } = question;
  const thread = await slackThreadOf(task, host);
  if (thread !== undefined) return { draft: inSlack(question, thread) };
  const forge = await forgeOfTask(task, host.store);
  if (forge === undefined) {
    throw new AppError(
      "refused",
      `Task ${task.id} did not come from a thread, so nobody is asked there`,
    );
  }
  const address = await addressOf(task, forge, host);
  return { draft: commentOf(question, address), ...keyOf(address) };
}

function inSlack(question: ToldQuestion, place: SlackPlace): Draft {
  const { asked, diff } = question;
  const shown = showApproval(asked, diff);
  const at = askedPlace(question);
  return slackAskDraft(place, {
    asked: at,
    shown: [shown.text, shown.diff].filter((text) => text !== "").join("\n\n"),
    canClick: shown.isWhole,
    facts: factsOf(asked, at),
    command: commandOf(at),
  });
}

function askedPlace({ task, step, round, asked }: ToldQuestion): AskedPlace {
  return { taskId: task.id, step, round, digest: asked.digest };
}

/** A question, without what it asks. */
type QuestionPlace = Omit<AskedPlace, "digest">;

/** The key of the comment that asks; the one that it is changed into has the same. */
function commentKey({ taskId, step, round }: QuestionPlace): string {
  return `approval/${taskId}/${step}/${round}`; // other tasks ask in the same thread
}

function commentOf(question: ToldQuestion, address: AnswerAddress): Draft {
  const { asked, diff } = question;
  const at = askedPlace(question);
  const shown = showApproval(asked, diff);
  const text = askingComment(shown, {
    facts: factsOf(asked, at),
    code: shortDigest(asked.digest),
    sign: FORGE_WORDS[address.subject.forge].answerSign,
    command: commandOf(at),
  });
  const draft = commentDraft(address, { text, key: commentKey(at), format: "markdown" });
  return { ...draft, body: { ...draft.body, asks: shown.text } };
}

/** How waits for comments on a thread share their look at an event. */
export const COMMENT_SHAPE = "comment";

function keyOf({ trigger, subject }: AnswerAddress): { readonly key?: WaitKey } {
  const { forge, repository, number, isPull } = subject;
  if (number === undefined) return {};
  const thread = threadKey({ forge, repository, thread: { number, isPull } });
  return { key: { trigger, shape: COMMENT_SHAPE, digest: digestOf([thread]) } };
}

/** The text by which a wait for comments is found: the same for every event about one thread. */
export function threadKey(
  { forge, repository, thread: { number, isPull } }: {
    readonly forge: ForgeName;
    readonly repository: string;
    readonly thread: Thread;
  },
): string {
  // GitHub and Gitea number issues and pulls together, and not all of their events tell them apart.
  const kind = forge === "gitlab" && isPull ? "pull" : "issue";
  return JSON.stringify([forge, repository.toLowerCase(), kind, number]);
}

/** The key of the comment with the replies to those who answer a question. */
export function replyKey(question: QuestionPlace): string {
  return `${commentKey(question)}/reply`;
}

/**
 * The comment that says why an answer does not count: one for all of them, which the newest changes. `to`
 * is the id of the comment that gave it.
 */
export async function replyDraft(
  { task, step, round, text, to }: AskingPlace & { readonly text: string; readonly to?: string },
  host: AnswerSources,
): Promise<readonly Draft[]> {
  const forge = await forgeOfTask(task, host.store);
  if (forge === undefined) return [];
  const address = await addressOf(task, forge, host);
  const key = replyKey({ taskId: task.id, step, round });
  const draft = commentDraft(address, { text, key, format: "markdown" });
  return [{ ...draft, body: { ...draft.body, ...defined({ to }) } }];
}

/**
 * The messages that change those of a question into what came of it. To send them twice is harmless.
 *
 * @param over What came of it, as a sentence without a full stop.
 */
export function overDrafts(
  messages: readonly OutboxMessage[],
  { over, ...place }: QuestionPlace & { readonly over: string },
): readonly Draft[] {
  const { taskId } = place;
  const keys = [askKey(place), commentKey(place)];
  const seen = new Set<string>();
  return messages.filter(({ key }) => keys.includes(key)).flatMap((message) => {
    const { project, connection, kind, target, key, body } = message;
    const place = JSON.stringify([kind, target]);
    if (seen.has(place) || body["over"] !== undefined) return [];
    seen.add(place);
    const { digest: _digest, asks, ...rest } = body;
    const text = asks === undefined ? {} : { text: answeredComment(String(asks), over) };
    return [{ project, connection, kind, target, key, taskId, body: { ...rest, ...text, over } }];
  });
}
