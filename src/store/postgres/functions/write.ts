/**
 * The function `write`: carries out what a batch has changed. It decides nothing.
 *
 * @module
 */

import { COUNT_INBOX, OF_CHAT } from "../../sql/conversations.ts";

/** Columns of new deliveries, with the types in which JSON has them; `body` is beside the JSON. */
const DELIVERY = `id text, project text, "trigger" text, source text, via text, received_at bigint,
  outcome text, reason text, status bigint, remote text, secret_store text, secret_key text,
  task_id text, body_bytes bigint, duration_ms bigint, detail text, headers text, url text,
  content_of text`;

/** Columns of new tasks, without `payload`, and `gate` and `debounce`, which are hexadecimal. */
const TASK = `id text, project text, "trigger" text, workflow text, workspace text, state text,
  reason text, delivery_id text, plan_hash text, created_at bigint, finished_at bigint,
  parent_id text, depth bigint, cancel_reason text, trace text, readiness bigint, run_at bigint,
  gate_max bigint, workspace_max bigint, conversation text`;

/** The columns that identify a step; `STEP` has its other columns. */
const STEP_KEY = "task_id text, position bigint";
const STEP = `id text, state text, exit_code bigint, reason text, started_at bigint,
  finished_at bigint, process_group bigint, attempt bigint, round bigint, outputs text,
  failure text, network text, session text, read_from bigint`;

/** The names of a list of columns with types. */
const namesOf = (columns: string) =>
  columns.split(",").map((column) => column.trim().split(" ")[0]).join(", ");

/** The assignments of an `ON CONFLICT` clause, which replace these columns of the stored row. */
const replaced = (columns: string) =>
  namesOf(columns).split(", ").map((name) => `${name} = excluded.${name}`).join(", ");

/** The bytes of a column, cut from the buffer at the place that the row states. */
const bytesOf = (row: string, column: string) =>
  `CASE WHEN ${row}.${column}_from IS NOT NULL
      THEN substring(bytes FROM ${row}.${column}_from FOR ${row}.${column}_length) END`;

/** The ids as an array, so that their rows are found by an index: a join would read all rows. */
const idsOf = (rows: string, id: string) =>
  `ARRAY(SELECT ${id} FROM json_to_recordset(${rows}) AS one(${id} text))`;

/** Assigns a column; where the change does not contain it, the stored value stays. */
const unless = (column: string) => `${column} = coalesce(changed.${column}, tasks.${column})`;

/** A column that an event brings to a task that it joins, or that belongs to another column. */
const given = (by: string, column: string, value = `changed.${column}`) =>
  `${column} = CASE WHEN changed.${by} IS NULL THEN tasks.${column} ELSE ${value} END`;

/**
 * New plans are stored in one order, so that two batches do not deadlock; keys and rates need none,
 * because `facts` holds the lock of each. A plan that exists is locked first, so that no other
 * transaction removes it as unused.
 */
export const WRITE = `
CREATE OR REPLACE FUNCTION write(changes json, deliveries json, tasks json, bytes bytea)
RETURNS void LANGUAGE plpgsql
-- Plans are made once, and kept from when the tables were empty.
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  made record;
BEGIN
  SELECT * INTO made FROM json_to_record(changes) AS one(
    plans json, retries json, updates json, steps json, ended_steps json, dedup_keys json,
    rates json, cursors json, task_ends json, closed_waits json, conversations json, inbox json,
    handed_over json, forget_up_to bigint, ready text[], over text[],
    put_back text[]);

  IF made.plans IS NOT NULL THEN
    PERFORM 1 FROM plans WHERE hash IN (
      SELECT hash FROM json_to_recordset(made.plans) AS one(hash text)
    ) ORDER BY hash FOR KEY SHARE;
    INSERT INTO plans (hash, plan, nodes)
    SELECT hash, plan, nodes FROM json_to_recordset(made.plans)
      AS one(hash text, plan text, nodes text) ORDER BY hash
    ON CONFLICT DO NOTHING;
  END IF;

  IF write.deliveries IS NOT NULL THEN
    INSERT INTO deliveries (${namesOf(DELIVERY)}, body)
    SELECT ${namesOf(DELIVERY)}, ${bytesOf("one", "body")}
    FROM json_to_recordset(write.deliveries) AS one(${DELIVERY}, body_from int, body_length int);
  END IF;

  IF write.tasks IS NOT NULL THEN
    INSERT INTO tasks (${namesOf(TASK)}, pending_since, priority, gate, debounce, messages,
      message_bytes, payload)
    SELECT ${
  namesOf(TASK)
}, created_at, coalesce(priority, 0), decode(gate, 'hex'), decode(debounce, 'hex'),
      coalesce(messages, 0), coalesce(message_bytes, 0), ${bytesOf("one", "payload")}
    FROM json_to_recordset(write.tasks) AS one(${TASK}, priority bigint, gate text, debounce text,
      messages bigint, message_bytes bigint, payload_from int, payload_length int);
  END IF;

  IF made.retries IS NOT NULL THEN
    INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
      plan_hash, payload, created_at, parent_id, retry_of, depth, directory, node, readiness, gate,
      gate_max, workspace_max, priority, conversation, retried_by, root_id, pending_since)
    SELECT one.id, old.project, old."trigger", coalesce(one.workflow, old.workflow), one.workspace,
      'pending', '', old.delivery_id, one.plan_hash, old.payload, one.created_at, old.parent_id,
      old.id, old.depth, CASE WHEN one.keeps_directory THEN old.directory END,
      CASE WHEN one.stays_on_node THEN old.node ELSE '' END, one.readiness, old.gate, old.gate_max,
      one.workspace_max, old.priority, old.conversation, one.retried_by, old.root_id,
      one.created_at
    FROM json_to_recordset(made.retries) AS one(id text, "of" text, workflow text, workspace text,
      workspace_max bigint, plan_hash text, created_at bigint, keeps_directory boolean,
      stays_on_node boolean, readiness bigint, retried_by text)
    JOIN tasks AS old ON old.id = one."of"
    WHERE old.id = ANY (${idsOf("made.retries", '"of"')});
  END IF;

  IF made.updates IS NOT NULL THEN
    UPDATE tasks SET ${
  ["state", "reason", "finished_at", "readiness", "cancel_reason", "workspace", "workflow"].concat(
    ["waiting_since", "stays_on_node", "messages", "message_bytes", "pending_since"],
  ).map(unless)
    .join(", ")
},
      ${unless("delivery_id")}, ${unless("plan_hash")},
      directory = CASE WHEN changed.directory IS NULL THEN tasks.directory
        ELSE nullif(changed.directory, '') END,
      ${given("waiting_since", "run_at")},
      active_ms = tasks.active_ms + coalesce(changed.more_active_ms, 0),
      read_up_to = least(greatest(tasks.read_up_to, changed.read_up_to), changed.unread_from),
      claimed_at = CASE WHEN changed.more_active_ms IS NULL THEN tasks.claimed_at END,
      ${given("workspace", "workspace_max")},
      ${given("workspace", "gate", "decode(changed.gate, 'hex')")},
      ${given("workspace", "gate_max")},
      ${given("workflow", "payload", bytesOf("changed", "payload"))},
      ${given("workflow", "parent_id")}, ${given("workflow", "depth")},
      ${given("workflow", "trace")}, ${
  given("workflow", "priority", "coalesce(changed.priority, 0)")
}
    FROM json_to_recordset(made.updates) AS changed(id text, state text, reason text,
      finished_at bigint, readiness bigint, cancel_reason text, workspace text, workflow text,
      delivery_id text, plan_hash text, directory text, workspace_max bigint, run_at bigint,
      waiting_since bigint, stays_on_node bigint, more_active_ms bigint, read_up_to bigint,
      unread_from bigint, messages bigint, message_bytes bigint,
      pending_since bigint, gate text, gate_max bigint, payload_from int, payload_length int, parent_id text,
      depth bigint, trace text, priority bigint)
    WHERE tasks.id = changed.id AND tasks.id = ANY (${idsOf("made.updates", "id")});
  END IF;

  IF made.steps IS NOT NULL THEN
    INSERT INTO steps (${namesOf(STEP_KEY)}, ${namesOf(STEP)})
    SELECT * FROM json_to_recordset(made.steps) AS one(${STEP_KEY}, ${STEP})
    ON CONFLICT (${namesOf(STEP_KEY)}) DO UPDATE SET ${replaced(STEP)};
  END IF;
  IF made.ended_steps IS NOT NULL THEN
    UPDATE steps SET state = ended.state, reason = ended.reason, finished_at = ended.finished_at,
      process_group = NULL
    FROM json_to_recordset(made.ended_steps) AS ended(task_id text, state text, reason text,
      finished_at bigint)
    WHERE steps.task_id = ended.task_id AND steps.state IN ('running', 'waiting')
      AND steps.task_id = ANY (${idsOf("made.ended_steps", "task_id")});
  END IF;
  IF made.closed_waits IS NOT NULL THEN
    UPDATE waits SET state = 'over', result = '{"by":"task"}', over_at = closed.over_at
    FROM json_to_recordset(made.closed_waits) AS closed(task_id text, over_at bigint)
    WHERE waits.task_id = closed.task_id AND waits.state = 'open'
      AND waits.task_id = ANY (${idsOf("made.closed_waits", "task_id")});
  END IF;
  IF made.task_ends IS NOT NULL THEN
    INSERT INTO task_ends SELECT task_id FROM json_to_recordset(made.task_ends) AS one(task_id text)
    ORDER BY task_id ON CONFLICT DO NOTHING;
  END IF;

  IF made.conversations IS NOT NULL THEN
    INSERT INTO conversations (digest, id, project, name, key, task_id, created_at, updated_at)
    SELECT decode(digest, 'hex'), id, project, name, key, task_id, at, at
    FROM json_to_recordset(made.conversations) AS one(digest text, id text, project text, name text,
      key text, task_id text, at bigint)
    ON CONFLICT (digest) DO UPDATE SET task_id = excluded.task_id, updated_at = excluded.updated_at;
  END IF;
  IF made.inbox IS NOT NULL THEN
    INSERT INTO inbox SELECT * FROM json_to_recordset(made.inbox)
      AS one(task_id text, position bigint, message text, created_at bigint);
  END IF;
  IF made.handed_over IS NOT NULL THEN
    INSERT INTO inbox
    SELECT one."to", row_number() OVER (PARTITION BY one."to" ORDER BY position) - 1, message,
      created_at
    FROM json_to_recordset(made.handed_over)
      AS one("from" text, "to" text, first bigint, taken bigint)
    JOIN inbox ON inbox.task_id = one."from"
    WHERE position >= one.first AND position <> one.taken AND NOT ${OF_CHAT};
    ${COUNT_INBOX} WHERE id = ANY (${idsOf("made.handed_over", '"to"')});
  END IF;

  IF made.dedup_keys IS NOT NULL THEN
    DELETE FROM dedup_keys WHERE digest IN (
      SELECT digest FROM dedup_keys WHERE created_at <= made.forget_up_to ORDER BY created_at
      LIMIT 2 * json_array_length(made.dedup_keys) FOR UPDATE SKIP LOCKED);
    INSERT INTO dedup_keys (digest, delivery_id, task_id, created_at)
    SELECT decode(digest, 'hex'), delivery_id, task_id, created_at
    FROM json_to_recordset(made.dedup_keys)
      AS one(digest text, delivery_id text, task_id text, created_at bigint)
    ON CONFLICT (digest) DO UPDATE SET delivery_id = excluded.delivery_id,
      task_id = excluded.task_id, created_at = excluded.created_at;
  END IF;
  IF made.rates IS NOT NULL THEN
    INSERT INTO rates SELECT * FROM json_to_recordset(made.rates)
      AS one(project text, "trigger" text, due_at double precision, seen_at bigint)
    ON CONFLICT (project, "trigger") DO UPDATE SET due_at = excluded.due_at,
      seen_at = excluded.seen_at;
  END IF;
  IF made.cursors IS NOT NULL THEN
    INSERT INTO cursors SELECT * FROM json_to_recordset(made.cursors) AS one(name text, at bigint)
    ORDER BY name ON CONFLICT (name) DO UPDATE SET at = excluded.at;
  END IF;

  IF made.over <> '{}' THEN PERFORM jobs_end(made.over); END IF;
  IF made.put_back <> '{}' THEN PERFORM jobs_put_back(made.put_back); END IF;
  IF made.ready <> '{}' THEN PERFORM jobs_add(made.ready); END IF;
END $$;
`;
