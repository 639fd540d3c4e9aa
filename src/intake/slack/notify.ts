/**
 * Posts in the thread a task came from (`spec.event.webhook.slack`): replies of its steps, and how
 * the task began and ended. Off without a bot token.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { SlackSpec } from "../../resources/event_webhook.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { Events } from "../../store/events.ts";
import type { Routed, ThreadKey } from "../../store/source_event_records.ts";
import type { ThreadStore } from "../../store/source_event_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Task } from "../../store/task_records.ts";
import { postMessage } from "./api.ts";
import { cut } from "./fields.ts";

/** What {@linkcode SlackNotifier} needs. */
export interface NotifyHost {
  readonly catalog: Catalog;
  /** Hides them in what is posted. */
  readonly secrets: KnownSecrets;
  readonly store: TaskStore & ThreadStore;
  /** Base URL of Slack's Web API. */
  readonly slackApiUrl: string;
  readonly events: Events;
  readonly clock: Clock;
  readonly log: Log;
}

/** Most notifications that wait; beyond it they are dropped, with a warning. */
const MAX_WAITING = 200;
/** Most characters of a reason that are posted; `svc get task` has all of it. */
const MAX_REASON = 500;

/** Posts to the threads of tasks. */
export class SlackNotifier implements AsyncDisposable {
  readonly #host: NotifyHost;
  readonly #stopping = new AbortController();
  readonly #posting = new Set<Promise<void>>();

  readonly #subscriptions: readonly Disposable[];

  /** Subscribes to starts and ends of tasks, and posts those that their triggers ask for. */
  constructor(host: NotifyHost) {
    this.#host = host;
    const { events } = host;
    this.#subscriptions = [
      events.on("taskStarted", (task) => this.#started(task)),
      events.on("taskEnded", ({ task }) => this.#ended(task)),
      events.on("sourceEventRouted", ({ routed }) => this.#routed(routed)),
    ];
  }

  /**
   * Posts a text to the thread a task came from.
   *
   * @returns Channel and `ts` of the new post.
   * @throws {AppError} `refused` when the task came from no conversation or its trigger has no bot
   * token; whatever {@linkcode postMessage} throws.
   */
  async reply({ id }: Task, text: string): Promise<{ channel: string; ts: string }> {
    const thread = await this.#threadOf(id);
    if (thread === undefined) {
      throw new AppError(
        "refused",
        `Task ${id} did not come from a conversation, so there is no thread to post to`,
      );
    }
    return { channel: thread.conversationId, ts: await this.#post(thread, text) };
  }

  #started(task: Task): void {
    if (this.#wants(task, "started")) this.#postLater(task, `Task ${task.id} started`);
  }

  #ended(task: Task): void {
    const { state } = task;
    if (state !== "succeeded" && state !== "failed" || !this.#wants(task, state)) return;
    const { id, reason, startedAt, finishedAt } = task;
    const took = startedAt === undefined || finishedAt === undefined
      ? ""
      : ` after ${shortDuration(finishedAt - startedAt)}`;
    const why = reason === "" ? "" : `: ${cut(reason, MAX_REASON)}`;
    this.#postLater(task, `Task ${id} ${state}${took}${why}`);
  }

  /**
   * A task can end in the moment it is stored, because something it needs is missing; then it never
   * runs.
   */
  #routed({ taskId, ended }: Routed): void {
    if (taskId === undefined || ended !== true) return;
    const { store, log } = this.#host;
    store.findTasks(taskId).then(
      ([task]) => task === undefined ? undefined : this.#ended(task),
      (error) =>
        log.warn("the end of a task could not be posted to Slack", { task: taskId, error }),
    );
  }

  /** Gives up posts that still wait. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]();
    this.#stopping.abort();
    await Promise.all(this.#posting);
  }

  #wants(
    { project, trigger }: { project: string; trigger: string },
    what: "started" | "succeeded" | "failed",
  ): boolean {
    return this.#spec(project, trigger)?.notify?.includes(what) === true;
  }

  #spec(project: string, trigger: string): SlackSpec | undefined {
    const found = this.#host.catalog.find<TriggerSpec>("Trigger", project, trigger);
    return found?.spec.event.webhook?.slack;
  }

  async #threadOf(taskId: string): Promise<ThreadKey | undefined> {
    const thread = await this.#host.store.findThreadOfTask(taskId);
    return thread?.conversationId === "" ? undefined : thread;
  }

  /** Posts in the background; a task that came from no conversation has no thread to post to. */
  #postLater(task: Task, text: string): void {
    const { log } = this.#host;
    if (this.#stopping.signal.aborted) return;
    if (this.#posting.size >= MAX_WAITING) {
      return log.warn("too many posts to Slack are waiting, this one is dropped");
    }
    const post = async () => {
      const thread = await this.#threadOf(task.id);
      if (thread !== undefined) await this.#post(thread, text);
    };
    const run: Promise<void> = post()
      .catch((error) => log.warn("a post to Slack failed", { task: task.id, error }))
      .finally(() => this.#posting.delete(run));
    this.#posting.add(run);
  }

  async #post(thread: ThreadKey, message: string): Promise<string> {
    const { project, trigger, conversationId, threadId } = thread;
    const { secrets } = this.#host;
    using _known = secrets.runBegins(); // a token that is replaced meanwhile may be in an error
    const text = secrets.redact(message);
    const access = {
      apiUrl: this.#host.slackApiUrl,
      token: () => this.#token(project, trigger),
      clock: this.#host.clock,
      signal: this.#stopping.signal,
    };
    return await postMessage({ channel: conversationId, threadId, text }, access);
  }

  #token(project: string, trigger: string): string {
    const from = this.#spec(project, trigger)?.botToken?.fromSecret;
    if (from === undefined) {
      throw new AppError(
        "refused",
        `Trigger "${trigger}" names no bot token: set spec.event.webhook.slack.botToken`,
      );
    }
    const store = this.#host.catalog.find<SecretStoreSpec>("SecretStore", project, from.store);
    if (store === undefined || !Object.hasOwn(store.spec.data, from.key)) {
      throw new AppError(
        "refused",
        `SecretStore "${from.store}" has no key "${from.key}": add it, or change spec.event.webhook.slack.botToken`,
      );
    }
    return store.spec.data[from.key] ?? "";
  }
}
