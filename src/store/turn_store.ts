/**
 * The storage interface for turns of agents and their sessions.
 *
 * @module
 */

import type {
  AgentLimit,
  AgentUse,
  AskedTurn,
  Parking,
  StoredSession,
  TurnAnswer,
} from "./turn_records.ts";

/** Turns of agents. */
export interface TurnStore {
  /**
   * Gives a step its turn, or puts it in the queue for one. The agent is the first of the list that is
   * not limited. A step that holds a turn of an agent in the list keeps it, also after a crash, unless
   * that agent is limited by now. Who asked first is first.
   */
  takeTurn(asked: AskedTurn): Promise<TurnAnswer>;
  /**
   * Ends the turn of a step, or its waiting for one. The next in the queue gets it, and its task is
   * ready if it was waiting. Without `position`: of all steps of the task.
   */
  endTurn(taskId: string, now: number, position?: number): Promise<void>;
  /**
   * Gives a running task back until one of its steps can go on: it gets a turn, its wait is over, or a
   * time has come. It keeps the room that it occupies in its group, and that in its workspace unless it
   * has files of its own and waits for no turn. If a step of it can go on already, or it was cancelled
   * before its end, or nothing would ever wake it, it is ready at once.
   */
  parkTask(taskId: string, parking: Parking): Promise<void>;
  /**
   * Notes that an agent is limited. An `until` that has passed says that it is not any more: then the
   * tasks that wait for the end of a limit ask again.
   */
  noteLimit(limit: AgentLimit, now: number): Promise<void>;
  /** How busy the agents of a project are that have turns or limits. */
  listAgentUse(project: string, now: number): Promise<AgentUse[]>;
  /** Stores the agent's own id of a session; without one, the session begins anew. */
  saveSession(id: string, agentId: string | undefined): Promise<void>;
  /** Sessions by their ids. */
  findSessions(ids: readonly string[]): Promise<StoredSession[]>;
  /**
   * Removes the sessions of this node, and of nodes that are no more, that no step has used since
   * `before`, at most `limit`; returns their ids.
   */
  pruneSessions(before: number, limit: number): Promise<string[]>;
}
