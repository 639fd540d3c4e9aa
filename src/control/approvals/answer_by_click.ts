/**
 * Answers an approval by a click on a button in Slack. The click counts only on a post that svc itself
 * made, through the app that made it: the owner of another app could write any click.
 *
 * @module
 */

import { findPerson } from "../../auth/persons.ts";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type AnswerClick, readAnswerClick } from "../../connections/slack/answer_button.ts";
import { slackConnectionOf } from "../../connections/ways.ts";
import type { AnswerClicked } from "../../intake/slack/decide_routing.ts";
import type { Draft } from "../../outbox/message_kind.ts";
import { clickedPost, slackNoteDraft, type SlackPlace } from "../../outbox/slack_ask.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { slackIdentity } from "../../resources/person.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { AnswerResult } from "../../store/approval_records.ts";
import { MESSAGES_OF_TASK } from "../../store/outbox_records.ts";
import type { OutboxStore } from "../../store/outbox_store.ts";
import type { SourceEvent } from "../../store/source_event_records.ts";
import { answerApproval, type Answerer, type AnswerHost } from "./answer_approval.ts";
import { whatCame } from "./answer_words.ts";

/** The parts of the daemon that answer by a click. */
export interface ClickHost extends AnswerHost {
  readonly store: AnswerHost["store"] & Pick<OutboxStore, "listMessages">;
  readonly outbox: { enqueue(drafts: readonly Draft[]): Promise<unknown> };
}

/** Answers approvals by clicks, and tells who clicked what came of it. */
export function answerByClick(host: ClickHost): AnswerClicked {
  return async (event, payload) => {
    const click = readAnswerClick(payload);
    if (click === undefined) return refused("the click is not in the form of svc's buttons");
    const { taskId } = click.asked;
    const messages = await host.store.listMessages({ taskId, limit: MESSAGES_OF_TASK });
    const post = clickedPost(click, messages);
    if (post === undefined) return refused("the post is not one in which svc asks");
    const { project, trigger } = event;
    if (!isSameApp(post, { project, trigger }, host.catalog)) {
      return refused("the click came through another app than the one that asks");
    }
    const result = await answer(click, payload, host);
    const text = `Approval of step ${click.asked.step}: ${whatCame(result)}.`;
    const note = { text, click: event.externalEventId };
    await host.outbox.enqueue([slackNoteDraft(post, click, note)]);
    return { taskId, reason: text };
  };
}

async function answer(
  { answer, asked, team, userId }: AnswerClick,
  payload: JsonObject,
  host: ClickHost,
): Promise<AnswerResult> {
  const { taskId, step, round, digest } = asked;
  const identity = slackIdentity(team, userId);
  const by = whoClicked(identity, payload, host.catalog);
  const given = { taskId, step, round, answer, digest, by, surface: "slack" } as const;
  try {
    return (await answerApproval(given, host)).result;
  } catch (error) {
    // The task was deleted after the post was made.
    if (error instanceof AppError && error.code === "not_found") return { is: "none" };
    throw error;
  }
}

/** Names that are shown as they are. */
const NAME = /^[\p{L}\p{N}._-]{1,80}$/u;

function whoClicked(identity: string, payload: JsonObject, catalog: Catalog): Answerer {
  const person = findPerson(catalog, identity);
  if (person !== undefined) {
    return { identity, role: person.role, called: `${person.name} (Slack)` };
  }
  const { user } = payload as { readonly user?: { readonly username?: unknown } };
  const name = user?.username;
  const shown = typeof name === "string" && NAME.test(name) ? name : identity;
  return { identity, role: "read_only", called: `${shown} at Slack` };
}

/** Whether a trigger takes the events of the app that made a post. */
function isSameApp(
  post: SlackPlace,
  { project, trigger: name }: Pick<SourceEvent, "project" | "trigger">,
  catalog: Catalog,
): boolean {
  const trigger = catalog.find<TriggerSpec>("Trigger", project, name);
  if (trigger === undefined || post.project !== project) return false;
  try {
    const connection = slackConnectionOf(trigger, catalog);
    return connection === post.connection && (connection !== "" || name === post.trigger);
  } catch (error) {
    if (error instanceof AppError && error.code === "refused") return false;
    throw error;
  }
}

function refused(why: string) {
  return { taskId: "", reason: `no answer: ${why}` };
}
