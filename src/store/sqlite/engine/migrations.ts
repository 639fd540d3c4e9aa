/**
 * The schema, as append-only migrations: `user_version` counts those a file has been through. A
 * migration that was ever released is never edited.
 *
 * @module
 */

import type { Database } from "./database.ts";
import type { TablesOf } from "../../sql/tables_of.ts";
import { MIGRATIONS_0_2 } from "./migrations_0_2.ts";

const MIGRATIONS = [
  ...MIGRATIONS_0_2,
  `
  -- The kind of failure of a step that failed.
  ALTER TABLE steps ADD COLUMN failure TEXT;
  -- What it reached from its sandbox, as JSON.
  ALTER TABLE steps ADD COLUMN network TEXT;
  `,
  `
  -- Turns of agents, held or waiting in the order of place; seats: how many there are to be.
  CREATE TABLE turns (
    task_id TEXT NOT NULL, position INTEGER NOT NULL, project TEXT NOT NULL, agent TEXT NOT NULL,
    session BLOB, seats INTEGER, state TEXT NOT NULL, place INTEGER NOT NULL,
    PRIMARY KEY (task_id, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX turns_of_agent ON turns (project, agent, state, place);
  CREATE UNIQUE INDEX turns_in_session ON turns (project, agent, session)
    WHERE state = 'held' AND session IS NOT NULL;
  CREATE INDEX turns_for_session ON turns (project, agent, session) WHERE session IS NOT NULL;
  CREATE TABLE agent_limits (
    project TEXT NOT NULL, agent TEXT NOT NULL, until INTEGER NOT NULL, reason TEXT NOT NULL,
    noted_at INTEGER NOT NULL, PRIMARY KEY (project, agent)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY, project TEXT NOT NULL, agent TEXT NOT NULL,
    digest BLOB NOT NULL, key TEXT NOT NULL, agent_id TEXT, node TEXT NOT NULL,
    created_at INTEGER NOT NULL, used_at INTEGER NOT NULL, UNIQUE (project, agent, digest)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_by_use ON sessions (used_at);
  ALTER TABLE steps ADD COLUMN session TEXT;
  CREATE INDEX steps_of_session ON steps (session, task_id) WHERE session IS NOT NULL;
  -- readiness -1: parked in its midst, for a turn or until run_at.
  ALTER TABLE tasks ADD COLUMN waiting_since INTEGER;
  DROP INDEX tasks_timed; DROP INDEX tasks_unready;
  CREATE INDEX tasks_timed ON tasks (run_at) WHERE state = 'pending' AND readiness IN (-1, 3);
  CREATE INDEX tasks_waiting ON tasks (waiting_since) WHERE state = 'pending' AND readiness = -1;
  CREATE INDEX tasks_unready ON tasks (id, readiness, created_at)
    WHERE state = 'pending' AND readiness <> 0;
  `,
  `
  -- Long parts of messages, in pieces.
  CREATE TABLE outbox_content (
    message_id TEXT NOT NULL, name TEXT NOT NULL, piece INTEGER NOT NULL, bytes BLOB NOT NULL,
    PRIMARY KEY (message_id, name, piece)
  ) STRICT;
  -- What tasks have put into the outbox against a limit. place: where it counts over all tasks, or
  -- empty; number: the how many of all there; round: the how many since a person had a say.
  CREATE TABLE outputs (
    task_id TEXT NOT NULL, output TEXT NOT NULL, unit TEXT NOT NULL, created_at INTEGER NOT NULL,
    place TEXT NOT NULL, number INTEGER NOT NULL, round INTEGER NOT NULL,
    PRIMARY KEY (task_id, output, unit)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX outputs_of_place ON outputs (place, output, number) WHERE place <> '';
  `,
  `
  -- What steps wait for, apart from agents: open once, and over once. is_relative: whether its time is
  -- counted from when it opened.
  CREATE TABLE waits (
    task_id TEXT NOT NULL, position INTEGER NOT NULL, project TEXT NOT NULL, kind TEXT NOT NULL,
    state TEXT NOT NULL, due_at INTEGER NOT NULL, is_relative INTEGER NOT NULL,
    opened_at INTEGER NOT NULL, over_at INTEGER, result TEXT, PRIMARY KEY (task_id, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX waits_open ON waits (due_at, task_id, position) WHERE state = 'open';
  -- How long workers have run it before the run that began at claimed_at.
  ALTER TABLE tasks ADD COLUMN active_ms INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN claimed_at INTEGER;
  -- A task that waits in its midst is waiting. readiness 1: it has given the room in its workspace back.
  DROP INDEX tasks_timed; DROP INDEX tasks_waiting; DROP INDEX tasks_unready;
  DROP INDEX tasks_gated; DROP INDEX tasks_in_workspace;
  UPDATE tasks SET state = 'waiting', readiness = 0 WHERE state = 'pending' AND readiness = -1;
  CREATE INDEX tasks_timed ON tasks (run_at)
    WHERE (state = 'waiting' OR state = 'pending' AND readiness = 3);
  CREATE INDEX tasks_waiting ON tasks (waiting_since) WHERE state = 'waiting';
  CREATE INDEX tasks_unready ON tasks (id, readiness, created_at)
    WHERE state = 'pending' AND readiness > 0;
  CREATE INDEX tasks_gated ON tasks (gate, readiness, id)
    WHERE gate IS NOT NULL AND state IN ('pending', 'running', 'waiting');
  CREATE INDEX tasks_in_workspace ON tasks (project, workspace, readiness, id)
    WHERE workspace_max IS NOT NULL
      AND (state IN ('pending', 'running') OR state = 'waiting' AND readiness = 0);
  `,
  `
  -- A step waits in each round of its repeat, and for several things at once (part), of which the first
  -- that comes ends it. asked: what it waits for, as JSON.
  ALTER TABLE waits RENAME TO waits_16;
  CREATE TABLE waits (
    task_id TEXT NOT NULL, position INTEGER NOT NULL, round INTEGER NOT NULL, part INTEGER NOT NULL,
    project TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, asked TEXT NOT NULL,
    due_at INTEGER NOT NULL, is_relative INTEGER NOT NULL,
    opened_at INTEGER NOT NULL, over_at INTEGER, result TEXT,
    PRIMARY KEY (task_id, position, round, part)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO waits SELECT task_id, position, 1, 0, project, kind, state, '{}', due_at, is_relative,
    opened_at, over_at, result FROM waits_16;
  DROP TABLE waits_16;
  CREATE INDEX waits_open ON waits (due_at, task_id, position, part) WHERE state = 'open';
  ALTER TABLE steps ADD COLUMN round INTEGER NOT NULL DEFAULT 1;
  -- A wait for an event of a trigger is found by its key (digest), which is made of an event as its shape
  -- says. delivery_id: of the event that ended it.
  ALTER TABLE waits ADD COLUMN event_trigger TEXT;
  ALTER TABLE waits ADD COLUMN shape TEXT;
  ALTER TABLE waits ADD COLUMN digest TEXT;
  ALTER TABLE waits ADD COLUMN delivery_id TEXT;
  CREATE INDEX waits_for_events ON waits (project, event_trigger, shape, digest, opened_at)
    WHERE state = 'open' AND event_trigger IS NOT NULL;
  CREATE INDEX waits_of_deliveries ON waits (delivery_id) WHERE delivery_id IS NOT NULL;
  -- Messages of its inbox before this position were there when its last step began, or ended a wait.
  ALTER TABLE tasks ADD COLUMN read_up_to INTEGER NOT NULL DEFAULT 0;
  -- What an approval shows beside its question, and the answers to it, one of each giver.
  ALTER TABLE waits ADD COLUMN shown TEXT;
  CREATE TABLE wait_answers (
    task_id TEXT NOT NULL, position INTEGER NOT NULL, round INTEGER NOT NULL, giver TEXT NOT NULL,
    person TEXT, identity TEXT, called TEXT NOT NULL, answered_at INTEGER NOT NULL,
    surface TEXT NOT NULL, answer TEXT NOT NULL, comment TEXT NOT NULL, given TEXT NOT NULL,
    forced TEXT, PRIMARY KEY (task_id, position, round, giver)
  ) STRICT, WITHOUT ROWID;
  -- What was used up of each budget in its newest window. unknown: runs that were counted as perRun,
  -- because nobody knows what they used; told: the percentage that people were last told of.
  CREATE TABLE spend (
    project TEXT NOT NULL, scope TEXT NOT NULL, unit TEXT NOT NULL, per TEXT NOT NULL,
    starts_at INTEGER NOT NULL, ends_at INTEGER NOT NULL, spent INTEGER NOT NULL,
    unknown INTEGER NOT NULL, told INTEGER NOT NULL, PRIMARY KEY (project, scope, unit, per)
  ) STRICT, WITHOUT ROWID;
  -- run: the run of an agent for which budgets has something set aside. Of a turn that is limited,
  -- budgets has those that it waits for.
  ALTER TABLE turns ADD COLUMN run TEXT;
  ALTER TABLE turns ADD COLUMN budgets TEXT;
  CREATE INDEX turns_in_budget ON turns (project, place) WHERE budgets IS NOT NULL;
  -- Ready tasks are claimed in the order of priority, least first, and id.
  ALTER TABLE tasks ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
  DROP INDEX tasks_ready;
  CREATE INDEX tasks_ready ON tasks (priority, id, project) WHERE state = 'pending' AND readiness = 0;
  -- Of which project (empty: of every one) no worker takes a task, and until when.
  CREATE TABLE pauses (
    project TEXT NOT NULL PRIMARY KEY, reason TEXT NOT NULL, paused_by TEXT NOT NULL,
    paused_at INTEGER NOT NULL, until INTEGER
  ) STRICT, WITHOUT ROWID;
  -- Name of the Person in whose place the token acts.
  ALTER TABLE control_tokens ADD COLUMN person TEXT;
  `,
  `
  -- How many messages its inbox has had, and their bytes.
  ALTER TABLE tasks ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN message_bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE tasks SET
    messages = (SELECT max(position) + 1 FROM inbox WHERE task_id = tasks.id),
    message_bytes = (SELECT sum(octet_length(message)) FROM inbox WHERE task_id = tasks.id)
    WHERE id IN (SELECT task_id FROM inbox);
  UPDATE tasks SET read_up_to = messages
    WHERE messages > 0 AND state NOT IN ('pending', 'running', 'waiting');
  -- The first message that a step was given.
  ALTER TABLE steps ADD COLUMN read_from INTEGER;
  -- Which task a conversation goes on with; digest: of project, name and key.
  CREATE TABLE conversations (
    digest BLOB NOT NULL PRIMARY KEY, id TEXT NOT NULL, project TEXT NOT NULL, name TEXT NOT NULL,
    key TEXT NOT NULL, task_id TEXT NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX conversations_by_id ON conversations (id);
  CREATE INDEX conversations_of_task ON conversations (task_id);
  ALTER TABLE tasks ADD COLUMN conversation TEXT;
  -- JSON: who had a task retried.
  ALTER TABLE tasks ADD COLUMN retried_by TEXT;
  -- The Projects that limit how many of their tasks run at once, which each claim reads.
  CREATE INDEX resources_limiting ON resources (name)
    WHERE kind = 'Project' AND spec LIKE '%"maxParallel"%';
  -- A claim looks in each project that has room, and at no task of those that have none.
  DROP INDEX tasks_ready;
  CREATE INDEX tasks_ready ON tasks (project, priority, id) WHERE state = 'pending' AND readiness = 0;
  -- Tasks that steps of other tasks have started and wait for; item: the place in their list. end_state and
  -- reason: how one has ended, once the task above was told; outputs: of its workflow.
  CREATE TABLE children (
    parent_id TEXT NOT NULL, position INTEGER NOT NULL, round INTEGER NOT NULL, item INTEGER NOT NULL,
    task_id TEXT NOT NULL, workflow TEXT NOT NULL, end_state TEXT, reason TEXT NOT NULL, outputs TEXT,
    PRIMARY KEY (parent_id, position, round, item)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX children_by_task ON children (task_id);
  CREATE INDEX children_open ON children (task_id) WHERE end_state IS NULL;
  -- The task at the top, of one that such a step has started.
  ALTER TABLE tasks ADD COLUMN root_id TEXT;
  CREATE INDEX tasks_of_root ON tasks (root_id) WHERE root_id IS NOT NULL;
  `,
  `
  -- granted: what people have allowed beyond the limit of a budget in its window; refused: that they have
  -- not, and why. asks: JSON, the more of a budget of which the step of a turn asks people.
  ALTER TABLE spend ADD COLUMN granted INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE spend ADD COLUMN refused TEXT;
  ALTER TABLE turns ADD COLUMN asks TEXT;
  CREATE INDEX conversations_of_project ON conversations (project, id);
  -- 1: the token acts for the Persons that its holder names.
  ALTER TABLE control_tokens ADD COLUMN gateway INTEGER NOT NULL DEFAULT 0;
  -- JSON: what the step that has started the task gives it.
  ALTER TABLE tasks ADD COLUMN inputs TEXT;
  UPDATE tasks SET inputs = (SELECT json_extract(plan, '$.inputs') FROM plans WHERE hash = plan_hash)
    WHERE plan_hash IN (SELECT hash FROM plans WHERE plan LIKE '%"inputs":%');
  -- Decided questions that were asked where comments answer them: late comments are told.
  CREATE INDEX waits_decided ON waits (over_at, project, event_trigger, digest)
    WHERE state = 'over' AND kind = 'approval' AND event_trigger IS NOT NULL;
  -- What one person did, newest first.
  CREATE INDEX control_audit_by_caller ON control_audit (caller, id);
  `,
  `
  -- When it became pending: when it was made, or woken, or a worker gave it back.
  ALTER TABLE tasks ADD COLUMN pending_since INTEGER;
  UPDATE tasks SET pending_since = created_at WHERE state IN ('pending', 'running', 'waiting');
  DROP INDEX tasks_ready; DROP INDEX tasks_unready;
  CREATE INDEX tasks_ready ON tasks (project, priority, id, pending_since)
    WHERE state = 'pending' AND readiness = 0;
  CREATE INDEX tasks_unready ON tasks (id, readiness, pending_since)
    WHERE state = 'pending' AND readiness > 0;
  `,
] as const;

/** A table that some migration makes. */
export type SqliteTable = TablesOf<(typeof MIGRATIONS)[number]>;

/** The version of the schema this program writes. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;

/** Migrates the open database up to a version, all steps in one transaction. */
export function migrate(db: Database, upTo: number = SCHEMA_VERSION): void {
  if (versionOf(db) >= upTo) return;
  db.transactionSync(() => {
    const version = versionOf(db); // another process may have migrated it first
    for (const sql of MIGRATIONS.slice(version, upTo)) db.exec(sql);
    if (version < upTo) db.exec(`PRAGMA user_version = ${upTo}`);
  });
}

/** Number of migrations the open database has been through; 0 when it was never finished. */
export function versionOf(db: Database): number {
  return Number(db.get("PRAGMA user_version")?.["user_version"] ?? 0);
}
