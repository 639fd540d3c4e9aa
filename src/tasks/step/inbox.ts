/**
 * Messages to tasks (`$SVC_INBOX`): stored first, then appended to the file of the running task,
 * one JSON line each, in the order of the store. The file is made anew from the store whenever the
 * task starts, so a crash cannot leave it incomplete.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type { InboxStore } from "../../store/task_store.ts";
import type { InboxMessage } from "../../store/task_records.ts";
import { KeyedMutex } from "../../base/keyed_mutex.ts";
import { utf8 } from "../../base/bytes.ts";
import { RegularFile } from "../../base/regular_file.ts";

/** What inboxes need. */
export interface InboxHost {
  readonly store: InboxStore;
  readonly clock: { now(): number };
}

/** The file of a running task. */
interface OpenInbox {
  readonly path: string;
  /** Number of messages in it. */
  count: number;
}

/** Most tasks that are remembered so: those that another daemon runs never start here. */
const MAX_MISSED = 10_000;

/** The inboxes of all tasks. */
export class Inboxes {
  readonly #host: InboxHost;
  readonly #open = new Map<string, OpenInbox>();
  /** Tasks that were not running when a message for them arrived, the latest. */
  readonly #missed = new Set<string>();
  /** Orders the work on each task. */
  readonly #turns = new KeyedMutex();

  /** Stores messages in the store of `host`. */
  constructor(host: InboxHost) {
    this.#host = host;
  }

  /**
   * Adds a message to the inbox of a task; `undefined` when the task has ended.
   *
   * @throws {AppError} `overloaded` when it cannot be stored now.
   */
  async add(taskId: string, message: JsonObject): Promise<InboxMessage | undefined> {
    const { store, clock } = this.#host;
    const stored = await store.addToInbox(taskId, message, clock.now());
    if (stored !== undefined) await this.deliver(taskId, stored);
    return stored;
  }

  /** Appends a stored message to the file of its task, if the task runs; once, and in order. */
  async deliver(taskId: string, stored: InboxMessage): Promise<void> {
    await this.#turns.run(taskId, async () => {
      const inbox = this.#open.get(taskId);
      if (inbox === undefined) this.#miss(taskId);
      else if (stored.position >= inbox.count) await this.#catchUp(taskId, inbox, stored);
    });
  }

  /** Appends what others have stored for a task, or for any, to the files of those that run. */
  async catchUp(taskId?: string): Promise<void> {
    const running = [...this.#open.keys()];
    const asked = taskId === undefined ? running : [taskId];
    await Promise.all(asked.map((id) =>
      this.#turns.run(id, async () => {
        const inbox = this.#open.get(id);
        if (inbox !== undefined) await this.#catchUp(id, inbox);
        else this.#miss(id);
      })
    ));
  }

  /**
   * Fills the empty file of a task that starts; later messages are appended until {@linkcode
   * close}. `hasMessages` is the fact at the time of the claim: most tasks never have a message.
   */
  open(taskId: string, path: string, { hasMessages }: { hasMessages: boolean }): Promise<void> {
    return this.#turns.run(taskId, async () => {
      const mayHaveMessages = this.#missed.delete(taskId) || hasMessages;
      const messages = mayHaveMessages ? await this.#host.store.listInbox(taskId) : [];
      add("replace", path, messages);
      this.#open.set(taskId, { path, count: messages.length });
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

  #miss(taskId: string): void {
    this.#missed.add(taskId);
    if (this.#missed.size <= MAX_MISSED) return;
    for (const oldest of this.#missed) {
      this.#missed.delete(oldest);
      return;
    }
  }

  /**
   * Appends the messages that the file lacks, maybe only the one `stored`; a step that has removed
   * its file gets no more.
   */
  async #catchUp(taskId: string, inbox: OpenInbox, stored?: InboxMessage): Promise<void> {
    try {
      const missed = stored?.position === inbox.count
        ? [stored]
        : (await this.#host.store.listInbox(taskId)).slice(inbox.count);
      if (missed.length === 0) return;
      add("append", inbox.path, missed);
      inbox.count += missed.length;
    } catch {
      // Kept in the store: the next message brings it along, or the next start of the task.
    }
  }
}

function add(how: "append" | "replace", path: string, messages: readonly InboxMessage[]): void {
  if (messages.length === 0) return;
  using file = RegularFile.open(path, { for: how, noLink: true });
  file.writeSync(utf8(messages.map(toLine).join("")));
}

function toLine({ message }: InboxMessage): string {
  return `${JSON.stringify(message)}\n`;
}
