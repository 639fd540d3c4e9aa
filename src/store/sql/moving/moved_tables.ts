/**
 * REGISTRY: what `svc db move` does with each table. A table without an entry does not compile, in the
 * file of the database that has it; a column without one fails a test.
 *
 * @module
 */

import { nodesOf } from "../../rules/placement.ts";
import { text } from "../columns.ts";
import type { MovedTable } from "./moved_table.ts";
import { OF_TASK, TABLES_OF_TASKS } from "./tables_of_tasks.ts";

/** Messages that are not sent yet, and those that are young or of a task that is kept. */
const OF_OUTBOX = `(state IN ('pending', 'held') OR updated_at >= :since OR ${OF_TASK})`;

/**
 * The tables of a file, in the order in which they are written. A table is left out, with the reason,
 * where PostgreSQL has nothing like it or begins anew.
 */
export const MOVED_TABLES = {
  resources: {
    columns: {
      kind: "text",
      project: "text",
      name: "text",
      metadata: "text",
      spec: "text",
      generation: "int",
      created_at: "int",
      updated_at: "int",
    },
  },
  plans: {
    columns: { hash: "text", plan: "text", nodes: "text" },
    from: { nodes: "NULL" },
    latest: "hash IN (SELECT plan_hash FROM tasks JOIN kept_tasks USING (id))",
    change: (row) => ({ nodes: nodesOf(text(row, "plan")) ?? null }),
  },
  deliveries: {
    columns: {
      id: "text",
      project: "text",
      trigger: "text",
      source: "text",
      via: "text",
      received_at: "int",
      outcome: "text",
      reason: "text",
      status: "int",
      remote: "text",
      secret_store: "text",
      secret_key: "text",
      task_id: "text",
      body_bytes: "int",
      duration_ms: "int",
      detail: "text",
      headers: "text",
      url: "text",
      content_of: "text",
      body: "bytes",
    },
    latest: "id IN (SELECT id FROM kept_deliveries)",
  },
  ...TABLES_OF_TASKS,
  spend: {
    columns: {
      project: "text",
      scope: "text",
      unit: "text",
      per: "text",
      starts_at: "int",
      ends_at: "int",
      spent: "int",
      unknown: "int",
      told: "int",
      granted: "int",
      refused: "text",
    },
  },
  pauses: {
    columns: {
      project: "text",
      reason: "text",
      paused_by: "text",
      paused_at: "int",
      until: "int",
    },
  },
  dedup_keys: {
    columns: { digest: "bytes", delivery_id: "text", task_id: "text", created_at: "int" },
    dropped: ["position"],
    latest: `(task_id = '' OR ${OF_TASK})`,
  },
  rates: {
    columns: { project: "text", trigger: "text", due_at: "real", seen_at: "int" },
  },
  key_uses: {
    columns: {
      project: "text",
      store: "text",
      key: "text",
      trigger: "text",
      count: "int",
      last_at: "int",
    },
  },
  cursors: { columns: { name: "text", at: "int" } },
  source_events: {
    columns: {
      id: "text",
      project: "text",
      trigger: "text",
      provider: "text",
      installation_id: "text",
      external_event_id: "text",
      delivery_id: "text",
      kind: "text",
      actor: "text",
      conversation_id: "text",
      thread_id: "text",
      post_id: "text",
      top_level: "int",
      text: "text",
      payload: "bytes",
      occurred_at: "int",
      received_at: "int",
      state: "text",
      reason: "text",
      task_id: "text",
      queued_at: "int",
      due_at: "int",
      claimed_at: "int",
      attempts: "int",
      behind: "int",
      node: "text",
      run: "text",
    },
    from: { run: "node" },
    latest: `(state IN ('received', 'routing') OR received_at >= :since OR ${OF_TASK})`,
    change: (row, { node }) => ({ node: row["node"] === "" ? "" : node }),
  },
  bindings: {
    columns: {
      project: "text",
      trigger: "text",
      installation_id: "text",
      conversation_id: "text",
      thread_id: "text",
      id: "text",
      task_id: "text",
      created_at: "int",
      updated_at: "int",
    },
    latest: `(updated_at >= :since OR ${OF_TASK})`,
  },
  outbox: {
    columns: {
      position: "int",
      id: "text",
      project: "text",
      connection: "text",
      kind: "text",
      target: "text",
      key: "text",
      body: "text",
      task_id: "text",
      lane: "text",
      state: "text",
      tries: "int",
      next_at: "int",
      uncertain_since: "int",
      first_tried_at: "int",
      external_id: "text",
      reason: "text",
      created_at: "int",
      updated_at: "int",
    },
    from: { position: "rowid" },
    latest: OF_OUTBOX,
  },
  outbox_content: {
    columns: { message_id: "text", name: "text", piece: "int", bytes: "bytes" },
    latest: `message_id IN (SELECT id FROM outbox WHERE ${OF_OUTBOX})`,
  },
  connections: {
    columns: { project: "text", name: "text", state: "text" },
  },
  plugin_audit: {
    columns: {
      id: "text",
      created_at: "text",
      finished_at: "text",
      action: "text",
      crd_kind: "text",
      plugin_name: "text",
      command: "text",
      result: "text",
      plugin_type: "text",
      phase: "text",
      trigger: "text",
      delivery_id: "text",
      exit_code: "int",
      duration_ms: "int",
      stderr: "text",
      role: "text",
      policy_mode: "text",
      node: "text",
      run: "text",
      chain: "text",
    },
    from: { run: "node", chain: "''" },
    change: (_, { node }) => ({ node, chain: node }),
  },
  plugin_audit_chain: {
    columns: { chain: "text", position: "int", audit_id: "text", link: "text", hash: "text" },
    from: { chain: "''" },
    change: (_, { node }) => ({ chain: node }), // hashes cover no node
  },
  control_audit: {
    columns: {
      position: "int",
      id: "text",
      created_at: "text",
      operation: "text",
      target: "text",
      caller: "text",
      role: "text",
      result: "text",
      reason: "text",
      finished_at: "text",
      client: "text",
    },
    from: { position: "rowid" },
  },
  control_tokens: {
    columns: {
      id: "text",
      hash: "text",
      name: "text",
      role: "text",
      created_at: "int",
      expires_at: "int",
      revoked_at: "int",
      person: "text",
      gateway: "int",
    },
  },
  plan_uses: "PostgreSQL removes the plans that no task names",
  prune_positions: "retention begins anew at the oldest record",
} as const satisfies Readonly<Record<string, MovedTable | string>>;

/** The tables that only PostgreSQL has, and where their rows come from. */
export const MADE_TABLES = {
  catalog_version: "counts changes of resources",
  nodes: "the node that the data directory becomes",
  placements: "made with the jobs",
  task_logs: "the files in logs/",
  files_to_remove: "none: the daemon of the file has removed them",
  outbox_lanes: "none: nothing is under way",
  plugin_audit_heads: "the last link of the chain",
} as const satisfies Readonly<Record<string, string>>;

/** The tables that move, with their names, in their order. */
export const MOVED: readonly (readonly [string, MovedTable])[] = Object.entries(MOVED_TABLES)
  .flatMap(([name, table]: readonly [string, MovedTable | string]) =>
    typeof table === "string" ? [] : [[name, table] as const]
  );
