/**
 * The schema of the releases up to 0.2.0, as migrations: files of their users have been through
 * these, so they are never edited.
 *
 * @module
 */

/** The steps up to 0.2.0, in their order. */
export const MIGRATIONS_0_2 = [
  `
  CREATE TABLE resources (
    kind TEXT NOT NULL, project TEXT NOT NULL, name TEXT NOT NULL,
    metadata TEXT NOT NULL, spec TEXT NOT NULL, generation INTEGER NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, project, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, source TEXT NOT NULL,
    received_at INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,
    status INTEGER NOT NULL, remote TEXT NOT NULL,
    secret_store TEXT NOT NULL, secret_key TEXT NOT NULL, task_id TEXT NOT NULL,
    body_bytes INTEGER NOT NULL, duration_ms INTEGER NOT NULL, detail TEXT NOT NULL,
    headers TEXT, body BLOB
  ) STRICT;
  CREATE INDEX deliveries_of_trigger ON deliveries (project, "trigger", id);
  CREATE INDEX deliveries_rejected ON deliveries (project, "trigger", id) WHERE outcome = 'rejected';

  CREATE TABLE dedup_keys (
    position INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE,
    delivery_id TEXT NOT NULL, task_id TEXT NOT NULL, created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE key_uses (
    project TEXT NOT NULL, store TEXT NOT NULL, key TEXT NOT NULL, "trigger" TEXT NOT NULL,
    count INTEGER NOT NULL, last_at INTEGER NOT NULL,
    PRIMARY KEY (project, store, key, "trigger")
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE plugin_audit (
    id TEXT NOT NULL PRIMARY KEY, created_at TEXT NOT NULL, finished_at TEXT,
    action TEXT NOT NULL, crd_kind TEXT NOT NULL, plugin_name TEXT NOT NULL, command TEXT NOT NULL,
    result TEXT NOT NULL, plugin_type TEXT NOT NULL, phase TEXT NOT NULL,
    "trigger" TEXT NOT NULL, delivery_id TEXT NOT NULL, exit_code INTEGER, duration_ms INTEGER,
    stderr TEXT NOT NULL, role TEXT NOT NULL, policy_mode TEXT NOT NULL
  ) STRICT;
  CREATE INDEX plugin_audit_by_time ON plugin_audit (created_at);
  CREATE INDEX plugin_audit_running ON plugin_audit (id) WHERE result = 'running';
  CREATE TABLE plugin_audit_chain (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    audit_id TEXT NOT NULL, link TEXT NOT NULL, hash TEXT NOT NULL
  ) STRICT;
  CREATE INDEX plugin_audit_chain_of_row ON plugin_audit_chain (audit_id);

  CREATE TABLE control_audit (
    id TEXT NOT NULL PRIMARY KEY, created_at TEXT NOT NULL, operation TEXT NOT NULL,
    target TEXT NOT NULL, caller TEXT NOT NULL, role TEXT NOT NULL, result TEXT NOT NULL
  ) STRICT;

  CREATE TABLE control_tokens (
    id TEXT NOT NULL PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, revoked_at INTEGER
  ) STRICT;

  CREATE TABLE plans (
    hash TEXT NOT NULL PRIMARY KEY, plan TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE tasks (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, workflow TEXT NOT NULL, workspace TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, delivery_id TEXT NOT NULL, plan_hash TEXT,
    payload BLOB, created_at INTEGER NOT NULL, started_at INTEGER, finished_at INTEGER,
    restarts INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX tasks_of_trigger ON tasks (project, "trigger", id);
  CREATE INDEX tasks_pending ON tasks (id) WHERE state = 'pending';
  CREATE INDEX tasks_running ON tasks (id) WHERE state = 'running';

  CREATE TABLE steps (
    task_id TEXT NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL,
    state TEXT NOT NULL, exit_code INTEGER, reason TEXT NOT NULL,
    started_at INTEGER, finished_at INTEGER, process_group INTEGER,
    PRIMARY KEY (task_id, position)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE tasks ADD COLUMN parent_id TEXT;
  ALTER TABLE tasks ADD COLUMN retry_of TEXT;
  ALTER TABLE tasks ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN directory TEXT;
  ALTER TABLE tasks ADD COLUMN cancel_reason TEXT;
  -- W3C trace context of the delivery, where traces are collected.
  ALTER TABLE tasks ADD COLUMN trace TEXT;
  -- What a pending task waits for: 0 nothing, 1 room in its workspace, 2 room in its group (gate),
  -- 3 its time (run_at). It goes from stage to stage and takes room in each it has passed.
  ALTER TABLE tasks ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN run_at INTEGER;
  ALTER TABLE tasks ADD COLUMN gate BLOB;
  ALTER TABLE tasks ADD COLUMN gate_max INTEGER;
  ALTER TABLE tasks ADD COLUMN workspace_max INTEGER;
  ALTER TABLE tasks ADD COLUMN debounce BLOB;
  ALTER TABLE steps ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE steps ADD COLUMN outputs TEXT;

  -- Lists: the state stands before the id, so that the few of one state are found among many of
  -- another, and the newest of all are merged from the newest of each (queries.ts).
  DROP INDEX tasks_pending;
  DROP INDEX tasks_of_trigger;
  CREATE INDEX tasks_of_project ON tasks (project, state, id);
  CREATE INDEX tasks_of_trigger ON tasks (project, "trigger", state, id);
  CREATE INDEX tasks_of_workflow ON tasks (project, workflow, state, id);
  CREATE INDEX tasks_failed_of_project ON tasks (project, delivery_id) WHERE state = 'failed';
  CREATE INDEX tasks_failed_of_trigger ON tasks (project, "trigger", delivery_id)
    WHERE state = 'failed';
  DROP INDEX deliveries_rejected;
  DROP INDEX deliveries_of_trigger;
  CREATE INDEX deliveries_of_project ON deliveries (project, outcome, id);
  CREATE INDEX deliveries_of_trigger ON deliveries (project, "trigger", outcome, id);

  CREATE INDEX plugin_audit_by_result ON plugin_audit (result, id);
  CREATE INDEX plugin_audit_of_trigger ON plugin_audit ("trigger", result, id);

  CREATE INDEX tasks_ready ON tasks (id) WHERE state = 'pending' AND held = 0;
  CREATE INDEX tasks_held ON tasks (id, held, created_at) WHERE state = 'pending' AND held > 0;
  CREATE INDEX tasks_timed ON tasks (run_at) WHERE state = 'pending' AND held = 3;
  CREATE INDEX tasks_timed_by_age ON tasks (created_at) WHERE state = 'pending' AND held = 3;
  CREATE INDEX tasks_gated ON tasks (gate, held, id)
    WHERE gate IS NOT NULL AND state IN ('pending', 'running');
  CREATE INDEX tasks_in_workspace ON tasks (project, workspace, held, id)
    WHERE workspace_max IS NOT NULL AND state IN ('pending', 'running');
  CREATE INDEX tasks_debounced ON tasks (debounce)
    WHERE debounce IS NOT NULL AND state = 'pending';
  CREATE INDEX tasks_finished ON tasks (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX tasks_retried ON tasks (delivery_id) WHERE retry_of IS NOT NULL;

  -- How many tasks have a plan; one that none has goes with the last of them.
  CREATE TABLE plan_uses (
    hash TEXT NOT NULL PRIMARY KEY, tasks INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO plan_uses
    SELECT plan_hash, count(*) FROM tasks WHERE plan_hash IS NOT NULL GROUP BY plan_hash;

  -- When the next task of a trigger is due at its rate (generic cell rate algorithm), and when that
  -- was last looked at, by which a clock that was set back is known.
  CREATE TABLE rates (
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, due_at REAL NOT NULL, seen_at INTEGER NOT NULL,
    PRIMARY KEY (project, "trigger")
  ) STRICT, WITHOUT ROWID;

  -- Where the removal of old rows goes on.
  CREATE TABLE prune_positions (
    name TEXT NOT NULL PRIMARY KEY, position TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Up to where a schedule has been looked at.
  CREATE TABLE cursors (
    name TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Ended tasks that may fire triggers and have not been looked at yet.
  CREATE TABLE task_ends (
    task_id TEXT NOT NULL PRIMARY KEY
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE source_events (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, provider TEXT NOT NULL,
    installation_id TEXT NOT NULL, external_event_id TEXT NOT NULL, delivery_id TEXT NOT NULL,
    kind TEXT NOT NULL, actor TEXT NOT NULL, conversation_id TEXT NOT NULL,
    thread_id TEXT NOT NULL, post_id TEXT NOT NULL, top_level INTEGER NOT NULL,
    text TEXT NOT NULL, payload BLOB, occurred_at INTEGER NOT NULL, received_at INTEGER NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, task_id TEXT NOT NULL DEFAULT '',
    -- When it was put in the queue, when it is next due, and when somebody began to route it.
    queued_at INTEGER NOT NULL, due_at INTEGER NOT NULL, claimed_at INTEGER,
    -- How often routing failed, and whether another one of its thread has to be routed before.
    attempts INTEGER NOT NULL DEFAULT 0, behind INTEGER NOT NULL DEFAULT 0,
    UNIQUE (project, "trigger", provider, installation_id, external_event_id)
  ) STRICT;
  CREATE INDEX source_events_due ON source_events (due_at, id)
    WHERE state = 'received' AND behind = 0;
  CREATE INDEX source_events_claimed ON source_events (claimed_at) WHERE state = 'routing';
  CREATE INDEX source_events_open ON source_events
    (project, "trigger", installation_id, conversation_id, thread_id, id)
    WHERE thread_id <> '' AND state IN ('received', 'routing');
  CREATE INDEX source_events_of_thread ON source_events
    (project, "trigger", installation_id, conversation_id, thread_id, id);
  CREATE INDEX source_events_of_post ON source_events
    (project, "trigger", installation_id, conversation_id, post_id, state) WHERE post_id <> '';
  CREATE INDEX source_events_of_delivery ON source_events (delivery_id);
  CREATE INDEX source_events_of_trigger ON source_events (project, "trigger", id);
  CREATE INDEX source_events_of_project ON source_events (project, id);
  CREATE INDEX source_events_by_state ON source_events (state, id);

  CREATE TABLE bindings (
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, installation_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL, thread_id TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE, task_id TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (project, "trigger", installation_id, conversation_id, thread_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX bindings_of_task ON bindings (task_id, updated_at);
  CREATE INDEX bindings_of_trigger ON bindings (project, "trigger", id);
  CREATE INDEX bindings_of_project ON bindings (project, id);

  CREATE TABLE inbox (
    task_id TEXT NOT NULL, position INTEGER NOT NULL, message TEXT NOT NULL,
    created_at INTEGER NOT NULL, PRIMARY KEY (task_id, position)
  ) STRICT, WITHOUT ROWID;
  `,
  "CREATE INDEX control_audit_of_caller ON control_audit (caller, result)",
  `
  -- The node (one start of a daemon) that claimed it last; empty where nobody did, or before nodes
  -- were recorded. The claim holds while the row says that it runs.
  ALTER TABLE tasks ADD COLUMN node TEXT NOT NULL DEFAULT '';
  ALTER TABLE source_events ADD COLUMN node TEXT NOT NULL DEFAULT '';
  ALTER TABLE plugin_audit ADD COLUMN node TEXT NOT NULL DEFAULT '';

  -- How it came in. Until now what no request brought had no status, and what came from a chat was
  -- known by its source.
  ALTER TABLE deliveries ADD COLUMN via TEXT NOT NULL DEFAULT 'http';
  UPDATE deliveries SET via = CASE WHEN status = 0 THEN 'internal' ELSE 'chat' END
    WHERE status = 0 OR source = 'slack';
  `,
  // Beside headers and body, and like them NULL where what arrived is not kept.
  "ALTER TABLE deliveries ADD COLUMN url TEXT",
  // What came of an operation. Rows of before say `done` of whatever was begun.
  `
  ALTER TABLE control_audit ADD COLUMN reason TEXT NOT NULL DEFAULT '';
  ALTER TABLE control_audit ADD COLUMN finished_at TEXT;
  `,
  `
  CREATE TABLE outbox (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, connection TEXT NOT NULL, kind TEXT NOT NULL,
    -- JSON, with its members in order, so that it can be compared.
    target TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, task_id TEXT NOT NULL,
    -- What is sent one after the other: a Connection, or one target.
    lane TEXT NOT NULL, state TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL,
    -- Since when it may have arrived unnoticed; since when it is tried.
    uncertain_since INTEGER, first_tried_at INTEGER,
    external_id TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'pending';
  -- In the order of their rows: ids are of the clock, which may be set back.
  CREATE INDEX outbox_waiting ON outbox (project, connection, kind, target)
    WHERE state = 'pending';
  CREATE INDEX outbox_of_key ON outbox (project, connection, kind, target, key) WHERE key <> '';
  CREATE INDEX outbox_of_project ON outbox (project, id);
  CREATE INDEX outbox_by_state ON outbox (state, id);
  CREATE INDEX outbox_ended ON outbox (updated_at) WHERE state <> 'pending';
  `,
  // What the daemon learns of Connections; a row is one JSON object.
  `
  CREATE TABLE connections (
    project TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (project, name)
  ) STRICT, WITHOUT ROWID;
  `,
  // One request that several triggers got: the delivery that keeps headers and body for this one.
  `
  ALTER TABLE deliveries ADD COLUMN content_of TEXT;
  CREATE INDEX deliveries_sharing ON deliveries (content_of) WHERE content_of IS NOT NULL;
  `,
  // The tasks that belong to another record; those of a delivery also answered for retries alone.
  `
  CREATE INDEX tasks_of_delivery ON tasks (delivery_id, id);
  DROP INDEX tasks_retried;
  CREATE INDEX tasks_of_parent ON tasks (parent_id, id) WHERE parent_id IS NOT NULL;
  CREATE INDEX tasks_retrying ON tasks (retry_of, id) WHERE retry_of IS NOT NULL;
  `,
  // The program through which an operation came, as that says itself. Rows are kept by caller: a
  // name that anybody may choose takes no room from another.
  "ALTER TABLE control_audit ADD COLUMN client TEXT",
  // 0 ready, 1 queued for room in its workspace, 2 in its group, 3 delayed until its time.
  `
  ALTER TABLE tasks RENAME COLUMN held TO readiness;
  DROP INDEX tasks_held;
  CREATE INDEX tasks_unready ON tasks (id, readiness, created_at)
    WHERE state = 'pending' AND readiness > 0;
  DROP INDEX outbox_waiting;
  CREATE INDEX outbox_pending ON outbox (project, connection, kind, target)
    WHERE state = 'pending';
  `,
] as const;
