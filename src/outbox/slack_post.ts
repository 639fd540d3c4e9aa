/**
 * The kind `slack-post`: a text in a channel or thread, with the bot token of a Connection, or of
 * the trigger whose conversation it belongs to.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { isTooLong, MAX_POST_CHARACTERS, postMessage } from "../connections/slack/post_message.ts";
import { readToken } from "../connections/find_connection.ts";
import { noBotToken, slackConnectionOf } from "../connections/ways.ts";
import type { Catalog } from "../resources/catalog.ts";
import { apiUrlOf, type ConnectionSpec } from "../resources/connection.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";
import type { Draft, MessageKind, SendResult } from "./message_kind.ts";

/** A post, as rooms ask for it. */
export interface SlackPost {
  readonly project: string;
  /** Connection whose token posts it; empty for that of the trigger. */
  readonly connection: string;
  /** Trigger whose token posts it; empty where a Connection does. */
  readonly trigger: string;
  /** Channel id. */
  readonly channel: string;
  /** `ts` of the first post of the thread; empty for the channel itself. */
  readonly thread: string;
  readonly text: string;
  /** Task that it answers; empty for none. */
  readonly taskId: string;
}

/**
 * The message of a post.
 *
 * @throws {AppError} `too_large`.
 */
export function slackDraft(post: SlackPost): Draft {
  const { project, connection, trigger, channel, thread, text, taskId } = post;
  if (isTooLong(text)) {
    const most = `A post has at most ${MAX_POST_CHARACTERS} characters`;
    throw new AppError("too_large", `${most}, send a shorter text`);
  }
  const target = { trigger, channel, thread };
  return { project, connection, kind: slackPost.name, target, key: "", body: { text }, taskId };
}

/** The kind `slack-post`. Slack has nothing by which a post could be found again. */
export const slackPost: MessageKind = {
  name: "slack-post",
  again: "never",
  way: (message, catalog) => findSlackAccess(message, catalog).connection,
  async send({ message }, host): Promise<SendResult> {
    const { channel, thread } = message.target;
    try {
      const { apiUrl, token } = findSlackAccess(message, host.catalog);
      const posted = await postMessage(
        {
          channel: String(channel),
          threadId: String(thread ?? ""),
          text: String(message.body["text"]),
        },
        { apiUrl: apiUrl ?? host.slackApiUrl, token, clock: host.clock, signal: host.signal },
      );
      return toSendResult(posted);
    } catch (error) {
      if (error instanceof AppError) return { result: "refused", reason: error.message };
      throw error;
    }
  },
};

function toSendResult(posted: Awaited<ReturnType<typeof postMessage>>): SendResult {
  if (posted.posted) return { result: "sent", externalId: posted.ts };
  const { reason, isTemporary, afterSecs, mayHaveArrived } = posted;
  if (!isTemporary) return { result: "refused", reason };
  const asked = afterSecs === undefined ? {} : { afterSecs };
  return { result: "later", reason, ...asked, mayHaveArrived };
}

/** Where a post goes and with which token; without a URL to the API of the daemon's settings. */
interface Access {
  /** Name of the Connection; empty for the token of a trigger. */
  readonly connection: string;
  readonly apiUrl?: string;
  readonly token: string;
}

/**
 * How a post reaches Slack, as things are now: a token that was rotated, and a Connection that was
 * made, count from the next try.
 *
 * @throws {AppError} `refused`.
 */
export function findSlackAccess(
  { project, connection: named, target }: Pick<OutboxMessage, "project" | "connection" | "target">,
  catalog: Catalog,
): Access {
  const trigger = catalog.find<TriggerSpec>("Trigger", project, String(target["trigger"]));
  const connection = named === "" && trigger !== undefined
    ? slackConnectionOf(trigger, catalog)
    : named;
  if (connection === "") {
    return { connection, token: tokenOfTrigger(project, String(target["trigger"]), catalog) };
  }
  const found = catalog.find<ConnectionSpec>("Connection", project, connection);
  const slack = found?.spec.slack;
  if (found === undefined || slack === undefined) {
    const message = `No Connection "${connection}" to Slack in project "${project}": make it with`;
    throw new AppError("refused", `${message} svc connect slack`);
  }
  const token = readToken(found, slack.botToken, catalog);
  return { connection, apiUrl: apiUrlOf(found.spec), token };
}

/** Characters of a Slack token, all of which a header can hold: an error of `fetch` shows others. */
const TOKEN = /^[!-~]+$/;

function tokenOfTrigger(project: string, trigger: string, catalog: Catalog): string {
  const found = catalog.find<TriggerSpec>("Trigger", project, trigger);
  const from = found?.spec.event.webhook?.slack?.botToken?.fromSecret;
  if (from === undefined) throw noBotToken(trigger);
  const store = catalog.find<SecretStoreSpec>("SecretStore", project, from.store);
  const token = store !== undefined && Object.hasOwn(store.spec.data, from.key)
    ? store.spec.data[from.key]
    : undefined;
  if (token === undefined) {
    throw new AppError(
      "refused",
      `SecretStore "${from.store}" has no key "${from.key}": add it, or change spec.event.webhook.slack.botToken`,
    );
  }
  if (TOKEN.test(token)) return token;
  throw new AppError(
    "refused",
    "The bot token has characters that tokens cannot have: set it " +
      "again",
  );
}
