/**
 * Cancels child tasks for which nothing waits any more: the task above is to be stopped, or the time of
 * its step is over. Its own worker would do so too, but may never come to it: in a project, a workspace
 * or a machine that is full, its children hold the place that it would need.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { SerialRunner } from "../../base/serial_runner.ts";
import type { ChildStore } from "../../store/child_store.ts";
import type { Events } from "../../store/events.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import { cancelChild, type ChildrenHost } from "./children.ts";

/** The clock, the log, the children, and what tells that some may be abandoned. */
interface AbandonedHost extends Core {
  readonly store:
    & Pick<ChildStore, "listAbandonedChildren">
    & Pick<WaitStore, "endWait">
    & Omit<ChildrenHost["store"], "listChildren">;
  readonly events: Events;
}

/** How often is looked for what a crash, or another daemon, has left. */
const LOOK_EVERY_MS = 60_000;
/** Children that are cancelled in one go. */
const BATCH_SIZE = 100;

/** Cancels abandoned children until disposed. */
export class AbandonedChildren implements AsyncDisposable {
  readonly #host: AbandonedHost;
  readonly #runner: SerialRunner;
  readonly #subscriptions = new DisposableStack();

  /** Looks at once for what the previous run of the daemon has left. */
  constructor(host: AbandonedHost) {
    this.#host = host;
    const { clock, log, events } = host;
    this.#runner = new SerialRunner({
      run: () => this.#cancel(),
      onError: (error) =>
        log.warn(
          "child tasks that nothing waits for cannot be cancelled, trying again in a second",
          {
            error,
          },
        ),
      clock,
    });
    const kick = () => this.#runner.kick();
    this.#subscriptions.use(clock.every(LOOK_EVERY_MS, kick));
    this.#subscriptions.use(events.on("taskStopping", kick));
    this.#subscriptions.use(events.on("tasksStored", ({ replaced }) => {
      if (replaced.length > 0) kick();
    }));
    // a step that has begun to wait may be the first whose time is over
    this.#subscriptions.use(events.on("childrenAwaited", kick));
    kick();
  }

  /** Gives the time at which the next step waits no more. */
  async #cancel(): Promise<number | undefined> {
    const { store, clock } = this.#host;
    const now = clock.now();
    const { children, nextAt } = await store.listAbandonedChildren(now, BATCH_SIZE);
    for (const { id, ...place } of children) {
      // first, so that its step says that its time was over, and not that the child was cancelled
      await store.endWait({ ...place, end: { by: "time" }, now });
      await cancelChild({ id, taskId: place.taskId }, this.#host);
    }
    // those below them may be abandoned now
    return children.length > 0 ? now : nextAt;
  }

  /** Waits for the children that are being cancelled. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscriptions.dispose();
    await this.#runner[Symbol.asyncDispose]();
  }
}
