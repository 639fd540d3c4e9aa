/**
 * What a batch changes, as the function `write` of the database takes it (`functions/write.ts`):
 * rows in one JSON text, and beside it one buffer with all bytes, in which the rows say where
 * theirs are. A buffer is sent as it is; a list of them would be sent as text.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { storableJson } from "./storable_json.ts";

/** Values by column. What is absent is null in a new row, and stays in a stored one. */
export type Columns = Readonly<Record<string, unknown>>;

/** Tables in which a row has a key; when a batch changes it twice, the last change counts. */
type Keyed =
  | "plans"
  | "steps"
  | "dedup_keys"
  | "rates"
  | "cursors"
  | "task_ends"
  | "closed_waits"
  | "conversations"
  | "inbox"
  | "handed_over";

/** Ids of tasks whose jobs are added, ended or put back. */
export interface JobChanges {
  readonly add: readonly string[];
  readonly end: readonly string[];
  readonly putBack: readonly string[];
}

/** The changes of one batch. */
export class Changes {
  /** Number of changes: a call that is refused while it stays the same has changed nothing. */
  count = 0;
  readonly #keyed: { readonly [Table in Keyed]: Map<string, Columns> } = {
    plans: new Map(),
    steps: new Map(),
    dedup_keys: new Map(),
    rates: new Map(),
    cursors: new Map(),
    task_ends: new Map(),
    closed_waits: new Map(),
    conversations: new Map(),
    inbox: new Map(),
    handed_over: new Map(),
  };
  readonly #deliveries: Columns[] = [];
  readonly #tasks = new Map<string, Columns>();
  readonly #retries: Columns[] = [];
  readonly #updates = new Map<string, Columns>();
  readonly #endedSteps: Columns[] = [];
  #forgetUpTo = Infinity;
  readonly #bytes: Uint8Array[] = [];
  #length = 0;

  /** Stores a row, or replaces the one with this key. */
  put(table: Keyed, key: string, row: Columns): void {
    this.count++;
    this.#keyed[table].set(key, row);
  }

  addDelivery(row: Columns, body: Uint8Array | undefined): void {
    this.count++;
    this.#deliveries.push(Object.assign({}, row, this.#keep("body", body)));
  }

  addTask(id: string, row: Columns, payload: Uint8Array | undefined): void {
    if (this.#tasks.has(id)) throw new Error(`Task ${id} is stored twice`);
    this.count++;
    this.#tasks.set(id, Object.assign({ id }, row, this.#keep("payload", payload)));
  }

  /** Stores a retry, which copies columns of the task that it retries. */
  addRetry(row: Columns): void {
    this.count++;
    this.#retries.push(row);
  }

  updateTask(id: string, columns: Columns): void {
    this.count++;
    const tasks = this.#tasks.has(id) ? this.#tasks : this.#updates;
    tasks.set(id, Object.assign({ id }, tasks.get(id), columns));
  }

  /**
   * Raises a number of a task, and then lowers it: after the bounds that the batch has for it already, which
   * are in these two columns.
   */
  boundTask(
    id: string,
    [lower, upper]: readonly [lower: string, upper: string],
    { atLeast, atMost }: { readonly atLeast: number; readonly atMost: number },
  ): void {
    const known = this.#tasks.get(id) ?? this.#updates.get(id);
    const bounded = (value: unknown, otherwise: number) =>
      Math.min(Math.max(Number(value ?? otherwise), atLeast), atMost);
    const most = bounded(known?.[upper], Infinity);
    this.updateTask(id, {
      [lower]: bounded(known?.[lower], 0),
      ...most === Infinity ? {} : { [upper]: most },
    });
  }

  /** Changes columns of a task, and its payload. */
  updatePayload(id: string, columns: Columns, payload: Uint8Array | undefined): void {
    const none = { payload_from: undefined, payload_length: undefined };
    this.updateTask(id, Object.assign(none, columns, this.#keep("payload", payload)));
  }

  /** Ends the steps of a task that still run. */
  endSteps(row: Columns): void {
    this.count++;
    this.#endedSteps.push(row);
  }

  /** Has the database remove a few keys of events that are as old as `upTo` or older. */
  forgetKeys(upTo: number): void {
    this.#forgetUpTo = Math.min(this.#forgetUpTo, upTo);
  }

  /** Adds bytes to the buffer; gives their place in it, counted from 1, as SQL does. */
  #keep(column: "body" | "payload", bytes: Uint8Array | undefined): Columns {
    if (bytes === undefined) return {};
    const from = this.#length + 1;
    this.#bytes.push(bytes);
    this.#length += bytes.length;
    return { [`${column}_from`]: from, [`${column}_length`]: bytes.length };
  }

  /**
   * The arguments of `write`; `undefined` when nothing was changed. The rows of an accept stand by
   * themselves: within the other changes, the database would parse them once more.
   */
  toArguments(jobs: JobChanges): readonly [...json: (string | null)[], bytes: Buffer] | undefined {
    if (this.count === 0) return undefined;
    const tables = Object.entries({
      ...this.#keyed,
      retries: this.#retries,
      updates: this.#updates,
      ended_steps: this.#endedSteps,
    }).map(([name, rows]) => [name, [...rows.values()]] as const);
    const changes = Object.assign(
      Object.fromEntries(tables.filter(([, rows]) => rows.length > 0)),
      { ready: jobs.add, over: jobs.end, put_back: jobs.putBack },
      this.#forgetUpTo < Infinity ? { forget_up_to: this.#forgetUpTo } : {},
    );
    return [
      storableJson(changes),
      rowsAsJson(this.#deliveries),
      rowsAsJson([...this.#tasks.values()]),
      Buffer.concat(this.#bytes, this.#length),
    ];
  }
}

function rowsAsJson(rows: readonly Columns[]): string | null {
  return rows.length === 0 ? null : storableJson(rows);
}
