/**
 * Tells people about failures: finds the Notifications that report one, and puts their messages into
 * the outbox. The store keeps the end of a task until its messages are stored.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { Core } from "../base/core.ts";
import type { NewId } from "../base/ids.ts";
import type { Draft } from "../outbox/message_kind.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { Catalog } from "../resources/catalog.ts";
import { everySecs, type NotificationSpec } from "../resources/notification.ts";
import type { Resource } from "../resources/resource.ts";
import type { Events } from "../store/events.ts";
import type { NewMessage } from "../store/outbox_records.ts";
import type { Task } from "../store/task_records.ts";
import type { TaskStore } from "../store/task_store.ts";
import { draftsTo } from "./drafts.ts";
import { type Notice, noticeOfFault, noticeOfIncident, noticeOfTask, repeated } from "./notice.ts";
import { type CountedNotices, Throttle } from "./throttle.ts";
import type { NotificationIndex } from "./indexed_notifications.ts";

/** The parts of the daemon that a {@linkcode Notifier} uses. */
export interface NotifierHost extends Core {
  readonly catalog: Catalog;
  readonly store: Pick<TaskStore, "listTasks">;
  readonly outbox: Pick<Outbox, "enqueue" | "prepare">;
  readonly notifications: NotificationIndex;
  readonly events: Events;
  readonly newId: NewId;
}

/** Earlier tasks among which the last one that ended is looked for. */
const LOOKED_BACK = 20;

/** Makes messages until it is disposed. */
export class Notifier implements AsyncDisposable {
  readonly #host: NotifierHost;
  readonly #throttle: Throttle;
  readonly #subscription: Disposable;
  readonly #storing = new Set<Promise<void>>();
  #faults: ReadonlySet<string> = new Set();

  constructor(host: NotifierHost) {
    this.#host = host;
    this.#throttle = new Throttle(host.clock, (name, counted) => this.#tellCounted(name, counted));
    this.#subscription = host.events.on("incidentHappened", (incident) => {
      this.tell(noticeOfIncident(incident, host.clock.now()));
    });
  }

  /** The messages about the end of a task, to be stored when the stored end is removed. */
  async atEnd(task: Task): Promise<readonly NewMessage[]> {
    const { outbox, notifications } = this.#host;
    if (task.state === "failed") {
      const notice = noticeOfTask(task, "task.failed");
      return outbox.prepare(this.#drafts(notice, task.id));
    }
    if (task.state !== "succeeded" || !notifications.wantsTask("task.recovered", task)) return [];
    if (!await this.#failedBefore(task)) return [];
    return outbox.prepare(this.#drafts(noticeOfTask(task, "task.recovered"), task.id));
  }

  /** Stores messages about a notice; a message that cannot be stored is logged. */
  tell(notice: Notice): void {
    this.#store(this.#drafts(notice, this.#host.newId()));
  }

  /** Whether a Notification reports faults of the daemon. */
  wantsFaults(): boolean {
    return this.#host.notifications.wants("daemon.degraded");
  }

  /** Reports those faults of the daemon that the last call did not have. */
  tellFaults(faults: readonly string[]): void {
    const notices = faults.map((fault) => noticeOfFault(fault, this.#host.clock.now()));
    const before = this.#faults;
    this.#faults = new Set(notices.map(({ cause }) => cause));
    for (const notice of notices.filter(({ cause }) => !before.has(cause))) this.tell(notice);
  }

  /** Stores messages about notices that were only counted so far, and waits for that. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]();
    for (const [name, counted] of this.#throttle.close()) this.#tellCounted(name, counted);
    await Promise.all(this.#storing);
  }

  #drafts(notice: Notice, id: string): readonly Draft[] {
    return this.#host.notifications.of(notice).flatMap((notification) => {
      const name = nameOf(notification, notice.cause);
      if (notice.kind === "task.recovered") {
        // The next failure is reported at once.
        this.#throttle.end(nameOf(notification, notice.cause.replace(notice.kind, "task.failed")));
        return draftsTo(notification, notice);
      }
      const everyMs = everySecs(notification.spec) * 1000;
      const tells = this.#throttle.tellsNow(name, id, notice, everyMs);
      return tells ? draftsTo(notification, notice) : [];
    });
  }

  #tellCounted(name: string, { notice, count, since }: CountedNotices): void {
    const notification = this.#host.notifications.of(notice).find((one) =>
      nameOf(one, notice.cause) === name
    );
    if (notification === undefined) return; // it was deleted, or no longer reports this
    this.#store(draftsTo(notification, repeated(notice, count, since)));
  }

  #store(drafts: readonly Draft[]): void {
    if (drafts.length === 0) return;
    const { outbox, log } = this.#host;
    const storing: Promise<void> = outbox.enqueue(drafts)
      .then(() => {}, (error) => log.error("a notification could not be stored", { error }))
      .finally(() => this.#storing.delete(storing));
    this.#storing.add(storing);
  }

  /** Whether the task before this one, of the same trigger and workflow, has failed. */
  async #failedBefore({ id, project, trigger, workflow }: Task): Promise<boolean> {
    const before = await this.#host.store.listTasks({
      project,
      workflow,
      ...defined({ trigger: trigger || undefined }),
      before: id,
      limit: LOOKED_BACK,
    });
    return before.find(({ state }) => state === "failed" || state === "succeeded")?.state ===
      "failed";
  }
}

function nameOf(
  { project, name }: Pick<Resource<NotificationSpec>, "project" | "name">,
  cause: string,
): string {
  return `${project}/${name} ${cause}`;
}

/**
 * The Notification of this name.
 *
 * @throws {AppError} `not_found`.
 */
export function findNotification(
  project: string,
  name: string,
  catalog: Catalog,
): Resource<NotificationSpec> {
  const notification = catalog.find<NotificationSpec>("Notification", project, name);
  if (notification !== undefined) return notification;
  throw new AppError("not_found", `No Notification "${name}" in project "${project}"`);
}
