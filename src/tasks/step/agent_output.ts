/**
 * What the agent of a step prints, in one attempt: lines for the log, outputs of the step, and why the
 * agent failed. An agent whose `output` has no adapter, and a step without an agent, print to the log
 * as they are.
 *
 * @module
 */

import type { WallClock } from "../../base/clock.ts";
import { rfc3339 } from "../../base/clock.ts";
import { utf8 } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { findAdapter } from "../../agents/adapters.ts";
import type { AgentFailure, FailureKind } from "../../agents/agent_failure.ts";
import { AgentReader, isOfProgram } from "../../agents/agent_reader.ts";
import { MAX_RESULT_BYTES, type RunFacts } from "../../agents/run_facts.ts";
import type { OutputStream } from "../../shell/run_shell.ts";
import type { ReachedHost, StepRecord } from "../../store/task_records.ts";
import type { StepLog } from "../log/task_log.ts";
import type { PlannedAgent } from "../plan.ts";

/** How an attempt ended, as far as its process tells. */
export interface ProcessEnd {
  readonly state: "succeeded" | "failed";
  readonly reason: string;
  /** `error` when absent. */
  readonly failure?: FailureKind;
  /** When the limit ends that was reached, in milliseconds since the epoch, if that is known. */
  readonly resetsAt?: number;
}

/** What an agent has used, as far as it is known. */
export type AgentUsage = RunFacts["usage"];

/** Takes what an agent prints, and what svc says of it. */
export type OutputLog = Pick<StepLog, "write" | "note">;

/** Takes the output of one attempt. */
export class AgentOutput {
  readonly #log: OutputLog;
  readonly #agent: PlannedAgent | undefined;
  readonly #reader: AgentReader | undefined;
  #hasPrinted = false;

  constructor(agent: PlannedAgent | undefined, log: OutputLog, clock: WallClock) {
    this.#agent = agent;
    this.#log = log;
    const adapter = agent?.output === undefined ? undefined : findAdapter(agent.output);
    this.#reader = adapter && new AgentReader(adapter, () => clock.now());
  }

  /** Writes a chunk to the log: what an adapter reads as it is, and as lines for people. */
  async write(stream: OutputStream, chunk: Uint8Array): Promise<void> {
    this.#hasPrinted ||= stream === "out";
    if (this.#reader === undefined) return await this.#log.write(stream, chunk);
    if (stream === "err") {
      this.#reader.readErrors(chunk);
      return await this.#log.write(stream, chunk);
    }
    const lines = this.#reader.readOutput(chunk); // before any await, after which the chunk may change
    await this.#log.write("raw", chunk);
    await this.#show(lines);
  }

  /** Writes what waits for a line break; to be called when the process has ended. */
  async end(): Promise<void> {
    if (this.#reader === undefined) return;
    await this.#show(this.#reader.end());
    if (!this.#reader.facts.isResultCut) return;
    await this.#log.note(
      `the result of the agent is cut, an output holds ${MAX_RESULT_BYTES} bytes`,
    );
  }

  /** What the agent said about its run, and its name. */
  get outputs(): Readonly<Record<string, string>> {
    if (this.#agent === undefined) return {};
    return { agent: this.#agent.name, ...this.#reader?.facts.outputs };
  }

  /** What the agent says that it has used: an output can be written by anybody, this cannot. */
  get usage(): AgentUsage {
    return this.#reader?.facts.usage ?? {};
  }

  /** The agent's own id of its session, once it has told it. */
  get sessionId(): string | undefined {
    return this.#reader?.facts.sessionId;
  }

  /** Whether the agent's model has answered anything; `undefined` if nobody reads what it prints. */
  get hasAnswered(): boolean | undefined {
    return this.#reader?.facts.hasWorked;
  }

  /**
   * Whether an agent that was to go on with a session, and failed by itself, did not find it; to be asked
   * after its end. An agent whose events nobody reads has then printed nothing but errors.
   */
  hasLostSession(exitCode: number): boolean {
    return this.#reader?.hasLostSession(exitCode) ?? (!this.#hasPrinted && isOfProgram(exitCode));
  }

  /** How the attempt ended, with what the agent said of it. */
  judge(end: ProcessEnd, exitCode: number): ProcessEnd {
    const facts = this.#reader?.facts;
    if (end.state === "succeeded") {
      return facts?.failure === undefined ? end : {
        state: "failed",
        reason: reasonOf(facts.failure, "it reported an error"),
        ...kindOf(facts.failure),
      };
    }
    const told = this.#reader?.failure(exitCode);
    if (end.failure === "timeout") { // some retry until they are stopped
      return told === undefined || told.kind === "error" ? end : {
        ...end,
        reason: `${reasonOf(told, "")} (${end.reason})`,
        ...kindOf(told),
      };
    }
    return told === undefined
      ? end
      : { ...end, reason: reasonOf(told, end.reason), ...kindOf(told) };
  }

  async #show(lines: string): Promise<void> {
    if (lines !== "") await this.#log.write("out", utf8(lines));
  }
}

/**
 * The outputs of a step, with the tokens that the API of its agent counted where the agent tells of
 * none. That API is known to have answered to the end only when the sandbox is gone.
 */
export function withTokens(
  outputs: StepRecord["outputs"],
  agent: PlannedAgent | undefined,
  network: readonly ReachedHost[] = [],
): StepRecord["outputs"] {
  const counted = countedTokens(network);
  if (agent === undefined || counted === undefined) return outputs;
  const { sent, received } = counted;
  return { tokens_in: String(sent), tokens_out: String(received), ...outputs };
}

/** What an agent has used: the tokens that its API counted, where svc has seen it, else its own word. */
export function usedBy(said: AgentUsage, network: readonly ReachedHost[] = []): AgentUsage {
  const counted = countedTokens(network);
  return counted === undefined ? said : { ...said, tokens: counted.sent + counted.received };
}

/** The tokens that APIs counted; `undefined` if none did. */
function countedTokens(
  network: readonly ReachedHost[],
): { readonly sent: number; readonly received: number } | undefined {
  const counted = network.filter(({ tokensIn, tokensOut }) =>
    (tokensIn ?? tokensOut) !== undefined
  );
  if (counted.length === 0) return undefined;
  const sum = (key: "tokensIn" | "tokensOut") =>
    counted.reduce((sum, one) => sum + (one[key] ?? 0), 0);
  return { sent: sum("tokensIn"), received: sum("tokensOut") };
}

const HEADS: Readonly<Record<FailureKind, string>> = {
  limit: "the agent reached its limit",
  auth: "the agent is not logged in",
  budget: "the agent reached its budget",
  timeout: "the agent timed out",
  error: "the agent failed",
};

function kindOf({ kind, resetsAt }: AgentFailure): Pick<ProcessEnd, "failure" | "resetsAt"> {
  return { failure: kind, ...defined({ resetsAt }) };
}

/** Why the step failed: the kind of failure and the agent's sentence, or else `otherwise`. */
function reasonOf({ kind, message, resetsAt }: AgentFailure, otherwise: string): string {
  const said = message === "" ? otherwise : message;
  const reset = resetsAt === undefined ? "" : ` (until ${rfc3339(resetsAt)})`;
  return `${HEADS[kind]}${said === "" ? "" : `: ${said}`}${reset}`;
}
