/**
 * The tables of tasks, and of what belongs to one, as `svc db move` takes them.
 *
 * @module
 */

import type { MovedTable } from "./moved_table.ts";
import { TASK_TABLE } from "./task_table.ts";

/** The condition for rows of tasks that a move of only the latest records takes along. */
export const OF_TASK = "task_id IN (SELECT id FROM kept_tasks)";

/** The tables by name. */
export const TABLES_OF_TASKS = {
  tasks: TASK_TABLE,
  steps: {
    columns: {
      task_id: "text",
      position: "int",
      id: "text",
      state: "text",
      exit_code: "int",
      reason: "text",
      started_at: "int",
      finished_at: "int",
      process_group: "int",
      attempt: "int",
      outputs: "text",
      failure: "text",
      network: "text",
      session: "text",
      round: "int",
      read_from: "int",
    },
    latest: OF_TASK,
  },
  inbox: {
    columns: { task_id: "text", position: "int", message: "text", created_at: "int" },
    latest: OF_TASK,
  },
  task_ends: { columns: { task_id: "text" }, latest: OF_TASK },
  children: {
    columns: {
      parent_id: "text",
      position: "int",
      round: "int",
      item: "int",
      task_id: "text",
      workflow: "text",
      end_state: "text",
      reason: "text",
      outputs: "text",
    },
    latest: "parent_id IN (SELECT id FROM kept_tasks)",
  },
  turns: {
    columns: {
      task_id: "text",
      position: "int",
      project: "text",
      agent: "text",
      session: "bytes",
      seats: "int",
      state: "text",
      place: "int",
      run: "text",
      budgets: "text",
      asks: "text",
    },
    latest: OF_TASK,
  },
  agent_limits: {
    columns: { project: "text", agent: "text", until: "int", reason: "text", noted_at: "int" },
  },
  sessions: {
    columns: {
      id: "text",
      project: "text",
      agent: "text",
      digest: "bytes",
      key: "text",
      agent_id: "text",
      node: "text",
      created_at: "int",
      used_at: "int",
    },
    change: (_, { node }) => ({ node }), // the home of a session is in its data directory
  },
  waits: {
    columns: {
      task_id: "text",
      position: "int",
      round: "int",
      part: "int",
      project: "text",
      kind: "text",
      state: "text",
      asked: "text",
      due_at: "int",
      is_relative: "int",
      opened_at: "int",
      over_at: "int",
      result: "text",
      event_trigger: "text",
      shape: "text",
      digest: "text",
      delivery_id: "text",
      shown: "text",
    },
    latest: OF_TASK,
  },
  wait_answers: {
    columns: {
      task_id: "text",
      position: "int",
      round: "int",
      giver: "text",
      person: "text",
      identity: "text",
      called: "text",
      answered_at: "int",
      surface: "text",
      answer: "text",
      comment: "text",
      given: "text",
      forced: "text",
    },
    latest: OF_TASK,
  },
  conversations: {
    columns: {
      digest: "bytes",
      id: "text",
      project: "text",
      name: "text",
      key: "text",
      task_id: "text",
      created_at: "int",
      updated_at: "int",
    },
    latest: OF_TASK,
  },
  outputs: {
    columns: {
      task_id: "text",
      output: "text",
      unit: "text",
      created_at: "int",
      place: "text",
      number: "int",
      round: "int",
    },
    latest: `(${OF_TASK} OR place <> '')`,
  },
} as const satisfies Readonly<Record<string, MovedTable>>;
