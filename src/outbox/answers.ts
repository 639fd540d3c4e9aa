/**
 * What a task is answered with by its trigger's own wish: when it starts, and when it has ended. An
 * end is kept on disk until its answers are in the outbox.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Events } from "../store/events.ts";
import type { NewMessage } from "../store/outbox_records.ts";
import type { Task } from "../store/task_records.ts";
import type { Draft } from "./message_kind.ts";
import type { Outbox } from "./outbox.ts";
import { reportsAt, type ReportsHost } from "./reports.ts";
import { postsAt, type SlackAnswersHost } from "./slack_answers.ts";
import { unansweredDraft } from "./unanswered.ts";

/** What answers need. */
export interface AnswersHost extends Omit<SlackAnswersHost & ReportsHost, "store"> {
  readonly store: SlackAnswersHost["store"] & ReportsHost["store"];
  readonly outbox: Outbox;
  readonly events: Events;
  readonly log: Log;
}

/** Makes the answers of tasks until disposed. */
export class Answers implements AsyncDisposable {
  readonly #host: AnswersHost;
  readonly #subscription: Disposable;

  /** Hears tasks start from now on. */
  constructor(host: AnswersHost) {
    this.#host = host;
    this.#subscription = host.events.on("taskStarted", (task) => this.#started(task));
  }

  /**
   * What the end of a task is answered with, to be stored when its mark is taken away.
   *
   * @throws {AppError} `overloaded`; what else keeps it from being answered is in a message of its own.
   */
  async atEnd(task: Task): Promise<readonly NewMessage[]> {
    await this.#host.outbox.startStored(task.id);
    return this.#host.outbox.prepare(await this.#draftsAt("ended", task));
  }

  /** Waits for what is being stored. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]();
    await this.#host.outbox.startsStored();
  }

  #started(task: Task): void {
    const { outbox, log } = this.#host;
    outbox.enqueueStart(task.id, this.#draftsAt("started", task))
      .catch((error) =>
        log.warn("the start of a task could not be announced", { task: task.id, error })
      );
  }

  async #draftsAt(point: "started" | "ended", task: Task): Promise<readonly Draft[]> {
    const all = await Promise.all(
      SOURCES.map((source) =>
        source(point, task, this.#host).catch((error) => this.#none(error, point, task))
      ),
    );
    return all.flat();
  }

  /**
   * One answer that cannot be made keeps no other one back. The outbox gives it up with the reason, as
   * it does with every message that cannot be sent.
   */
  #none(error: unknown, point: "started" | "ended", task: Task): readonly Draft[] {
    if (error instanceof AppError && error.code === "overloaded") throw error;
    if (point === "started") return []; // told once, at the end
    return [unansweredDraft(task, messageOf(error))];
  }
}

/** What makes answers, each for the triggers that ask for it. */
const SOURCES: readonly ((
  point: "started" | "ended",
  task: Task,
  host: AnswersHost,
) => Promise<readonly Draft[]>)[] = [postsAt, reportsAt];
