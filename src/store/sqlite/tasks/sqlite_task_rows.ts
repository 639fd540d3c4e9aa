/**
 * Rows of tasks in SQLite, as the transactions read and change them: each method is its statements.
 *
 * @module
 */

import type { Delivery } from "../../delivery_records.ts";
import type { DebouncedTask } from "../../rules/event_outcome.ts";
import type { GroupLimit, TaskLimits } from "../../rules/limits.ts";
import type { Readiness } from "../../rules/readiness.ts";
import type { NewTask, RetryOf, TaskEnd } from "../../task_records.ts";
import type { PlannedRetry, Room, Scheduling, TaskRows } from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";
import { findDebounced, joinTask, leaveRoom } from "./debounce_rows.ts";
import { endTask, findTask, requestCancel } from "./ending_rows.ts";
import { findReplaceable, findUnfinished } from "./group_rows.ts";
import { insertRetry } from "./retry_rows.ts";
import { noteTaskEnd } from "./task_end_rows.ts";
import { insertTask } from "./task_rows.ts";
import { countOpen, findNewestMax, findOldestQueued, setReadiness } from "./queue_rows.ts";

/** The rows of tasks of one database. */
export class SqliteTaskRows implements TaskRows {
  protected readonly db: Database;

  /** Over an open connection that writes. */
  constructor(db: Database) {
    this.db = db;
  }

  findTask(id: string): ReturnType<TaskRows["findTask"]> {
    return findTask(this.db, id);
  }

  findDebounced(task: NewTask): ReturnType<TaskRows["findDebounced"]> {
    return findDebounced(this.db, task);
  }

  findUnfinished(group: GroupLimit): ReturnType<TaskRows["findUnfinished"]> {
    return findUnfinished(this.db, group);
  }

  findReplaceable(group: GroupLimit): ReturnType<TaskRows["findReplaceable"]> {
    return findReplaceable(this.db, group);
  }

  findNewestMax(room: Room): ReturnType<TaskRows["findNewestMax"]> {
    return findNewestMax(this.db, room);
  }

  countOpen(room: Room, upTo: number): ReturnType<TaskRows["countOpen"]> {
    return countOpen(this.db, room, upTo);
  }

  findOldestQueued(room: Room): ReturnType<TaskRows["findOldestQueued"]> {
    return findOldestQueued(this.db, room);
  }

  insertTask(
    task: NewTask,
    delivery: Pick<Delivery, "id" | "receivedAt">,
    scheduling: Scheduling,
  ): void {
    insertTask(this.db, task, { delivery, scheduling });
  }

  insertRetry(retry: RetryOf, planned: PlannedRetry): void {
    insertRetry(this.db, retry, planned);
  }

  joinTask(task: NewTask, joined: DebouncedTask, delivery: Pick<Delivery, "id">): void {
    joinTask(this.db, task, { joined, delivery });
  }

  leaveRoom(taskId: string, limits: TaskLimits): void {
    leaveRoom(this.db, taskId, limits);
  }

  setReadiness(taskId: string, readiness: Readiness): void {
    setReadiness(this.db, taskId, readiness);
  }

  requestCancel(taskId: string, reason: string): void {
    requestCancel(this.db, taskId, reason);
  }

  endTask(end: TaskEnd, from: "pending" | "running"): ReturnType<TaskRows["endTask"]> {
    return endTask(this.db, end, from);
  }

  noteTaskEnd(taskId: string): void {
    noteTaskEnd(this.db, taskId);
  }
}
