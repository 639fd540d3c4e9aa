/**
 * The schema of the releases up to 0.2.0, as migrations: databases of their users have been through
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
  );
  -- How often they were changed: a daemon that knows an older number has an old catalog.
  CREATE TABLE catalog_version (version INTEGER NOT NULL);
  INSERT INTO catalog_version VALUES (0);

  -- The daemons that share this database. A lease is until when no other takes over what its daemon
  -- runs, by this database's clock.
  CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    -- One start of its daemon: what another start claimed is its own at once.
    run TEXT NOT NULL, lease_until TIMESTAMPTZ NOT NULL, started_at INTEGER NOT NULL,
    -- From when on it may take over what others claimed.
    judges_from TIMESTAMPTZ NOT NULL,
    -- Version of the resources by which it decides.
    resource_version INTEGER NOT NULL DEFAULT 0,
    facts TEXT NOT NULL DEFAULT '{}'
  );

  CREATE TABLE deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, source TEXT NOT NULL, via TEXT NOT NULL,
    received_at INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,
    status INTEGER NOT NULL, remote TEXT NOT NULL,
    secret_store TEXT NOT NULL, secret_key TEXT NOT NULL, task_id TEXT NOT NULL,
    body_bytes INTEGER NOT NULL, duration_ms INTEGER NOT NULL, detail TEXT NOT NULL,
    headers TEXT, url TEXT, content_of TEXT, body BLOB
  );
  -- POSIX is the same order as C, and keeps these indexes apart from the primary key (newest.ts).
  CREATE INDEX deliveries_of_project ON deliveries (project, outcome, id COLLATE "POSIX");
  CREATE INDEX deliveries_of_trigger ON deliveries
    (project, "trigger", outcome, id COLLATE "POSIX");
  CREATE INDEX deliveries_sharing ON deliveries (content_of) WHERE content_of IS NOT NULL;

  CREATE TABLE dedup_keys (
    digest BLOB NOT NULL PRIMARY KEY, delivery_id TEXT NOT NULL, task_id TEXT NOT NULL,
    created_at INTEGER NOT NULL
  );
  CREATE INDEX dedup_keys_by_time ON dedup_keys (created_at);

  CREATE TABLE rates (
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, due_at REAL NOT NULL, seen_at INTEGER NOT NULL,
    PRIMARY KEY (project, "trigger")
  );

  CREATE TABLE key_uses (
    project TEXT NOT NULL, store TEXT NOT NULL, key TEXT NOT NULL, "trigger" TEXT NOT NULL,
    count INTEGER NOT NULL, last_at INTEGER NOT NULL,
    PRIMARY KEY (project, store, key, "trigger")
  );

  CREATE TABLE cursors (name TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL);

  CREATE TABLE plans (
    hash TEXT NOT NULL PRIMARY KEY, plan TEXT NOT NULL,
    -- The nodes that its workspace names, as JSON; the plan itself may have escapes that PostgreSQL
    -- refuses.
    nodes TEXT
  );
  -- Queues of tasks that only some nodes may run: their names or labels, or the id of the one that
  -- has the directory, as JSON. A queue has the collation of the engine's names: its indexes serve no
  -- comparison with another.
  CREATE TABLE placements (queue text NOT NULL PRIMARY KEY, nodes TEXT NOT NULL);

  CREATE TABLE tasks (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, workflow TEXT NOT NULL, workspace TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, delivery_id TEXT NOT NULL, plan_hash TEXT,
    payload BLOB, created_at INTEGER NOT NULL, started_at INTEGER, finished_at INTEGER,
    restarts INTEGER NOT NULL DEFAULT 0, parent_id TEXT, retry_of TEXT,
    depth INTEGER NOT NULL DEFAULT 0, directory TEXT, cancel_reason TEXT, trace TEXT,
    -- What a pending task waits for: 0 nothing, 1 room in its workspace, 2 room in its group (gate),
    -- 3 its time (run_at).
    held INTEGER NOT NULL DEFAULT 0, run_at INTEGER, gate BLOB, gate_max INTEGER,
    workspace_max INTEGER, debounce BLOB,
    -- Who claimed it last, and how often it was claimed: what an earlier claim writes is refused.
    node TEXT NOT NULL DEFAULT '', run TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX tasks_of_project ON tasks (project, state, id COLLATE "POSIX");
  CREATE INDEX tasks_of_trigger ON tasks (project, "trigger", state, id COLLATE "POSIX");
  CREATE INDEX tasks_of_workflow ON tasks (project, workflow, state, id COLLATE "POSIX");
  CREATE INDEX tasks_failed_of_project ON tasks (project, delivery_id COLLATE "POSIX")
    WHERE state = 'failed';
  CREATE INDEX tasks_failed_of_trigger ON tasks
    (project, "trigger", delivery_id COLLATE "POSIX")
    WHERE state = 'failed';
  CREATE INDEX tasks_open ON tasks (state, held, id) WHERE state IN ('pending', 'running');
  CREATE INDEX tasks_running ON tasks (node, id) WHERE state = 'running';
  CREATE INDEX tasks_timed ON tasks (run_at) WHERE state = 'pending' AND held = 3;
  CREATE INDEX tasks_timed_by_age ON tasks (created_at) WHERE state = 'pending' AND held = 3;
  CREATE INDEX tasks_gated ON tasks (gate, held, id)
    WHERE gate IS NOT NULL AND state IN ('pending', 'running');
  CREATE INDEX tasks_in_workspace ON tasks (project, workspace, held, id)
    WHERE workspace_max IS NOT NULL AND state IN ('pending', 'running');
  CREATE INDEX tasks_debounced ON tasks (debounce)
    WHERE debounce IS NOT NULL AND state = 'pending';
  CREATE INDEX tasks_finished ON tasks (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX tasks_of_delivery ON tasks (delivery_id, id);
  CREATE INDEX tasks_of_parent ON tasks (parent_id, id) WHERE parent_id IS NOT NULL;
  CREATE INDEX tasks_retrying ON tasks (retry_of, id) WHERE retry_of IS NOT NULL;
  CREATE INDEX tasks_of_plan ON tasks (plan_hash) WHERE plan_hash IS NOT NULL;

  CREATE TABLE steps (
    task_id TEXT NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL,
    state TEXT NOT NULL, exit_code INTEGER, reason TEXT NOT NULL,
    started_at INTEGER, finished_at INTEGER, process_group INTEGER,
    attempt INTEGER NOT NULL DEFAULT 1, outputs TEXT,
    PRIMARY KEY (task_id, position)
  );

  -- What the steps of a task printed, in blocks; a position is the number of bytes before one.
  CREATE TABLE task_logs (
    task_id TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE, position INTEGER NOT NULL,
    bytes BLOB NOT NULL, PRIMARY KEY (task_id, position)
  );
  DO $$ BEGIN
    IF (SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression')
    THEN ALTER TABLE task_logs ALTER COLUMN bytes SET COMPRESSION lz4; END IF;
  END $$;

  CREATE TABLE inbox (
    task_id TEXT NOT NULL, position INTEGER NOT NULL, message TEXT NOT NULL,
    created_at INTEGER NOT NULL, PRIMARY KEY (task_id, position)
  );

  CREATE TABLE task_ends (
    task_id TEXT NOT NULL PRIMARY KEY,
    -- Who handles it until then, unless it has done so before.
    node TEXT NOT NULL DEFAULT '', reserved_until TIMESTAMPTZ NOT NULL DEFAULT '-infinity'
  );

  -- What a removed task left on the disk of its node, which that node has not removed yet.
  CREATE TABLE files_to_remove (
    node TEXT NOT NULL, task_id TEXT NOT NULL, directory TEXT NOT NULL, PRIMARY KEY (node, task_id)
  );

  CREATE TABLE prune_positions (name TEXT NOT NULL PRIMARY KEY, position TEXT NOT NULL);

  CREATE TABLE source_events (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, provider TEXT NOT NULL,
    installation_id TEXT NOT NULL, external_event_id TEXT NOT NULL, delivery_id TEXT NOT NULL,
    kind TEXT NOT NULL, actor TEXT NOT NULL, conversation_id TEXT NOT NULL,
    thread_id TEXT NOT NULL, post_id TEXT NOT NULL, top_level INTEGER NOT NULL,
    text TEXT NOT NULL, payload BLOB, occurred_at INTEGER NOT NULL, received_at INTEGER NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, task_id TEXT NOT NULL DEFAULT '',
    queued_at INTEGER NOT NULL, due_at INTEGER NOT NULL, claimed_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0, behind INTEGER NOT NULL DEFAULT 0,
    node TEXT NOT NULL DEFAULT '', run TEXT NOT NULL DEFAULT '',
    UNIQUE (project, "trigger", provider, installation_id, external_event_id)
  );
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
  CREATE INDEX source_events_of_trigger ON source_events (project, "trigger", id COLLATE "POSIX");
  CREATE INDEX source_events_of_project ON source_events (project, id COLLATE "POSIX");
  CREATE INDEX source_events_by_state ON source_events (state, id);

  CREATE TABLE bindings (
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, installation_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL, thread_id TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE, task_id TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (project, "trigger", installation_id, conversation_id, thread_id)
  );
  CREATE INDEX bindings_of_task ON bindings (task_id, updated_at);
  CREATE INDEX bindings_of_trigger ON bindings (project, "trigger", id COLLATE "POSIX");
  CREATE INDEX bindings_of_project ON bindings (project, id COLLATE "POSIX");

  CREATE TABLE outbox (
    -- The order in which they were stored: ids are of clocks.
    position INTEGER GENERATED ALWAYS AS IDENTITY, id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL, connection TEXT NOT NULL, kind TEXT NOT NULL,
    target TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, task_id TEXT NOT NULL,
    lane TEXT NOT NULL, state TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL, uncertain_since INTEGER, first_tried_at INTEGER,
    external_id TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
  );
  CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'pending';
  CREATE INDEX outbox_of_lane ON outbox (lane, next_at, position) WHERE state = 'pending';
  CREATE INDEX outbox_waiting ON outbox (project, connection, kind, target, position)
    WHERE state = 'pending';
  CREATE INDEX outbox_of_key ON outbox (project, connection, kind, target, key, position)
    WHERE key <> '';
  CREATE INDEX outbox_of_project ON outbox (project, id);
  CREATE INDEX outbox_by_state ON outbox (state, id);
  CREATE INDEX outbox_ended ON outbox (updated_at) WHERE state <> 'pending';
  -- The lanes in which something is under way, or which pause, and with whom.
  CREATE TABLE outbox_lanes (
    lane TEXT NOT NULL PRIMARY KEY, node TEXT NOT NULL, run TEXT NOT NULL
  );

  CREATE TABLE connections (
    project TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (project, name)
  );

  CREATE TABLE plugin_audit (
    id TEXT NOT NULL PRIMARY KEY, created_at TEXT NOT NULL, finished_at TEXT,
    action TEXT NOT NULL, crd_kind TEXT NOT NULL, plugin_name TEXT NOT NULL, command TEXT NOT NULL,
    result TEXT NOT NULL, plugin_type TEXT NOT NULL, phase TEXT NOT NULL,
    "trigger" TEXT NOT NULL, delivery_id TEXT NOT NULL, exit_code INTEGER, duration_ms INTEGER,
    stderr TEXT NOT NULL, role TEXT NOT NULL, policy_mode TEXT NOT NULL,
    -- Whose it is, and in whose chain its links are, which stays the same.
    node TEXT NOT NULL, run TEXT NOT NULL, chain TEXT NOT NULL
  );
  CREATE INDEX plugin_audit_by_time ON plugin_audit (created_at);
  CREATE INDEX plugin_audit_running ON plugin_audit (id) WHERE result = 'running';
  CREATE INDEX plugin_audit_by_result ON plugin_audit (result, id);
  CREATE INDEX plugin_audit_of_trigger ON plugin_audit ("trigger", result, id);
  CREATE INDEX plugin_audit_of_chain ON plugin_audit (chain, id);
  -- One chain for each node, so that no lock is over all. The last position of each is kept apart:
  -- links that were cut off at the end are missed.
  CREATE TABLE plugin_audit_chain (
    chain TEXT NOT NULL, position INTEGER NOT NULL, audit_id TEXT NOT NULL, link TEXT NOT NULL,
    hash TEXT NOT NULL, PRIMARY KEY (chain, position)
  );
  CREATE INDEX plugin_audit_chain_of_row ON plugin_audit_chain (audit_id);
  CREATE TABLE plugin_audit_heads (
    chain TEXT NOT NULL PRIMARY KEY, position INTEGER NOT NULL, hash TEXT NOT NULL
  );

  CREATE TABLE control_audit (
    position INTEGER GENERATED ALWAYS AS IDENTITY, id TEXT NOT NULL PRIMARY KEY,
    created_at TEXT NOT NULL, operation TEXT NOT NULL, target TEXT NOT NULL,
    caller TEXT NOT NULL, role TEXT NOT NULL, result TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '', finished_at TEXT, client TEXT
  );
  CREATE INDEX control_audit_of_caller ON control_audit (caller, result, position);

  CREATE TABLE control_tokens (
    id TEXT NOT NULL PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, revoked_at INTEGER
  );

  -- As in SQLite, so that both take the same conditions.
  CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE AS
    'SELECT json_array_elements_text(list::json)';
  CREATE FUNCTION instr(whole text, part text) RETURNS int LANGUAGE sql IMMUTABLE AS
    'SELECT strpos(whole, part)';
  `,
  `
  -- Whether it takes no new tasks, because an operator wants it so.
  ALTER TABLE nodes ADD COLUMN is_drained INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- 0 ready, 1 queued for room in its workspace, 2 in its group, 3 delayed until its time.
  ALTER TABLE tasks RENAME COLUMN held TO readiness;
  ALTER INDEX outbox_waiting RENAME TO outbox_pending;
  `,
] as const;
