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
import {
  type Draft,
  type MessageKind,
  notPosted,
  resultOfError,
  type SendResult,
} from "./message_kind.ts";

/** A post to a channel or thread. */
export interface SlackPost {
  readonly project: string;
  /** Connection whose token posts it; empty for the token of the trigger. */
  readonly connection: string;
  /** Trigger whose token posts it; empty if a Connection does. */
  readonly trigger: string;
  /** The id of the channel. */
  readonly channel: string;
  /** `ts` of the first post of the thread; empty for the channel itself. */
  readonly thread: string;
  readonly text: string;
  /** Task that it answers; empty if it answers none. */
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

/** The kind `slack-post`. Slack offers no way to find a post again. */
export const slackPost: MessageKind = {
  name: "slack-post",
  again: "never",
  way: (message, catalog) => findSlackAccess(message, catalog).connection,
  async send({ message }, host): Promise<SendResult> {
    const { channel, thread } = message.target;
    try {
      const { apiUrl, token } = findSlackAccess(message, host.catalog);
      const result = await postMessage(
        {
          channel: String(channel),
          threadId: String(thread ?? ""),
          text: String(message.body["text"]),
        },
        { apiUrl: apiUrl ?? host.slackApiUrl, token, clock: host.clock, signal: host.signal },
      );
      return result.posted ? { result: "sent", externalId: result.ts } : notPosted(result);
    } catch (error) {
      return resultOfError(error);
    }
  },
};

/** The API and token of a post; without a URL it is the API of the daemon's settings. */
interface Access {
  /** Name of the Connection; empty for the token of a trigger. */
  readonly connection: string;
  readonly apiUrl?: string;
  readonly token: string;
}

/**
 * The API and token of a post at present: a token that was rotated and a Connection that was made
 * count from the next try.
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

/** A header can hold all characters of a Slack token; an error of `fetch` would show any others. */
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
  const message = "The bot token has characters that tokens cannot have: set it again";
  throw new AppError("refused", message);
}
