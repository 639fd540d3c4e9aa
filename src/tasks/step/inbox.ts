/**
 * Messages to tasks (`$SVC_INBOX`): stored first, then appended to the file of the running task,
 * one JSON line each, in the order of the store. The file is made anew from the store whenever the
 * task starts, so a crash cannot leave it incomplete.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import type { WallClock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { KeyedMutex } from "../../base/keyed_mutex.ts";
import { RegularFile } from "../../base/regular_file.ts";
import type { InboxMessage } from "../../store/task_records.ts";
import type { InboxStore } from "../../store/task_store.ts";

/** The file of a running task. */
interface OpenInbox {
  readonly path: string;
  /** Position behind its last message. */
  next: number;
}

/** Most tasks in `#missed`: a task that another daemon runs never starts here and leaves it. */
const MAX_MISSED = 10_000;

/** The inboxes of all tasks. */
export class Inboxes {
  readonly #store: Pick<InboxStore, "addToInbox" | "listInbox">;
  readonly #clock: WallClock;
  readonly #open = new Map<string, OpenInbox>();
  /** The latest tasks that did not run here when a message for them arrived. */
  readonly #missed = new Set<string>();
  /** Work on the same task is done in turn. */
  readonly #turns = new KeyedMutex();

  /** Stores messages in `store`, with the times of `clock`. */
  constructor(store: Pick<InboxStore, "addToInbox" | "listInbox">, clock: WallClock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Adds a message to the inbox of a task; `undefined` when the task has ended.
   *
   * @throws {AppError} `overloaded` when it cannot be stored now.
   */
  async add(taskId: string, message: JsonObject): Promise<InboxMessage | undefined> {
    const stored = await this.#store.addToInbox(taskId, message, this.#clock.now());
    if (stored !== undefined) await this.deliver(taskId, stored);
    return stored;
  }

  /** Appends a stored message to the file of its task, if the task runs here; once, and in order. */
  async deliver(taskId: string, stored: InboxMessage): Promise<void> {
    await this.#turns.run(taskId, async () => {
      const inbox = this.#open.get(taskId);
      if (inbox === undefined) this.#miss(taskId);
      else if (stored.position >= inbox.next) await this.#catchUp(taskId, inbox, stored);
    });
  }

  /** Appends messages that other daemons have stored, for one task or for all that run here. */
  async catchUp(taskId?: string): Promise<void> {
    const running = [...this.#open.keys()];
    const tasks = taskId === undefined ? running : [taskId];
    await Promise.all(tasks.map((id) =>
      this.#turns.run(id, async () => {
        const inbox = this.#open.get(id);
        if (inbox !== undefined) await this.#catchUp(id, inbox);
        else this.#miss(id);
      })
    ));
  }

  /**
   * Has the file of a task that starts made; returns its path. Later messages are appended until
   * {@linkcode close}. `hasMessages` is as the store knew it at the claim: most tasks never have a
   * message.
   */
  open(
    taskId: string,
    { hasMessages }: { hasMessages: boolean },
    make: (content: Uint8Array) => Promise<string>,
  ): Promise<string> {
    return this.#turns.run(taskId, async () => {
      const mayHaveMessages = this.#missed.delete(taskId) || hasMessages;
      const messages = mayHaveMessages ? await this.#store.listInbox(taskId) : [];
      const path = await make(toLines(messages));
      this.#open.set(taskId, { path, next: after(messages) });
      return path;
    });
  }

  /** Stops appending for a task that has ended. */
  close(taskId: string): Promise<void> {
    return this.#turns.run(taskId, () => {
      this.#open.delete(taskId);
      this.#missed.delete(taskId);
      return Promise.resolve();
    });
  }

  /** The messages to a task that runs here, from this position on. */
  async listFrom(taskId: string, from: number): Promise<readonly InboxMessage[]> {
    const inbox = this.#open.get(taskId);
    if (inbox === undefined || inbox.next <= from) return [];
    return (await this.#store.listInbox(taskId)).filter(({ position }) => position >= from);
  }

  /** Position behind the last message in the file of a task that runs here. */
  written(taskId: string): number {
    return this.#open.get(taskId)?.next ?? 0;
  }

  #miss(taskId: string): void {
    this.#missed.add(taskId);
    if (this.#missed.size <= MAX_MISSED) return;
    for (const oldest of this.#missed) {
      this.#missed.delete(oldest);
      return;
    }
  }

  /**
   * Appends the messages that the file lacks, without asking the store where that is only `stored`.
   * A step that has removed its file gets no more.
   */
  async #catchUp(taskId: string, inbox: OpenInbox, stored?: InboxMessage): Promise<void> {
    try {
      const missed = stored?.position === inbox.next
        ? [stored]
        : (await this.#store.listInbox(taskId)).filter(({ position }) => position >= inbox.next);
      if (missed.length === 0) return;
      using file = RegularFile.open(inbox.path, { for: "append", noLink: true });
      file.writeSync(toLines(missed));
      inbox.next = after(missed);
    } catch {
      // The store has the messages: the next one, or the next start of the task, appends them.
    }
  }
}

/** The position behind the last of these messages. */
function after(messages: readonly InboxMessage[]): number {
  return (messages.at(-1)?.position ?? -1) + 1;
}

function toLines(messages: readonly InboxMessage[]): Uint8Array {
  return utf8(messages.map(({ message }) => `${JSON.stringify(message)}\n`).join(""));
}
