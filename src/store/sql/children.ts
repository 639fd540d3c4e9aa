/**
 * The table `children`, written once for both databases: the tasks that steps of other tasks wait for.
 * `rules/children.ts` decides about them.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type {
  AbandonedChildren,
  AskedChildren,
  Child,
  ChildCount,
  ChildEnd,
  ChildInputs,
  ChildQuery,
  ChildResult,
  NewChild,
  NextChildren,
  StartedChildren,
} from "../child_records.ts";
import {
  ALL_CHILDREN,
  decideChildren,
  decideRoom,
  MAX_LEVELS,
  MAX_RESULTS,
  type TakenRoom,
  whyNoChild,
} from "../rules/children.ts";
import { isUnfinished, type NewTask, type TaskState } from "../task_records.ts";
import { startTask } from "../transactions/record_event.ts";
import type { ChangeTasks } from "../transactions/task_rows.ts";
import type { Wait, WaitPlace } from "../wait_records.ts";
import { json, number, text } from "./columns.ts";
import { UNFINISHED } from "./readiness.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";
import {
  end,
  findWait,
  goesOn,
  openWait,
  PLACE,
  placeOf,
  toPlace,
  type WaitHost,
} from "./waits.ts";

/** Opens the wait of a step, and makes those of its children that have room. */
export const startChildren = <Db extends SqlSession>(host: WaitHost<Db>) =>
async (
  db: Db,
  changeTasks: ChangeTasks,
  { wait: asked, children: given, isFollowUp = false, resourceVersion, ...room }: AskedChildren,
): Promise<StartedChildren> => {
  const opened = await openWait(isFollowUp ? { ...host, checkClaim() {} } : host)(db, asked);
  const place = { taskId: asked.taskId, position: asked.position, round: asked.round };
  const before = await listChildren(db, { ...place, limit: ALL_CHILDREN });
  const whenOver = async (wait: Wait) => ({
    wait,
    children: await withOutputs(db, place, before),
    made: [],
  });
  const endBy = async (by: { readonly refused?: string }) => {
    await end(db, { ...place, part: 0, end: { by: "children", ...by }, now: asked.now });
    await host.wake(db, place.taskId, asked.now);
    return await whenOver(await findWait(db, place) ?? opened);
  };
  if (opened.end !== undefined) return await whenOver(opened);
  const decision = decideChildren(countOf(opened), before);
  if (decision.is === "over") return await endBy({});
  const next = given.filter(({ item }) => decision.start.includes(item));
  if (next.length === 0 || !await goesOn(db, asked.taskId)) {
    return { wait: opened, children: before.map(withoutOutputs), made: [] };
  }
  const above = await findAbove(db, asked.taskId);
  const why = await whyNoMore(db, above, next.length);
  if (why !== undefined) return await endBy({ refused: why });
  const placed = placeChildren(next, above, room);
  if ("refused" in placed) return await endBy(placed);
  for (const child of placed.children) {
    await insertChild(db, changeTasks, { child, place, above, now: asked.now, resourceVersion });
  }
  const children = await listChildren(db, { ...place, limit: ALL_CHILDREN });
  return {
    wait: opened,
    children: children.map(withoutOutputs),
    made: next.map(({ task }) => task.id),
  };
};

/** The number of children that a wait asks for. */
function countOf({ parts: [part] }: Pick<Wait, "parts">): ChildCount {
  const { items, maxParallel } = part?.asked ?? {};
  return { items: Number(items ?? 1), maxParallel: Number(maxParallel ?? 1) };
}

/** The asking task and those above it, itself first. */
interface Above {
  readonly tasks: readonly {
    readonly id: string;
    readonly deliveryId: string;
    readonly depth: number;
    readonly workspace: string;
    readonly max?: number;
    /** Whether it has ended, as where a child was retried by itself: it keeps no room any more. */
    readonly isOver: boolean;
  }[];
  readonly rootId: string;
}

async function findAbove(db: SqlSession, taskId: string): Promise<Above> {
  const tasks: Above["tasks"][number][] = [];
  let rootId = taskId;
  for (let at: string | undefined = taskId; at !== undefined && tasks.length <= MAX_LEVELS;) {
    const row: Row | undefined = await db.get(
      `SELECT state, delivery_id, depth, workspace, workspace_max, root_id, parent_id FROM tasks
       WHERE id = ?`,
      at,
    );
    if (row === undefined) break;
    tasks.push({
      id: at,
      deliveryId: text(row, "delivery_id"),
      depth: number(row, "depth"),
      workspace: text(row, "workspace"),
      isOver: !isUnfinished(text(row, "state") as TaskState),
      ...row["workspace_max"] === null ? {} : { max: number(row, "workspace_max") },
    });
    const isChild = row["root_id"] !== null;
    if (isChild) rootId = text(row, "root_id");
    at = isChild ? text(row, "parent_id") : undefined;
  }
  return { tasks, rootId };
}

/** Why a task may have no more children; `undefined` if it may. */
async function whyNoMore(
  db: SqlSession,
  { tasks, rootId }: Above,
  more: number,
): Promise<string | undefined> {
  const row = await db.get("SELECT count(*) AS n FROM tasks WHERE root_id = ?", rootId);
  return whyNoChild({ level: tasks.length - 1, below: number(row ?? { n: 0 }, "n"), more });
}

/** The children, of which those that run in the room of a task above have no limit; why not, instead. */
function placeChildren(
  next: readonly NewChild[],
  { tasks }: Above,
  { isShared, sharedAbove }: Pick<AskedChildren, "isShared" | "sharedAbove">,
): { readonly children: readonly NewChild[] } | { readonly refused: string } {
  const taken = tasks.filter(({ isOver }) => !isOver).map(({ workspace, max }): TakenRoom => ({
    workspace,
    isShared: sharedAbove.includes(workspace),
    ...defined({ max }),
  }));
  const children: NewChild[] = [];
  for (const { task, ...child } of next) {
    const { workspace, workspaceMax: max } = task;
    const decision = decideRoom({ workspace, isShared, ...defined({ max }) }, taken);
    if ("refused" in decision) return decision;
    children.push({ ...child, task: decision.room === "above" ? withoutLimit(task) : task });
  }
  return { children };
}

const withoutLimit = ({ workspaceMax: _, ...task }: NewTask): NewTask => task;

/** Makes a child, which gets the event of the task above with the payload that it has there. */
async function insertChild(
  db: SqlSession,
  changeTasks: ChangeTasks,
  { child: { item, inputs, task: child }, place, above, now, resourceVersion }: {
    readonly child: NewChild;
    readonly place: WaitPlace;
    readonly above: Above;
    readonly now: number;
    readonly resourceVersion: number | undefined;
  },
): Promise<void> {
  const { tasks: [parent], rootId } = above;
  const task = { ...child, parentId: place.taskId, depth: (parent?.depth ?? 0) + 1 };
  await changeTasks(
    (facts) => {
      facts.addNew(task);
      if (resourceVersion !== undefined) facts.addResourceVersion();
    },
    (rows) => {
      rows.checkResources(resourceVersion);
      startTask(rows, task, { delivery: { id: parent?.deliveryId ?? "", receivedAt: now } });
    },
  );
  await db.run(
    `UPDATE tasks SET root_id = ?1, inputs = ?2,
       payload = (SELECT above.payload FROM tasks AS above WHERE above.id = ?3) WHERE id = ?4`,
    rootId,
    JSON.stringify(inputs),
    place.taskId,
    task.id,
  );
  await db.run(
    `INSERT INTO children (parent_id, position, round, item, task_id, workflow, end_state, reason,
       outputs) VALUES (?, ?, ?, ?, ?, ?, NULL, '', NULL)`,
    place.taskId,
    place.position,
    place.round,
    item,
    task.id,
    task.workflow,
  );
}

/** The next children of the step that a child belongs to. */
export async function findNextChildren(
  db: SqlSession,
  taskId: string,
): Promise<NextChildren | undefined> {
  const row = await db.get(
    "SELECT parent_id AS task_id, position, round FROM children WHERE task_id = ?",
    taskId,
  );
  if (row === undefined) return undefined;
  const place = toPlace(row);
  const wait = await findWait(db, place);
  if (wait === undefined || wait.end !== undefined || !await goesOn(db, place.taskId)) {
    return undefined;
  }
  const children = await listChildren(db, { ...place, limit: ALL_CHILDREN });
  const decision = decideChildren(countOf(wait), children);
  if (decision.is === "over" || decision.start.length === 0) return undefined;
  const given = await db.get(
    `SELECT shown FROM waits WHERE ${PLACE} AND part = 0`,
    ...placeOf(place),
  );
  const inputs = json(given ?? {}, "shown") as readonly ChildInputs["inputs"][];
  const next = decision.start.map((item) => ({ item, inputs: inputs[item] ?? {} }));
  return { ...place, project: wait.project, next };
}

/** The children of a task, or of a step of it. */
export async function listChildren(
  db: SqlSession,
  { taskId, position, round, isOpen = false, limit }: ChildQuery,
): Promise<Child[]> {
  const filters = Object.entries({ position, round }).flatMap(([column, value]) =>
    value === undefined ? [] : [{ column, value }]
  );
  const rows = await db.all(
    `SELECT children.parent_id AS task_id, children.position, children.round, children.item,
       children.task_id AS id, children.workflow,
       COALESCE(children.end_state, tasks.state, 'failed') AS state,
       CASE WHEN children.end_state IS NOT NULL THEN children.reason
         ELSE COALESCE(tasks.reason, '${GONE}') END AS reason
     FROM children LEFT JOIN tasks ON tasks.id = children.task_id
     WHERE children.parent_id = ?
       ${filters.map(({ column }) => `AND children.${column} = ?`).join(" ")}
       ${isOpen ? "AND children.end_state IS NULL" : ""}
     ORDER BY children.position, children.round, children.item LIMIT ?`,
    taskId,
    ...filters.map(({ value }) => value),
    limit,
  );
  return rows.map(toChild);
}

/** The reason of a child whose record is gone. */
const GONE = "its record was deleted before its end was noted";

function toChild(row: Row): Child {
  return {
    ...toPlace(row),
    item: number(row, "item"),
    id: text(row, "id"),
    workflow: text(row, "workflow"),
    state: text(row, "state") as TaskState,
    reason: text(row, "reason"),
  };
}

const withoutOutputs = (child: Child): ChildResult => ({ ...child, outputs: {} });

/** The children with their outputs, which are read only once: when their step goes on. */
async function withOutputs(
  db: SqlSession,
  place: WaitPlace,
  children: readonly Child[],
): Promise<ChildResult[]> {
  const rows = await db.all(
    `SELECT item, outputs FROM children
     WHERE parent_id = ? AND position = ? AND round = ? AND outputs IS NOT NULL`,
    ...placeOf(place),
  );
  const given = new Map(rows.map((row) => [number(row, "item"), json(row, "outputs")]));
  return children.map((child) => ({
    ...child,
    outputs: (given.get(child.item) ?? {}) as ChildResult["outputs"],
  }));
}

/** Stores the outputs of a child, if those of all items have not too much together. */
export const saveChildOutputs =
  <Db extends SqlSession>(host: Pick<WaitHost<Db>, "lockTask" | "checkClaim">) =>
  async (db: Db, taskId: string, outputs: ChildResult["outputs"]): Promise<boolean> => {
    await host.lockTask(db, taskId);
    await host.checkClaim(db, taskId);
    const others = `(SELECT COALESCE(sum(length(one.outputs)), 0) FROM children AS one
      WHERE one.parent_id = children.parent_id AND one.position = children.position
        AND one.round = children.round AND one.task_id <> children.task_id)`;
    const changed = await db.run(
      `UPDATE children SET outputs = ?1 WHERE task_id = ?2 AND end_state IS NULL
         AND (${others} = 0 OR length(?1) + ${others} <= ${MAX_RESULTS})`,
      JSON.stringify(outputs),
      taskId,
    );
    if (changed > 0) return true;
    const waiting = await db.get(
      "SELECT 1 FROM children WHERE task_id = ? AND end_state IS NULL",
      taskId,
    );
    return waiting === undefined;
  };

/** Notes how a child has ended, and lets the task above go on if it was the last. */
export const endChild =
  <Db extends SqlSession>(host: WaitHost<Db>) =>
  async (db: Db, taskId: string, now: number): Promise<ChildEnd | undefined> => {
    const row = await db.get(
      `SELECT parent_id AS task_id, position, round FROM children
     WHERE task_id = ? AND end_state IS NULL`,
      taskId,
    );
    if (row === undefined) return undefined;
    const place = toPlace(row);
    await host.lockTask(db, place.taskId);
    const child = await db.get("SELECT state, reason FROM tasks WHERE id = ?", taskId);
    const state = child === undefined ? "failed" : text(child, "state") as TaskState;
    if (isUnfinished(state)) return undefined;
    await db.run(
      "UPDATE children SET end_state = ?, reason = ? WHERE task_id = ? AND end_state IS NULL",
      state,
      child === undefined ? GONE : text(child, "reason"),
      taskId,
    );
    const ended = { parentId: place.taskId, isOver: false };
    const wait = await findWait(db, place);
    if (wait === undefined || wait.end !== undefined || !await goesOn(db, place.taskId)) {
      return ended;
    }
    const children = await listChildren(db, { ...place, limit: ALL_CHILDREN });
    if (decideChildren(countOf(wait), children).is === "open") return ended;
    await end(db, { ...place, part: 0, end: { by: "children" }, now });
    await host.wake(db, place.taskId, now);
    return { ...ended, isOver: true };
  };

/** Children that have ended or are gone, of which the task above was not told. */
export async function listLostChildren(db: SqlSession, limit: number): Promise<string[]> {
  const rows = await db.all(
    `SELECT children.task_id AS id FROM children
     LEFT JOIN tasks ON tasks.id = children.task_id
     WHERE children.end_state IS NULL AND (tasks.id IS NULL OR NOT tasks.${UNFINISHED})
     ORDER BY children.task_id LIMIT ?`,
    limit,
  );
  return rows.map((row) => text(row, "id"));
}

/** The condition on a child, its task `own`, the task above and the wait that nothing waits for it. */
const ABANDONED = `(above.id IS NULL OR NOT above.${UNFINISHED} OR above.cancel_reason IS NOT NULL
  OR waits.state = 'over' OR waits.due_at <= ?)`;

/** Open children whose step does not wait for them any more; a task that began anew may wait again. */
export async function listAbandonedChildren(
  db: SqlSession,
  now: number,
  limit: number,
): Promise<AbandonedChildren> {
  const open = `FROM children JOIN tasks AS own ON own.id = children.task_id
     LEFT JOIN tasks AS above ON above.id = children.parent_id
     LEFT JOIN waits ON waits.task_id = children.parent_id
       AND waits.position = children.position AND waits.round = children.round AND waits.part = 0
     WHERE children.end_state IS NULL AND own.${UNFINISHED} AND own.cancel_reason IS NULL`;
  const rows = await db.all(
    `SELECT children.parent_id AS task_id, children.position, children.round, children.task_id AS id
     ${open} AND ${ABANDONED} ORDER BY children.task_id LIMIT ?`,
    now,
    limit,
  );
  const next = await db.get(
    `SELECT min(waits.due_at) AS at ${open} AND waits.state = 'open' AND waits.due_at > ?`,
    now,
  );
  const nextAt = next?.["at"];
  return {
    children: rows.map((row) => ({ ...toPlace(row), id: text(row, "id") })),
    ...typeof nextAt === "number" ? { nextAt } : {},
  };
}
