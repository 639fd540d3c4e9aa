/**
 * Posts to the thread of a task (`spec.event.webhook.slack`): replies of its steps, and the task's
 * start and end. Off without a bot token of the trigger or a Connection.
 *
 * @module
 */

import { shortDuration } from "../base/duration.ts";
import { AppError } from "../base/errors.ts";
import { slackConnectionOf } from "../connections/ways.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { SlackSpec } from "../resources/event_webhook.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { ThreadKey } from "../store/source_event_records.ts";
import type { ThreadStore } from "../store/source_event_store.ts";
import type { Task } from "../store/task_records.ts";
import type { Draft } from "./message_kind.ts";
import type { SlackPlace } from "./slack_ask.ts";
import { findSlackAccess, slackDraft } from "./slack_post.ts";

/** Most characters of a reason that are posted; `svc get task` has all of it. */
const MAX_REASON = 500;

/** The resources, and the conversations that tasks came from. */
interface PostSources {
  readonly catalog: Catalog;
  readonly store: ThreadStore;
}

/** Points of a task's life at which its thread can get a post. */
export type TaskPoint = "started" | "succeeded" | "failed";

/** Whether the trigger of a task asks for a post at any of these points. */
export function wantsPosts(
  { project, trigger }: Pick<Task, "project" | "trigger">,
  points: readonly TaskPoint[],
  catalog: Catalog,
): boolean {
  const notify = slackSpec(project, trigger, catalog)?.notify ?? [];
  return points.some((point) => notify.includes(point));
}

/**
 * The posts when a task starts, or has ended. The end is posted even without a bot token: the outbox
 * gives the message up with the reason, and it can be sent later.
 *
 * @throws {AppError} `refused` if there is no bot token for the post of a start.
 */
export async function postsAt(
  point: "started" | "ended",
  task: Task,
  { catalog, store }: PostSources,
): Promise<readonly Draft[]> {
  const state = point === "started" ? "started" : task.state;
  if (state !== "started" && state !== "succeeded" && state !== "failed") return [];
  if (!wantsPosts(task, [state], catalog)) return [];
  const thread = await threadOf(task, store);
  if (thread === undefined) return []; // it came from no conversation
  const draft = slackDraft(inThread(thread, { task, text: describe(task, state) }, catalog));
  if (point === "started") findSlackAccess(draft, catalog);
  return [draft];
}

/**
 * A text for the thread from which a task came.
 *
 * @throws {AppError} `refused` if the task came from no conversation or its trigger has no bot token;
 * `too_large`.
 */
export async function replyTo(
  task: Task,
  text: string,
  { catalog, store }: PostSources,
): Promise<Draft> {
  const thread = await threadOf(task, store);
  if (thread !== undefined) {
    const draft = slackDraft(inThread(thread, { task, text }, catalog));
    findSlackAccess(draft, catalog);
    return draft;
  }
  throw new AppError(
    "refused",
    `Task ${task.id} did not come from a conversation, so there is no thread to post to`,
  );
}

function describe({ id, reason, startedAt, finishedAt }: Task, state: TaskPoint): string {
  if (state === "started") return `Task ${id} started`;
  const took = startedAt === undefined || finishedAt === undefined
    ? ""
    : ` after ${shortDuration(finishedAt - startedAt)}`;
  const shown = reason.length <= MAX_REASON ? reason : `${reason.slice(0, MAX_REASON)}…`;
  return `Task ${id} ${state}${took}${reason === "" ? "" : `: ${shown}`}`;
}

function inThread(
  { project, trigger, conversationId, threadId }: ThreadKey,
  { task, text }: { readonly task: Task; readonly text: string },
  catalog: Catalog,
) {
  return {
    project,
    connection: connectionOf({ project, trigger }, catalog),
    trigger,
    channel: conversationId,
    thread: threadId,
    text,
    taskId: task.id,
  };
}

/** The Connection whose bot answers; empty if the trigger has a token, or there is none yet. */
function connectionOf(
  { project, trigger }: { readonly project: string; readonly trigger: string },
  catalog: Catalog,
): string {
  const found = catalog.find<TriggerSpec>("Trigger", project, trigger);
  if (found === undefined) return "";
  try {
    return slackConnectionOf(found, catalog);
  } catch (error) {
    if (error instanceof AppError && error.code === "refused") return "";
    throw error;
  }
}

/** The thread from which a task came, for more than a text; `undefined` if it came from none. */
export async function slackThreadOf(
  task: Task,
  { catalog, store }: PostSources,
): Promise<SlackPlace | undefined> {
  const thread = await threadOf(task, store);
  if (thread === undefined) return undefined;
  const { project, trigger, conversationId: channel, threadId } = thread;
  const connection = connectionOf({ project, trigger }, catalog);
  return { project, connection, trigger, channel, thread: threadId };
}

async function threadOf({ id }: Task, store: ThreadStore): Promise<ThreadKey | undefined> {
  const thread = await store.findThreadOfTask(id);
  return thread?.conversationId === "" ? undefined : thread;
}

function slackSpec(project: string, trigger: string, catalog: Catalog): SlackSpec | undefined {
  return catalog.find<TriggerSpec>("Trigger", project, trigger)?.spec.event.webhook?.slack;
}
