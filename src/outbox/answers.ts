/**
 * The answers of a task that its trigger asks for: when the task starts, and when it has ended. The
 * store keeps an end until its answers are in the outbox.
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
import { reportsAt, type ReportSources } from "./reports.ts";
import { postsAt } from "./slack_answers.ts";
import { unansweredDraft } from "./unanswered.ts";

/** The sources and the destination of answers. */
export interface AnswersHost extends ReportSources {
  readonly outbox: Outbox;
  readonly events: Events;
  readonly log: Log;
}

/** Makes the answers of tasks until disposed. */
export class Answers implements AsyncDisposable {
  readonly #host: AnswersHost;
  readonly #subscription: Disposable;

  /** Answers the start of every task from now on. */
  constructor(host: AnswersHost) {
    this.#host = host;
    this.#subscription = host.events.on("taskStarted", (task) => this.#started(task));
  }

  /**
   * The answers to the end of a task, for the transaction that removes the mark of the end.
   *
   * @throws {AppError} `overloaded`; any other failure becomes a message of the kind `unanswered`.
   */
  async atEnd(task: Task): Promise<readonly NewMessage[]> {
    await this.#host.outbox.startStored(task.id);
    return this.#host.outbox.prepare(await this.#draftsAt("ended", task));
  }

  /** Waits for the messages that are being stored. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]();
    await this.#host.outbox.startsStored();
  }

  #started(task: Task): void {
    if (task.rootId !== "") return; // the task at the top answers
    const { outbox, log } = this.#host;
    outbox.enqueueStart(task.id, this.#draftsAt("started", task))
      .catch((error) =>
        log.warn("the start of a task could not be announced", { task: task.id, error })
      );
  }

  async #draftsAt(point: "started" | "ended", task: Task): Promise<readonly Draft[]> {
    const all = await Promise.all(
      MAKERS.map((make) =>
        make(point, task, this.#host).catch((error) => this.#failed(error, point, task))
      ),
    );
    return all.flat();
  }

  /** An answer that cannot be made does not keep the others back. */
  #failed(error: unknown, point: "started" | "ended", task: Task): readonly Draft[] {
    if (error instanceof AppError && error.code === "overloaded") throw error;
    if (point === "started") return []; // reported once, at the end
    return [unansweredDraft(task, messageOf(error))];
  }
}

/** Each makes the answers that a trigger asks for in one way. */
const MAKERS: readonly ((
  point: "started" | "ended",
  task: Task,
  host: AnswersHost,
) => Promise<readonly Draft[]>)[] = [postsAt, reportsAt];
