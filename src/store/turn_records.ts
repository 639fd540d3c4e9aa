/**
 * Records of the turns of agents. A step has a turn while its agent works: the seats of an agent
 * (`maxParallel`) and the users of a session are counted by them.
 *
 * @module
 */

import type { AskedBudget, AskedMore, BudgetNews } from "./budget_records.ts";
import type { StepRecord } from "./task_records.ts";

/** A step that asks for a turn. */
export interface AskedTurn {
  readonly taskId: string;
  /** Position of the step in its task. */
  readonly position: number;
  readonly project: string;
  /** The agents that may do it, the preferred one first; at least one. */
  readonly agents: readonly AskedAgent[];
  /** The key of the session that is to go on: at most 1,024 bytes. */
  readonly session?: string;
  /** Id of the run that begins with the turn, no other run has it; absent if no budget counts it. */
  readonly run?: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** An agent that may do a step. */
export interface AskedAgent {
  readonly name: string;
  /** Most turns of it at once, over all tasks of the project; any number when absent. */
  readonly seats?: number;
  /** The budgets in which a run of it has to have room; all of them, or it does not begin. */
  readonly budgets?: readonly AskedBudget[];
}

/** The answer to a step that asks for a turn, and what people are to be told of budgets. */
export type TurnAnswer = GivenTurn & { readonly news?: readonly BudgetNews[] };

type GivenTurn =
  | {
    readonly is: "held";
    /** Name of the agent. */
    readonly agent: string;
    /** Present if the step asked for a session. */
    readonly session?: AgentSession;
  }
  /** Its turn comes later: {@linkcode TurnStore.parkTask} gives the worker back until then. */
  | { readonly is: "waiting"; readonly agent: string; readonly for: "seat" | "session" }
  /** Every agent of the list is limited. */
  | {
    readonly is: "limited";
    /** The agent that is free first. */
    readonly agent: string;
    /** When, in milliseconds since the epoch. */
    readonly until: number;
    /** The budget whose window ends then; absent if the agent itself has reached a limit. */
    readonly budget?: AskedBudget;
    /** Present if the step fails for want of it: that people have not allowed more, or nothing. */
    readonly fails?: string;
    /** What the step is to ask people for. */
    readonly asks?: AskedMore;
  };

/** How a task is parked. */
export interface Parking {
  /** Records of its steps that are stored with it. */
  readonly steps: readonly StepRecord[];
  /** When it goes on by itself, in milliseconds since the epoch. */
  readonly until?: number;
  /** The steps whose waits were open when the worker last looked, by position. */
  readonly waits?: readonly number[];
  /** Whether others may run in its workspace meanwhile: its files are its own. */
  readonly hasOwnFiles?: boolean;
  /** Milliseconds for which the worker has run it. */
  readonly activeMs?: number;
  /** Whether only the steps that end it are left: then it waits also if it is cancelled. */
  readonly isEnding?: boolean;
  /** Milliseconds since the epoch: so a clock that was set back is known. */
  readonly now: number;
}

/** How a running task goes back to the queue. */
export type Requeue = Pick<Parking, "now" | "activeMs"> & Partial<Pick<Parking, "steps">>;

/** A conversation of one agent under one key. */
export interface AgentSession {
  /** Id of the session, and name of its home directory: lower-case letters, digits and `-`. */
  readonly id: string;
  /** The agent's own id of the conversation; absent before it has one. */
  readonly agentId?: string;
  /** Name of the node where it went on until now; it begins anew here, under another id. */
  readonly movedFrom?: string;
}

/** A limit that an agent has reached. */
export interface AgentLimit {
  readonly project: string;
  /** Name of the agent. */
  readonly agent: string;
  /** When it resets, in milliseconds since the epoch. */
  readonly until: number;
  /** The agent's own sentence. */
  readonly reason: string;
}

/** A session that is to be removed, or one of a list. */
export interface StoredSession extends AgentSession {
  readonly project: string;
  readonly agent: string;
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** When a step last had a turn in it, in milliseconds since the epoch. */
  readonly usedAt: number;
}

/** How busy the agents of a project are. */
export interface AgentUse {
  readonly agent: string;
  /** Turns that are held. */
  readonly held: number;
  /** Steps that wait for one. */
  readonly waiting: number;
  /** Absent if it is not limited. */
  readonly limit?: Pick<AgentLimit, "until" | "reason">;
}
