/**
 * The function `facts`: takes the locks of a batch and loads what its calls may ask for. It decides
 * nothing.
 *
 * @module
 */

import { IN_WORKSPACE, READINESS, UNFINISHED } from "../../sql/readiness.ts";

const OF_GROUP = `tasks WHERE tasks.gate = rooms.gate AND ${UNFINISHED}`;
const OF_WORKSPACE = `tasks WHERE tasks.project = rooms.project AND tasks.workspace = rooms.name
      AND workspace_max IS NOT NULL AND ${IN_WORKSPACE}`;

/**
 * Each key is looked up by itself: for a list of keys the planner, which sees no row yet, would go
 * through all tasks that wait.
 */
const DEBOUNCED = `SELECT delayed.id FROM unnest(debounced) AS key CROSS JOIN LATERAL (
    SELECT id FROM tasks WHERE tasks.debounce = key AND state = 'pending' AND started_at IS NULL
    OFFSET 0) AS delayed`;

const TALKING = "SELECT task_id FROM conversations WHERE digest = ANY (conversing)";

/**
 * First it reads, without locks, which groups and workspaces the named tasks count against, because
 * these have to be locked too. Then it takes the advisory locks of all names in one order, so that
 * two batches never deadlock, then the rows of tasks by id, which a worker could claim meanwhile.
 * Then it reads the facts. Each statement sees what was committed before it began, so what it reads
 * is what the transactions have written that had the locks before. If a task has changed its group
 * meanwhile, the lock of the new one is missing: the working set throws `MissingFact`, and the batch
 * begins again.
 *
 * The two parts about groups and workspaces are left out where there are none, as in a batch of plain
 * accepts: they take 100 of 135 µs even if they find nothing.
 */
export const FACTS = `
CREATE OR REPLACE FUNCTION facts(wanted json) RETURNS json LANGUAGE plpgsql
-- Plans are made once, and kept from when the tables were empty.
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  asked record;
  debounced bytea[];
  known text[];
  groups json := '[]';
  workspaces json := '[]';
  group_facts json := '[]';
  workspace_facts json := '[]';
  conversing bytea[] := '{}';
  talking text[] := '{}';
BEGIN
  SELECT * INTO asked FROM json_to_record(wanted) AS one(earlier text[], debounced text[],
    groups json, workspaces json, rates json, tasks text[], claims text[],
    deliveries text[], resources boolean, conversations text[]);
  debounced := ARRAY(SELECT decode(digest, 'hex') FROM unnest(asked.debounced) AS digest);

  -- Shared by all who decide by the resources; a change of them waits until these are done.
  IF asked.resources THEN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('catalog', 0));
  END IF;

  -- Which rooms the tasks count against, and those that are next in their groups.
  IF asked.conversations <> '{}' THEN
    conversing := ARRAY(SELECT decode(digest, 'hex') FROM unnest(asked.conversations) AS digest);
    talking := ARRAY(${TALKING});
  END IF;
  known := asked.tasks || talking || ARRAY(${DEBOUNCED});
  IF known <> '{}' OR json_array_length(asked.groups) > 0 OR json_array_length(asked.workspaces) > 0
  THEN
    SELECT coalesce(json_agg(every), '[]') INTO groups FROM (
      SELECT digest, sum(depth) AS depth, max(members) AS members, bool_or(replaces) AS replaces
      FROM (
        SELECT digest, depth, members, replaces FROM json_to_recordset(asked.groups)
          AS rooms(digest text, depth bigint, members bigint, replaces boolean)
        UNION ALL
        SELECT encode(gate, 'hex'), 2, 0, false FROM tasks WHERE id = ANY (known) AND gate IS NOT NULL
      ) AS one GROUP BY digest
    ) AS every;
    SELECT coalesce(json_agg(every), '[]') INTO workspaces FROM (
      SELECT project, name, sum(depth) AS depth FROM (
        SELECT project, name, depth FROM json_to_recordset(asked.workspaces)
          AS rooms(project text, name text, depth bigint)
        UNION ALL
        SELECT project, workspace, 2 FROM tasks WHERE id = ANY (known) AND workspace_max IS NOT NULL
        UNION ALL
        SELECT next.project, next.workspace, 1 FROM (
          SELECT decode(digest, 'hex') AS gate, depth, CASE WHEN replaces THEN members ELSE 0 END
            AS members
          FROM json_to_recordset(groups) AS one(digest text, depth bigint, members bigint, replaces boolean)
        ) AS rooms CROSS JOIN LATERAL (
          (SELECT project, workspace, workspace_max FROM ${OF_GROUP} AND readiness = ${READINESS.queuedInGroup}
            ORDER BY id LIMIT rooms.depth)
          UNION ALL
          (SELECT project, workspace, workspace_max FROM ${OF_GROUP} ORDER BY readiness, id
            LIMIT rooms.members)
        ) AS next WHERE next.workspace_max IS NOT NULL
      ) AS one GROUP BY project, name
    ) AS every;
  END IF;

  PERFORM pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(name, 0) AS key FROM (
      SELECT 'earlier/' || digest FROM unnest(asked.earlier) AS digest
      UNION ALL
      SELECT 'debounced/' || digest FROM unnest(asked.debounced) AS digest
      UNION ALL
      SELECT 'conversation/' || digest FROM unnest(asked.conversations) AS digest
      UNION ALL
      SELECT 'delivery/' || id FROM unnest(asked.deliveries) AS id
      UNION ALL
      SELECT 'rate/' || project || '/' || "trigger" FROM json_to_recordset(asked.rates)
        AS one(project text, "trigger" text)
      UNION ALL
      SELECT 'group/' || digest FROM json_to_recordset(groups) AS one(digest text)
      UNION ALL
      SELECT 'workspace/' || project || '/' || name FROM json_to_recordset(workspaces)
        AS one(project text, name text)
    ) AS names(name) ORDER BY key
  ) AS keys;

  IF conversing <> '{}' THEN talking := ARRAY(${TALKING}); END IF;
  known := asked.tasks || asked.claims || talking || ARRAY(${DEBOUNCED});
  known := known || ARRAY(SELECT member.id FROM (
    SELECT decode(digest, 'hex') AS gate, members
    FROM json_to_recordset(groups) AS one(digest text, members bigint, replaces boolean) WHERE replaces
  ) AS rooms CROSS JOIN LATERAL (
    SELECT id FROM ${OF_GROUP} ORDER BY readiness, id LIMIT rooms.members
  ) AS member);
  PERFORM 1 FROM tasks WHERE id = ANY (known) ORDER BY id FOR UPDATE;

  IF json_array_length(groups) > 0 OR json_array_length(workspaces) > 0 THEN
    SELECT coalesce(json_agg(json_build_object(
      'digest', encode(rooms.gate, 'hex'), 'depth', rooms.depth, 'asked', rooms.members,
      'open', (SELECT count(*) FROM ${OF_GROUP}
        AND (tasks.gate, readiness) < (rooms.gate, ${READINESS.queuedInGroup})), -- by the index of groups
      'queued', ARRAY(SELECT id FROM ${OF_GROUP} AND readiness = ${READINESS.queuedInGroup}
        ORDER BY id LIMIT rooms.depth),
      'newest', (SELECT id FROM ${OF_GROUP} AND readiness = ${READINESS.queuedInGroup}
        ORDER BY id DESC LIMIT 1),
      'members', ARRAY(SELECT id FROM ${OF_GROUP} ORDER BY readiness, id LIMIT rooms.members)
    )), '[]') INTO group_facts FROM (
      SELECT decode(digest, 'hex') AS gate, depth, members
      FROM json_to_recordset(groups) AS one(digest text, depth bigint, members bigint)
    ) AS rooms;
    SELECT coalesce(json_agg(json_build_object(
      'project', rooms.project, 'name', rooms.name, 'depth', rooms.depth,
      'open', (SELECT count(*) FROM ${OF_WORKSPACE} AND readiness = ${READINESS.ready}),
      'queued', ARRAY(SELECT id FROM ${OF_WORKSPACE} AND readiness = ${READINESS.queuedInWorkspace}
        ORDER BY id LIMIT rooms.depth),
      'newest', (SELECT id FROM ${OF_WORKSPACE} AND readiness = ${READINESS.queuedInWorkspace}
        ORDER BY id DESC LIMIT 1)
    )), '[]') INTO workspace_facts FROM json_to_recordset(workspaces)
      AS rooms(project text, name text, depth bigint);
    known := known || ARRAY(
      SELECT unnest(ARRAY(SELECT json_array_elements_text(room -> 'queued'))
        || ARRAY(SELECT json_array_elements_text(room -> 'members')) || (room ->> 'newest'))
      FROM (SELECT json_array_elements(group_facts) UNION ALL
        SELECT json_array_elements(workspace_facts)) AS rooms(room));
  END IF;

  RETURN json_build_object(
    'resource_version', (SELECT version FROM catalog_version),
    'groups', group_facts,
    'workspaces', workspace_facts,
    'tasks', (SELECT coalesce(json_agg(one), '[]') FROM (
      SELECT id, project, workspace, state, readiness, encode(gate, 'hex') AS gate, gate_max,
        workspace_max, plan_hash, encode(tasks.debounce, 'hex') AS debounce,
        started_at IS NOT NULL AS has_started, directory IS NOT NULL AS has_directory,
        cancel_reason, node, run, epoch, messages, message_bytes, read_up_to
      FROM tasks WHERE id = ANY (known)
    ) AS one),
    'earlier', (SELECT coalesce(json_agg(one), '[]') FROM (
      SELECT encode(digest, 'hex') AS digest, dedup_keys.delivery_id, task_id,
        dedup_keys.created_at AS received_at,
        CASE task_id WHEN '' THEN 'succeeded' ELSE state END AS state -- deleted by hand
      FROM dedup_keys LEFT JOIN LATERAL (SELECT state FROM tasks WHERE id = task_id OFFSET 0) AS of
        ON true
      WHERE digest = ANY (ARRAY(SELECT decode(one, 'hex') FROM unnest(asked.earlier) AS one))
        AND (state IS NOT NULL OR task_id = '')
    ) AS one),
    'rates', (SELECT coalesce(json_agg(rates), '[]') FROM json_to_recordset(asked.rates)
      AS one(project text, "trigger" text) JOIN rates USING (project, "trigger")),
    'conversations', CASE WHEN conversing <> '{}' THEN (SELECT coalesce(json_agg(one), '[]') FROM (
      SELECT encode(digest, 'hex') AS digest, task_id,
        EXISTS (SELECT 1 FROM task_ends WHERE task_ends.task_id = conversations.task_id) AS has_end
      FROM conversations WHERE digest = ANY (conversing)
    ) AS one) END,
    'deliveries', (SELECT coalesce(json_agg(one), '[]') FROM (
      SELECT id, outcome, reason, task_id, detail FROM deliveries
      WHERE id = ANY (asked.deliveries)
    ) AS one)
  );
END $$;
`;
