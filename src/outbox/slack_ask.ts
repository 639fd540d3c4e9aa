/**
 * The kinds `slack-ask`: an approval in a channel or thread of Slack, with two buttons, which is changed
 * when it is answered; and `slack-note`: a text for the one person who clicked.
 *
 * @module
 */

import { MAX_QUESTION, shownQuestion } from "../connections/slack/shown_question.ts";
import {
  postMessage,
  postNote,
  type PostResult,
  type SlackAccess,
  updateMessage,
} from "../connections/slack/post_message.ts";
import type { AnswerClick, AskedPlace } from "../connections/slack/answer_button.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";
import {
  type Draft,
  type MessageKind,
  notPosted,
  resultOfError,
  type SendHost,
  type SendResult,
} from "./message_kind.ts";
import { findSlackAccess } from "./slack_post.ts";

/** Where an approval is asked. */
export interface SlackPlace {
  readonly project: string;
  /** Connection whose token posts it; empty for the token of the trigger. */
  readonly connection: string;
  /** Trigger whose token posts it; empty if a Connection does. */
  readonly trigger: string;
  /** The id of the channel. */
  readonly channel: string;
  /** `ts` of the first post of the thread; empty for the channel itself. */
  readonly thread: string;
}

/** An approval, as it is shown in Slack. */
export interface SlackQuestion {
  readonly asked: AskedPlace;
  /** All that is sealed by the digest, as text. */
  readonly shown: string;
  /** Whether a click can answer it: not if fields have to be filled in. */
  readonly canClick: boolean;
  /** Where it comes from and who may answer, in one line. */
  readonly facts: string;
  /** The command that answers it. */
  readonly command: string;
}

const ASK = "slack-ask";
const NOTE = "slack-note";

/** The message of an approval. */
export function slackAskDraft(place: SlackPlace, question: SlackQuestion): Draft {
  const { project, connection, trigger, channel, thread } = place;
  const { asked, shown, canClick, facts, command } = question;
  const isWhole = shown.length <= MAX_QUESTION;
  return {
    project,
    connection,
    kind: ASK,
    target: { trigger, channel, thread },
    key: askKey(asked),
    body: {
      text: isWhole ? shown : `${shown.slice(0, MAX_QUESTION)}…`,
      facts,
      command,
      ...isWhole && canClick ? { digest: asked.digest } : {},
      step: asked.step,
      round: asked.round,
    },
    taskId: asked.taskId,
  };
}

/** The key of that message; the one that it is changed into has the same. */
export function askKey({ taskId, step, round }: Omit<AskedPlace, "digest">): string {
  return `approval ${taskId} ${step} ${round}`;
}

/** The note to who clicked, once for each click. */
export function slackNoteDraft(
  place: SlackPlace,
  { userId, asked }: AnswerClick,
  { text, click }: { readonly text: string; readonly click: string },
): Draft {
  const { project, connection, trigger, channel, thread } = place;
  return {
    project,
    connection,
    kind: NOTE,
    target: { trigger, channel, thread, user: userId },
    key: `click ${click}`,
    body: { text },
    taskId: asked.taskId,
  };
}

/** Where the post stands on which somebody clicked; `undefined` if none of these messages made it. */
export function clickedPost(
  { asked, channel, ts }: AnswerClick,
  messages: readonly OutboxMessage[],
): SlackPlace | undefined {
  const found = messages.find(({ kind, key, target, externalId }) =>
    kind === ASK && key === askKey(asked) && target["channel"] === channel && externalId === ts
  );
  if (found === undefined) return undefined;
  const { project, connection, target } = found;
  const [trigger, thread] = [String(target["trigger"]), String(target["thread"])];
  return { project, connection, trigger, channel, thread };
}

/** The kind `slack-ask`. Slack offers no way to find a post again; to change one twice is harmless. */
export const slackAsk: MessageKind = {
  name: ASK,
  again: "never",
  way: (message, catalog) => findSlackAccess(message, catalog).connection,
  async send({ message, previousId }, host): Promise<SendResult> {
    const { body: { text, facts, command, over, digest, step, round }, taskId } = message;
    if (over !== undefined && previousId === "") {
      return { result: "dropped", reason: "the question was never posted" };
    }
    const content = shownQuestion({
      text: String(text),
      facts: String(facts),
      command: String(command),
      ...typeof over === "string" ? { over } : {},
      ...typeof digest === "string"
        ? { asked: { taskId, step: String(step), round: Number(round), digest } }
        : {},
    });
    return await viaSlack(message, host, async (access) => {
      const { channel, thread } = slackTarget(message);
      if (previousId === "") {
        return toResult(await postMessage({ channel, threadId: thread, ...content }, access));
      }
      const changed = await updateMessage({ channel, ts: previousId, ...content }, access);
      if (!changed.posted && changed.word === "message_not_found") {
        return { result: "dropped", reason: "the post was deleted" };
      }
      return toResult(changed);
    });
  },
};

/** The kind `slack-note`. */
export const slackNote: MessageKind = {
  name: NOTE,
  again: "never",
  way: (message, catalog) => findSlackAccess(message, catalog).connection,
  async send({ message, previousId }, host): Promise<SendResult> {
    if (previousId !== "") return { result: "dropped", reason: "it was said already" };
    return await viaSlack(message, host, async (access) => {
      const { channel, thread, user } = slackTarget(message);
      const text = String(message.body["text"]);
      return toResult(await postNote({ channel, threadId: thread, user, text }, access));
    });
  },
};

function slackTarget({ target }: OutboxMessage) {
  const { channel, thread = "", user = "" } = target;
  return { channel: String(channel), thread: String(thread), user: String(user) };
}

async function viaSlack(
  message: OutboxMessage,
  host: SendHost,
  work: (access: SlackAccess) => Promise<SendResult>,
): Promise<SendResult> {
  try {
    const { apiUrl = host.slackApiUrl, token } = findSlackAccess(message, host.catalog);
    return await work({ apiUrl, token, clock: host.clock, signal: host.signal });
  } catch (error) {
    return resultOfError(error);
  }
}

function toResult(result: PostResult): SendResult {
  return result.posted ? { result: "sent", externalId: result.ts } : notPosted(result);
}
