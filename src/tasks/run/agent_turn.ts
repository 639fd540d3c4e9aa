/**
 * One attempt at a step by its agents: asks for a turn, runs the agent that gets it, and lets the next
 * one take over where it cannot go on. A step whose turn comes later, or all of whose agents are limited,
 * waits: its task gives its worker back meanwhile.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { findDurationSecs } from "../../base/duration.ts";
import { AppError, findNotNow } from "../../base/errors.ts";
import type { AskedBudget } from "../../store/budget_records.ts";
import type { AgentSession, TurnAnswer } from "../../store/turn_records.ts";
import { agentsOf, type PlannedAgent, withAgent } from "../plan.ts";
import { limitOf } from "../time_limits.ts";
import { RunningSession, sessionKey } from "./agent_session.ts";
import { askForMore } from "./ask_for_more.ts";
import { type Attempt, type AttemptResult, attemptStep } from "./attempt_step.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { budgetName, budgetsFor, maxUsd, settle, tell } from "./run_budget.ts";
import { refusal, retryInRun, type TaskContext } from "./task_context.ts";
import type { Waiting } from "./waiting.ts";

/** When this attempt began, and whether an earlier one was cut off. */
export interface Beginning {
  /**
   * Milliseconds since the epoch when the step began, its earlier attempts and waits included; if it has
   * never run, when it could have.
   */
  readonly since: number;
  readonly wasCut: boolean;
}

/** How long an agent is taken to be limited that does not say when its limit resets. */
const UNKNOWN_LIMIT_MS = 300_000;

/** An API that says "at once" is not asked at once for ever. */
const LEAST_LIMIT_MS = 15_000;

/** The exit code of a shell that did not find the program. */
const NOT_FOUND = 127;

/** Makes an attempt at a step with an agent. */
export async function attemptByAgents(
  positioned: PositionedStep,
  attempt: Omit<Attempt, "work">,
  beginning: Beginning,
): Promise<AttemptResult | Waiting> {
  const { context, log } = attempt;
  const { step } = positioned;
  const key = await sessionKey(step, context).catch(refusal);
  if (key instanceof AppError) return { state: "failed", reason: key.message, isHopeless: true };
  let agents = agentsOf(step);
  let before: { readonly agent: string; readonly result: AttemptResult } | undefined;
  let { wasCut } = beginning;
  let runs = 0;
  const nextRun = () => runs++;
  for (let turn = 0;; turn++) {
    const run = runId(positioned, attempt, turn);
    const answer = await askForTurn(positioned, context, { agents, run, ...defined({ key }) });
    if (answer.is !== "held") {
      if (answer.is === "waiting") return { state: "waiting", reason: reasonOf(answer) };
      const why = whyNotWait(answer, positioned, context, beginning);
      if (why === undefined) {
        const asked = await askPeople(answer, positioned, context);
        if (asked === "answered") continue;
        return asked ?? { state: "waiting", reason: reasonOf(answer), until: answer.until };
      }
      await endTurn(positioned, context);
      if (before !== undefined) return stored(before.result);
      return answer.budget === undefined
        ? { state: "failed", reason: why, failure: "limit" }
        : { state: "failed", reason: why, failure: "budget", isHopeless: true };
    }
    const agent = agents.find(({ name }) => name === answer.agent);
    if (agent === undefined) throw new Error(`A turn of "${answer.agent}" was not asked for`);
    if (before !== undefined) {
      await log.note(
        `agent "${agent.name}" takes over from "${before.agent}": ${before.result.reason}`,
      );
    }
    const budgets = answer.budgets;
    let hasBegun = false;
    const noted = {
      ...attempt,
      onStart(group: number) {
        hasBegun = true;
        attempt.onStart(group);
      },
      onNotStarted: () => void (hasBegun = false),
    };
    const result = await runAgent(positioned, noted, {
      agent,
      session: answer.session,
      maxUsd: maxUsd(budgets),
      opening: before?.result.hasWorked === true ? takesOver(before.agent) : "",
      wasCut,
      nextRun,
    }).catch(async (error) => {
      // The machine is short of something, and the task is given back, maybe again and again.
      if (findNotNow(error) !== undefined) {
        const used = hasBegun ? { usage: {} } : {};
        await settle({ run, budgets }, positioned, used, { context, log });
      }
      throw error;
    });
    await settle({ run, budgets }, positioned, result, { context, log });
    if (result.state === "pending") return stored(result); // the step keeps its turn until it runs again
    const failed = result.state === "failed" ? result : undefined;
    if (failed?.limit !== undefined) await noteLimit(agent, failed, context);
    else agents = agents.filter((one) => one !== agent);
    if (failed === undefined || !canOthersHelp(failed) || agents.length === 0) {
      await endTurn(positioned, context);
      return stored(result);
    }
    before = { agent: agent.name, result: failed };
    wasCut = false;
  }
}

/** Whether another agent, or the same one later, may succeed where this one failed. */
function canOthersHelp({ failure, exitCode }: AttemptResult): boolean {
  return failure === "limit" || failure === "auth" || exitCode === NOT_FOUND;
}

/** A result without what only this file uses. */
function stored(
  { limit: _limit, hasWorked: _worked, hasLostSession: _lost, usage: _usage, ...result }:
    AttemptResult,
): AttemptResult {
  return result;
}

/** Runs an agent that has its turn, once more where it has lost the conversation that it was to go on with. */
async function runAgent(
  positioned: PositionedStep,
  attempt: Omit<Attempt, "work">,
  { agent, session: stored, maxUsd, opening, wasCut, nextRun }: {
    readonly agent: PlannedAgent;
    readonly session: AgentSession | undefined;
    /** What the run may cost at most, in dollars. */
    readonly maxUsd: number | undefined;
    /** What the prompt begins with. */
    readonly opening: string;
    /** Whether an earlier run of the agent for this step was cut off. */
    readonly wasCut: boolean;
    readonly nextRun: () => number;
  },
): Promise<AttemptResult> {
  const { context, log } = attempt;
  const chosen = { ...positioned, step: withAgent(positioned.step, agent.name) };
  const bound = defined({ maxUsd });
  if (stored === undefined) {
    return await attemptStep(chosen, { ...attempt, work: { run: nextRun(), opening, ...bound } });
  }
  if (stored.movedFrom !== undefined) {
    await log.note(`its session is on node "${stored.movedFrom}": it begins anew here`);
  }
  const session = await RunningSession.of(stored, agent, context);
  const first = await attemptStep(chosen, {
    ...attempt,
    work: {
      run: nextRun(),
      session,
      opening: opening === "" && wasCut && session.isResumed ? CUT_OFF : opening,
      ...bound,
    },
  });
  if (first.hasLostSession !== true) return first;
  await log.note(`the agent could not go on with its session, which begins anew: ${first.reason}`);
  const anew = await RunningSession.of(await session.forget(), agent, context);
  return await attemptStep(chosen, {
    ...attempt,
    work: { run: nextRun(), session: anew, opening, ...bound },
  });
}

const CUT_OFF = "You were cut off while you worked on what follows. Go on where you were.\n\n";

const takesOver = (agent: string) =>
  `Another agent, ${agent}, began what follows, and could not go on. Look at what is there already, ` +
  "and go on from that.\n\n";

/** Why a step does not wait until one of its agents is free again; `undefined` if it does. */
function whyNotWait(
  { agent, until, budget, fails }: Extract<TurnAnswer, { is: "limited" }>,
  { step, isFinally = false }: PositionedStep,
  { plan, host: { timeLimits } }: TaskContext,
  { since }: Beginning,
): string | undefined {
  const refused = fails === undefined || fails === "" ? "" : `, and ${fails}`;
  const limited = budget === undefined
    ? `Agent "${agent}" has reached its limit, which resets at ${rfc3339(until)}`
    : `Agent "${agent}" has reached ${budgetName(budget)}, which resets at ${
      rfc3339(until)
    }${refused}`;
  if (budget === undefined ? step.onLimit === "fail" : fails !== undefined) return limited;
  if (isFinally) return `${limited}, and a step under "finally" does not wait`;
  if (budget !== undefined) return undefined; // a window lasts longer than any step
  const limit = limitOf(step, { isFinally, plan, limits: timeLimits });
  const secs = limit === undefined ? undefined : findDurationSecs(limit.time);
  if (limit === undefined || secs === undefined || until < since + secs * 1000) return undefined;
  return `${limited}, later than ${limit.whose} allows`;
}

/** Asks people for more of a budget; `undefined` for a step that asks nobody. */
async function askPeople(
  { budget, until, asks }: Extract<TurnAnswer, { is: "limited" }>,
  positioned: PositionedStep,
  context: TaskContext,
): Promise<AttemptResult | Waiting | "answered" | undefined> {
  if (budget === undefined || asks === undefined) return undefined;
  const asked = await askForMore(positioned, { budget, until, asks }, context).catch(refusal);
  if (asked !== "cancelled" && !(asked instanceof AppError)) return asked;
  await endTurn(positioned, context);
  if (asked === "cancelled") return { state: "cancelled", reason: "cancelled" };
  return { state: "failed", reason: asked.message, failure: "budget", isHopeless: true };
}

/** What a waiting step waits for. */
function reasonOf(answer: Exclude<TurnAnswer, { is: "held" }>): string {
  const agent = `Agent "${answer.agent}"`;
  if (answer.is === "limited") {
    const { budget } = answer;
    const what = budget === undefined ? `the limit of ${agent}` : budgetName(budget);
    const more = budget?.asks === undefined ? "" : ", or for more to be allowed";
    return `waits until ${rfc3339(answer.until)}, when ${what} resets${more}`;
  }
  return answer.for === "seat"
    ? `waits for a turn of ${agent}`
    : `waits for its session of ${agent}, which another step uses`;
}

/** The answer to a step, with the budgets of the run that begins. */
type Answer =
  | Extract<TurnAnswer, { is: "held" }> & { readonly budgets: readonly AskedBudget[] }
  | Exclude<TurnAnswer, { is: "held" }>;

async function askForTurn(
  { position, isFinally }: PositionedStep,
  context: TaskContext,
  { agents, key, run }: {
    readonly agents: readonly PlannedAgent[];
    readonly key?: string;
    readonly run: string;
  },
): Promise<Answer> {
  const { host: { store, clock }, claimed: { task } } = context;
  const budgets = new Map(agents.map(({ name }) => [
    name,
    // what ends a task does not wait, so it asks nobody either
    budgetsFor(name, context).map(({ asks, ...one }) =>
      isFinally === true ? one : { ...one, ...defined({ asks }) }
    ),
  ]));
  const isBudgeted = [...budgets.values()].some((each) => each.length > 0);
  const asked = {
    taskId: task.id,
    position,
    project: task.project,
    agents: agents.map(({ name, seats }) => ({
      name,
      ...defined({ seats, budgets: isBudgeted ? budgets.get(name) : undefined }),
    })),
    ...defined({ session: key, run: isBudgeted ? run : undefined }),
  };
  const answer = await retryInRun(context, () => store.takeTurn({ ...asked, now: clock.now() }));
  tell(answer.news ?? [], context);
  return answer.is === "held" ? { ...answer, budgets: budgets.get(answer.agent) ?? [] } : answer;
}

/** The id of the run that begins with a turn: no other run has it, on this node or another. */
function runId(
  { position }: PositionedStep,
  { context, number }: Omit<Attempt, "work">,
  turn: number,
): string {
  const { round = 1 } = context.steps.records[position] ?? {};
  return `${context.mark}.${position}.${round}.${number}.${turn}`;
}

async function endTurn({ position }: PositionedStep, context: TaskContext): Promise<void> {
  const { host: { store, clock }, claimed: { task } } = context;
  await retryInRun(context, () => store.endTurn(task.id, clock.now(), position));
}

async function noteLimit(
  { name: agent }: PlannedAgent,
  { reason, limit }: AttemptResult,
  context: TaskContext,
): Promise<void> {
  const { host: { store, clock, secrets }, claimed: { task: { project } } } = context;
  const now = clock.now();
  const until = Math.max(limit?.resetsAt ?? now + UNKNOWN_LIMIT_MS, now + LEAST_LIMIT_MS);
  const noted = { project, agent, until, reason: secrets.redact(reason) };
  await retryInRun(context, () => store.noteLimit(noted, now));
}
