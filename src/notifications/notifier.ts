/**
 * Tells people of what failed: hears of it, asks which Notifications want to know, and puts their
 * messages into the outbox. The end of a task is kept on disk until its messages are there.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Clock } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
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
import type { Watching } from "./watching.ts";

/** What a {@linkcode Notifier} needs. */
export interface NotifierHost {
  readonly catalog: Catalog;
  readonly store: Pick<TaskStore, "listTasks">;
  readonly outbox: Pick<Outbox, "enqueue" | "prepare">;
  readonly watching: Watching;
  readonly events: Events;
  readonly newId: NewId;
  readonly clock: Clock;
  readonly log: Log;
}

/** Ended tasks among which the one before is looked for. */
const LOOKED_BACK = 20;

/** Makes messages until disposed. */
export class Notifier implements AsyncDisposable {
  readonly #host: NotifierHost;
  readonly #throttle: Throttle;
  readonly #subscription: Disposable;
  readonly #storing = new Set<Promise<void>>();
  #faults: ReadonlySet<string> = new Set();

  /** Hears of incidents from now on. */
  constructor(host: NotifierHost) {
    this.#host = host;
    this.#throttle = new Throttle(host.clock, (name, counted) => this.#tellCounted(name, counted));
    this.#subscription = host.events.on("incidentHappened", (incident) => {
      this.tell(noticeOfIncident(incident, host.clock.now()));
    });
  }

  /** The messages about the end of a task, to be stored when its mark is taken away. */
  async atEnd(task: Task): Promise<readonly NewMessage[]> {
    const { outbox, watching } = this.#host;
    if (task.state === "failed") {
      const notice = noticeOfTask(task, "task.failed");
      return outbox.prepare(this.#drafts(notice, task.id));
    }
    if (task.state !== "succeeded" || !watching.wantsTask("task.recovered", task)) return [];
    if (!await this.#failedBefore(task)) return [];
    return outbox.prepare(this.#drafts(noticeOfTask(task, "task.recovered"), task.id));
  }

  /** Tells the Notifications that want to know; what cannot be stored is logged. */
  tell(notice: Notice): void {
    this.#store(this.#drafts(notice, this.#host.newId()));
  }

  /** Whether some Notification wants to hear of faults of the daemon. */
  wantsFaults(): boolean {
    return this.#host.watching.wantsFaults();
  }

  /** Tells of faults of the daemon that were not there when this was called last. */
  tellFaults(faults: readonly string[]): void {
    const notices = faults.map((fault) => noticeOfFault(fault, this.#host.clock.now()));
    const before = this.#faults;
    this.#faults = new Set(notices.map(({ cause }) => cause));
    for (const notice of notices.filter(({ cause }) => !before.has(cause))) this.tell(notice);
  }

  /** Stores what was only counted so far, and waits for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]();
    for (const [name, counted] of this.#throttle.close()) this.#tellCounted(name, counted);
    await Promise.all(this.#storing);
  }

  #drafts(notice: Notice, id: string): readonly Draft[] {
    return this.#host.watching.of(notice).flatMap((notification) => {
      const name = nameOf(notification, notice.cause);
      if (notice.kind === "task.recovered") {
        // The next failure is a new story.
        this.#throttle.end(nameOf(notification, notice.cause.replace(notice.kind, "task.failed")));
        return draftsTo(notification, notice);
      }
      const everyMs = everySecs(notification.spec) * 1000;
      const tells = this.#throttle.tellsNow(name, id, notice, everyMs);
      return tells ? draftsTo(notification, notice) : [];
    });
  }

  #tellCounted(name: string, { notice, count, since }: CountedNotices): void {
    const notification = this.#host.watching.of(notice).find((one) =>
      nameOf(one, notice.cause) === name
    );
    if (notification === undefined) return; // it has gone, or wants to hear no more of it
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
      ...(trigger === "" ? {} : { trigger }),
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
  const found = catalog.find<NotificationSpec>("Notification", project, name);
  if (found !== undefined) return found;
  throw new AppError("not_found", `No Notification "${name}" in project "${project}"`);
}
