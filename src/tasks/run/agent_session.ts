/**
 * The session in which an agent works, for one attempt: the options that begin it or go on with it, and
 * the agent's own id of it, which is stored as soon as it is known.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { utf8 } from "../../base/bytes.ts";
import { compileExpression } from "../../cel/expression.ts";
import { textOf } from "../../cel/template.ts";
import { SESSION_ID } from "../../resources/agent.ts";
import type { AgentSession } from "../../store/turn_records.ts";
import type { PlannedAgent, PlannedStep } from "../plan.ts";
import { retryInRun, type TaskContext } from "./task_context.ts";

/** Longest key of a session, in bytes. */
const MAX_KEY_BYTES = 1024;

/**
 * The key of the session of a step; `undefined` for a step without one.
 *
 * @throws {AppError} `invalid` when its expression has no usable value.
 */
export async function sessionKey(
  { session }: Pick<PlannedStep, "session">,
  { evaluator, scope }: Pick<TaskContext, "evaluator" | "scope">,
): Promise<string | undefined> {
  if (session === undefined) return undefined;
  const fail = (why: string) => new AppError("invalid", `The key of its session ${why}`);
  const result = await evaluator.evaluate(compileExpression(session.key), scope);
  if (!result.ok) throw fail(`cannot be evaluated: ${result.error}`);
  const key = textOf(result.value).toWellFormed();
  if (key === "") throw fail("is empty: events with the same key share a conversation");
  if (utf8(key).length > MAX_KEY_BYTES) throw fail(`has more than ${MAX_KEY_BYTES} bytes`);
  return key;
}

/** The session of an attempt. */
export class RunningSession {
  /** Id of the session, and name of its home. */
  readonly id: string;
  /** Whether the agent is to go on with a conversation that it has. */
  readonly isResumed: boolean;
  /** Variables of the step. */
  readonly variables: Readonly<Record<string, string>>;
  readonly #context: TaskContext;
  #agentId: string | undefined;
  #hasHeard = false;

  private constructor(
    { id, agentId }: AgentSession,
    variables: Readonly<Record<string, string>>,
    { isResumed, context }: { readonly isResumed: boolean; readonly context: TaskContext },
  ) {
    this.id = id;
    this.isResumed = isResumed;
    this.variables = variables;
    this.#agentId = agentId;
    this.#context = context;
  }

  /**
   * The session as an agent uses it. An id that svc makes is stored before the agent starts: it takes
   * one only once.
   */
  static async of(
    stored: AgentSession,
    { resume }: PlannedAgent,
    context: TaskContext,
  ): Promise<RunningSession> {
    const isResumed = stored.agentId !== undefined && resume !== undefined;
    const options = (isResumed ? resume.again : resume?.new) ?? "";
    const makesId = !isResumed && options.includes(SESSION_ID);
    const agentId = makesId ? crypto.randomUUID() : stored.agentId;
    const variables: Record<string, string> = {
      SVC_SESSION: agentId ?? "",
      SVC_SESSION_FLAGS: options.replaceAll(SESSION_ID, agentId ?? ""),
    };
    const session = new RunningSession(stored, variables, { isResumed, context });
    if (makesId) {
      session.#agentId = agentId;
      await session.#save(agentId);
    }
    return session;
  }

  /**
   * Takes the id that the agent gives the session. Of those that it gives while it works only the first
   * is stored, so that it cannot have one stored for each line that it prints; the last one counts at
   * its end.
   */
  async hear(agentId: string | undefined, { isEnd = false } = {}): Promise<void> {
    if (agentId === undefined || agentId === this.#agentId || (this.#hasHeard && !isEnd)) return;
    this.#hasHeard = true;
    this.#agentId = agentId;
    await this.#save(agentId);
  }

  /** Forgets the agent's id, as it has lost the conversation: the next attempt begins it anew. */
  async forget(): Promise<AgentSession> {
    await this.#save(undefined);
    return { id: this.id };
  }

  async #save(agentId: string | undefined): Promise<void> {
    const { store } = this.#context.host;
    await retryInRun(this.#context, () => store.saveSession(this.id, agentId));
  }
}
