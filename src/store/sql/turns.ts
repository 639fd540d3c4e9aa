/**
 * The tables `turns` and `agent_limits`, written once for both databases. `rules/turns.ts` decides.
 * Each call locks the agents that it is about: so their seats, their sessions and their queues
 * change by one call after the other, over all nodes.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { sessionDigest } from "../rules/keys.ts";
import { decideTurn, hasSeat, type NotedLimit, type StoredTurn } from "../rules/turns.ts";
import type { AskedMore } from "../budget_records.ts";
import type { AgentLimit, AskedTurn, TurnAnswer } from "../turn_records.ts";
import {
  forgetQuestions,
  isStillAsked,
  openQuestion,
  takeBack,
  toAsks,
} from "./budget_questions.ts";
import {
  BudgetLedger,
  budgetLock,
  type LackingAgent,
  lackingAgents,
  moreOf,
  waitForBudgets,
  wakeSteps,
} from "./budgets.ts";
import { number, storable, text } from "./columns.ts";
import { UNFINISHED } from "./readiness.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";
import { type SessionHost, useSession } from "./sessions.ts";

/** What differs between the databases. */
export interface TurnHost<Db extends SqlSession> extends SessionHost<Db> {
  /**
   * Refuses a call for a task that another node runs now.
   *
   * @throws {AppError} `conflict`.
   */
  checkClaim(db: Db, taskId: string): void | Promise<void>;
  /**
   * Makes those of these tasks ready that wait. Called last: a call that parks one of them
   * has locked its row, and waits for nothing that this transaction has.
   */
  wake(db: Db, taskIds: readonly string[], now: number): void | Promise<void>;
  /** Keeps the row of a task as it is until the transaction ends, so that nobody answers it meanwhile. */
  lockRow(db: Db, taskId: string): void | Promise<void>;
}

/** What stands in the place of a turn. */
interface FoundTurn extends StoredTurn {
  /** Whether it is one, held or waited for; else the step waits for a budget, or has done so. */
  readonly isTurn: boolean;
  /** The run for which something is set aside in budgets. */
  readonly run?: string;
  /** The more of a budget of which the step asks people. */
  readonly asks?: AskedMore;
}

/** The agents of one project by name. */
interface Agents {
  readonly project: string;
  readonly agents: readonly string[];
}

const lockAgents = (
  db: SqlSession,
  { project, agents, isBudgeted }: Agents & {
    /** Whether what is set aside in budgets changes, too. */
    readonly isBudgeted?: boolean;
  },
) =>
  db.lock(
    ...new Set(agents.map((agent) => `turns/${project}/${agent}`)),
    ...isBudgeted === true ? [budgetLock(project)] : [],
  );

/** Gives a step its turn, or puts it in the queue for one. */
export const takeTurn =
  <Db extends SqlSession>(host: TurnHost<Db>) =>
  async (db: Db, asked: AskedTurn): Promise<TurnAnswer> => {
    const { taskId, project, run, now } = asked;
    const agents = asked.agents.map(({ name }) => name);
    // no other call changes the agent of its turn, so those that have to be locked stay the same
    const before = await findTurn(db, asked);
    const isBudgeted = [run, before?.run, before?.asks].some((one) => one !== undefined);
    await lockAgents(db, {
      project,
      agents: before === undefined ? agents : [...agents, before.agent],
      isBudgeted,
    });
    await host.checkClaim(db, taskId);
    const turn = await findTurn(db, asked);
    const session = async (agent: string) =>
      defined({ session: await useSession(host, db, { ...asked, agent }) });
    if (turn !== undefined && run !== undefined && turn.run === run) {
      // this call was committed, and its answer was lost
      return { is: "held", agent: turn.agent, ...await session(turn.agent) };
    }
    const ledger = isBudgeted ? await BudgetLedger.open(db, { project, now }) : undefined;
    if (turn?.run !== undefined) { // the run was killed, and nobody knows what it used
      await ledger?.settle(asked, {});
    }
    const question = await openQuestion(host, db, asked, turn?.asks);
    if (question !== undefined) await ledger?.closeQuestion(asked, question.asks, question.end);
    const lacking = ledger === undefined ? [] : lackingAgents(ledger, asked.agents);
    const answer = await giveTurn(host, db, asked, { turn, lacking });
    const asks = answer.is === "limited" ? answer.asks : undefined;
    const isOver = question !== undefined && !isStillAsked(question, asks);
    if (isOver) await takeBack(db, question, now);
    if (asks !== undefined && (question === undefined || isOver)) await forgetQuestions(db, asked);
    if (answer.is === "held" && run !== undefined) {
      const budgets = asked.agents.find(({ name }) => name === answer.agent)?.budgets ?? [];
      if (budgets.length > 0) await ledger?.reserve(asked, run, budgets);
    }
    for (const one of lacking.flatMap((agent) => agent.lacking)) await ledger?.tellReached(one);
    const news = ledger === undefined || ledger.news.length === 0 ? undefined : ledger.news;
    const told = defined({ news });
    if (isOver) await wakeSteps(host, db, await ledger?.findAskers(asked) ?? [], asked);
    return answer.is === "held"
      ? { ...answer, ...await session(answer.agent), ...told }
      : { ...answer, ...told };
  };

/** Gives a step its turn, or puts it in the queue for one; the agents are locked. */
async function giveTurn<Db extends SqlSession>(
  host: TurnHost<Db>,
  db: Db,
  asked: AskedTurn,
  { turn, lacking }: {
    readonly turn: FoundTurn | undefined;
    readonly lacking: readonly LackingAgent[];
  },
): Promise<TurnAnswer> {
  const { taskId, position, project, now } = asked;
  const agents = asked.agents.map(({ name }) => name);
  const digest = asked.session === undefined ? undefined : sessionDigest(asked.session);
  const limits: readonly NotedLimit[] = [
    ...await findLimits(db, { project, agents }),
    ...lacking.map(({ agent, decisive: { does, window } }) => ({
      agent,
      until: window.endsAt,
      notedAt: now,
      fails: does === "fails",
    })),
  ];
  const own = turn?.isTurn === true ? turn : undefined;
  const decision = decideTurn({ agents, session: digest, now }, { turn: own, limits });
  const { agent } = decision;
  if (decision.is === "kept") return { is: "held", agent };
  const stays = decision.is === "queued" && decision.stays;
  const freed = stays || turn === undefined ? [] : [turn.agent];
  if (freed.length > 0) {
    await db.run("DELETE FROM turns WHERE task_id = ? AND position = ?", taskId, position);
  }
  if (decision.is === "limited") {
    await grantTurns(host, db, { project, agents: freed }, { now });
    const { until } = decision;
    const reached = lacking.find((one) => one.agent === agent)?.decisive;
    // a limit that lasts longer decides, and no room in a budget helps before
    if (reached === undefined || reached.window.endsAt < until) {
      return { is: "limited", agent, until };
    }
    const { budget, does, refused } = reached;
    if (does === "fails") return { is: "limited", agent, until, budget, fails: refused ?? "" };
    const those = asked.agents.filter(({ name }) => lacking.some((one) => one.agent === name));
    const options = those.map(({ budgets = [] }) => budgets);
    const asks = does === "asks" ? moreOf(reached) : undefined;
    await waitForBudgets(db, asked, agent, { options, asks });
    return { is: "limited", agent, until, budget, ...defined({ asks }) };
  }
  const seats = asked.agents.find(({ name }) => name === agent)?.seats ?? null;
  if (stays) {
    await db.run(
      "UPDATE turns SET seats = ? WHERE task_id = ? AND position = ?",
      seats,
      taskId,
      position,
    );
  } else {
    await db.run(
      `INSERT INTO turns (task_id, position, project, agent, session, seats, state, place)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, 'waiting', COALESCE(max(place), 0) + 1 FROM turns
       WHERE project = ?3 AND agent = ?4 AND state = 'waiting'`,
      taskId,
      position,
      project,
      agent,
      digest ?? null,
      seats,
    );
  }
  await grantTurns(host, db, { project, agents: [...freed, agent] }, asked);
  const given = await findTurn(db, asked);
  if (given?.isHeld === true) return { is: "held", agent };
  const isBusy = await db.get(
    `SELECT 1 FROM turns WHERE project = ? AND agent = ? AND session = ? AND state = 'held'`,
    project,
    agent,
    digest ?? null,
  );
  return { is: "waiting", agent, for: isBusy === undefined ? "seat" : "session" };
}

/** Ends the turn of a step, or its waiting for one; without `position`, of all steps of the task. */
export const endTurn =
  <Db extends SqlSession>(host: TurnHost<Db>) =>
  async (db: Db, taskId: string, now: number, position?: number): Promise<void> => {
    const those = position === undefined ? "task_id = ?" : "task_id = ? AND position = ?";
    const values = position === undefined ? [taskId] : [taskId, position];
    const rows = await db.all(
      `SELECT position, project, agent, run, asks FROM turns WHERE ${those}`,
      ...values,
    );
    const [row] = rows;
    if (row === undefined) return;
    const ended = { project: text(row, "project"), agents: rows.map((one) => text(one, "agent")) };
    const budgeted = rows.filter((one) => one["run"] !== null || one["asks"] !== null);
    await lockAgents(db, { ...ended, isBudgeted: budgeted.length > 0 });
    await host.checkClaim(db, taskId);
    // the window in which they count is stored, so the time does not matter
    const ledger = budgeted.length === 0
      ? undefined
      : await BudgetLedger.open(db, { project: ended.project, now: 0 });
    for (const one of budgeted) {
      const place = { taskId, position: number(one, "position") };
      await ledger?.settle(place, {}, { tells: false });
      const question = await openQuestion(host, db, place, toAsks(one));
      if (question === undefined) continue;
      await ledger?.closeQuestion(place, question.asks, question.end);
      await takeBack(db, question, question.openedAt);
    }
    await db.run(`DELETE FROM turns WHERE ${those}`, ...values);
    await grantTurns(host, db, ended, { now, taskId });
    // what it used counts now, and somebody else may have to ask for more
    await wakeSteps(host, db, await ledger?.findAskers({ taskId, position: -1 }) ?? [], {
      now,
      taskId,
    });
  };

/**
 * Notes that an agent is limited, or that it is not any more. Parked steps that wait for it may get
 * another one now; those that wait for the end of a limit may get this one.
 */
export const noteLimit =
  <Db extends SqlSession>(host: TurnHost<Db>) =>
  async (db: Db, limit: AgentLimit, now: number): Promise<void> => {
    const { project, agent, until, reason } = limit;
    await lockAgents(db, { project, agents: [agent] });
    await db.run("DELETE FROM agent_limits WHERE project = ? AND until <= ?", project, now);
    if (until <= now) {
      await db.run("DELETE FROM agent_limits WHERE project = ? AND agent = ?", project, agent);
      const timed = await db.all(
        `SELECT id FROM tasks WHERE project = ? AND state = 'waiting' AND run_at IS NOT NULL`,
        project,
      );
      return await wakeAll(host, db, timed.map((row) => text(row, "id")), now);
    }
    await db.run(
      `INSERT INTO agent_limits (project, agent, until, reason, noted_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (project, agent) DO UPDATE SET until = excluded.until, reason = excluded.reason,
         noted_at = excluded.noted_at`,
      project,
      agent,
      until,
      storable(reason),
      now,
    );
    const waiting = await db.all(
      "SELECT task_id FROM turns WHERE project = ? AND agent = ? AND state = 'waiting'",
      project,
      agent,
    );
    await wakeAll(host, db, waiting.map((row) => text(row, "task_id")), now);
  };

async function findTurn(
  db: SqlSession,
  { taskId, position }: Pick<AskedTurn, "taskId" | "position">,
): Promise<FoundTurn | undefined> {
  const row = await db.get(
    "SELECT agent, state, session, run, asks FROM turns WHERE task_id = ? AND position = ?",
    taskId,
    position,
  );
  return row && {
    agent: text(row, "agent"),
    isHeld: row["state"] === "held",
    isTurn: row["state"] === "held" || row["state"] === "waiting",
    ...(typeof row["run"] === "string" ? { run: row["run"] } : {}),
    ...defined({ asks: toAsks(row) }),
    ...(row["session"] instanceof Uint8Array ? { session: row["session"] } : {}),
  };
}

async function findLimits(db: SqlSession, { project, agents }: Agents): Promise<NotedLimit[]> {
  const rows = await db.all(
    `SELECT agent, until, noted_at FROM agent_limits
     WHERE project = ? AND agent IN (SELECT value FROM json_each(?))`,
    project,
    JSON.stringify(agents),
  );
  return rows.map(toLimit);
}

/** A limit as it is stored. */
export function toLimit(row: Row): NotedLimit {
  return {
    agent: text(row, "agent"),
    until: number(row, "until"),
    notedAt: number(row, "noted_at"),
  };
}

/**
 * The condition that the task of a turn has not ended. Its turns end before it does: what a fault
 * has left of one that has ended keeps no seat.
 */
export const IS_OPEN = `EXISTS (SELECT 1 FROM tasks WHERE tasks.id = turns.task_id
  AND tasks.${UNFINISHED})`;

/**
 * Gives the free seats and sessions of these locked agents to the steps that wait for both, and makes
 * the tasks of these ready, save the one that `taskId` names, which asks.
 */
async function grantTurns<Db extends SqlSession>(
  host: TurnHost<Db>,
  db: Db,
  { project, agents }: Agents,
  { now, taskId }: { readonly now: number; readonly taskId?: string },
): Promise<void> {
  const granted = new Set<string>();
  for (const agent of new Set(agents)) {
    await db.run(
      `DELETE FROM turns WHERE project = ? AND agent = ? AND state = 'held' AND NOT ${IS_OPEN}`,
      project,
      agent,
    );
    for (;;) {
      const next = await grantNext(db, project, agent);
      if (next === undefined) break;
      granted.add(next);
    }
  }
  if (taskId !== undefined) granted.delete(taskId);
  await wakeAll(host, db, [...granted], now);
}

async function wakeAll<Db extends SqlSession>(
  { wake }: TurnHost<Db>,
  db: Db,
  taskIds: readonly string[],
  now: number,
): Promise<void> {
  if (taskIds.length > 0) await wake(db, [...new Set(taskIds)], now);
}

/** Gives a turn to the first who can have one; the id of its task. */
async function grantNext(
  db: SqlSession,
  project: string,
  agent: string,
): Promise<string | undefined> {
  const newest = await db.get(
    `SELECT seats, (SELECT count(*) FROM turns
       WHERE project = ?1 AND agent = ?2 AND state = 'held') AS held FROM turns
     WHERE project = ?1 AND agent = ?2 AND state = 'waiting' ORDER BY place DESC LIMIT 1`,
    project,
    agent,
  );
  if (newest === undefined) return undefined;
  const seats = newest["seats"] === null ? undefined : number(newest, "seats");
  if (!hasSeat({ held: number(newest, "held"), seats })) return undefined;
  const next = await db.get(
    `SELECT task_id, position, CASE WHEN ${IS_OPEN} THEN 1 ELSE 0 END AS is_open FROM turns
     WHERE project = ? AND agent = ? AND state = 'waiting'
       AND (session IS NULL OR NOT EXISTS (SELECT 1 FROM turns AS other
         WHERE other.project = turns.project AND other.agent = turns.agent
           AND other.session = turns.session AND other.state = 'held'))
     ORDER BY place LIMIT 1`,
    project,
    agent,
  );
  if (next === undefined) return undefined;
  const [taskId, position] = [text(next, "task_id"), number(next, "position")];
  const change = next["is_open"] === 1 ? "UPDATE turns SET state = 'held'" : "DELETE FROM turns";
  await db.run(`${change} WHERE task_id = ? AND position = ?`, taskId, position);
  return taskId;
}
