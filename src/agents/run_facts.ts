/**
 * Collects what an agent says about its run. Every value passes here: whatever the agent prints, the
 * facts are bounded and have the type that they are said to have.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { type AgentFailure, type FailureKind, failureOf } from "./agent_failure.ts";

/** Longest result that is kept, in UTF-8 bytes: about as many as an environment variable can hold. */
export const MAX_RESULT_BYTES = 128 * 1024;

/** An id that can be an argument of a command line: no flag, no path. */
const SESSION_ID = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

/** Collects the facts of one run. */
export class RunFacts {
  readonly #now: () => number;
  #result: { readonly text: string; readonly isCut: boolean } | undefined;
  #sessionId: string | undefined;
  #tokensIn: number | undefined;
  #tokensOut: number | undefined;
  #costUsd: number | undefined;
  #failure: AgentFailure | undefined;
  /** A failure that the agent may recover from: it counts only if the run fails. */
  #trouble: AgentFailure | undefined;
  /** What a line that is no event seems to say. */
  #hint: AgentFailure | undefined;

  /** `now` in milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The agent's last answer. */
  get result(): string | undefined {
    return this.#result?.text;
  }

  /** Whether the answer was longer than what is kept of it. */
  get isResultCut(): boolean {
    return this.#result?.isCut === true;
  }

  /** Whether the agent's model has answered anything. */
  get hasWorked(): boolean {
    return (this.#tokensOut ?? 0) > 0 ||
      (this.#failure === undefined && this.#result !== undefined);
  }

  /** The session in which the run can be continued. */
  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /** The failure that the agent reported as the end of its run. */
  get failure(): AgentFailure | undefined {
    return this.#failure;
  }

  /** Why the run failed, if it did. */
  get likelyFailure(): AgentFailure | undefined {
    return this.#failure ?? this.#trouble ?? this.#hint;
  }

  /** What the run has used, as far as the agent tells. */
  get usage(): { readonly tokens?: number; readonly costUsd?: number } {
    const isKnown = (this.#tokensIn ?? this.#tokensOut) !== undefined;
    const tokens = isKnown ? (this.#tokensIn ?? 0) + (this.#tokensOut ?? 0) : undefined;
    return defined({ tokens, costUsd: this.#costUsd });
  }

  /** The facts as outputs of the step. */
  get outputs(): Readonly<Record<string, string>> {
    const facts: readonly (readonly [string, string | number | undefined])[] = [
      ["result", this.result],
      ["session_id", this.#sessionId],
      ["tokens_in", this.#tokensIn],
      ["tokens_out", this.#tokensOut],
      ["cost_usd", this.#costUsd],
    ];
    return Object.fromEntries(
      facts.flatMap(([key, value]) => value === undefined ? [] : [[key, String(value)]]),
    );
  }

  setResult(text: string): void {
    this.#result = cutResult(text);
  }

  /** The last id that can be one counts. */
  setSession(id: unknown): void {
    if (typeof id === "string" && SESSION_ID.test(id)) this.#sessionId = id;
  }

  /** Sets the tokens of the whole run, as far as they are known. */
  setTokens(sent: number | undefined, received: number | undefined): void {
    this.#tokensIn = sent ?? this.#tokensIn;
    this.#tokensOut = received ?? this.#tokensOut;
  }

  /** Adds the tokens of a part of the run. */
  addTokens(sent: number | undefined, received: number | undefined): void {
    this.setTokens(added(this.#tokensIn, sent), added(this.#tokensOut, received));
  }

  setCost(usd: unknown): void {
    if (isCost(usd)) this.#costUsd = rounded(usd);
  }

  addCost(usd: unknown): void {
    if (isCost(usd)) this.setCost((this.#costUsd ?? 0) + usd);
  }

  /** The run has failed, whatever the exit code. The last report counts. */
  fail(sentence: string, more: FailureFacts = {}): void {
    this.#failure = this.#toFailure(sentence, more);
  }

  /** Something failed, after which the run may go on. A limit or a login that failed says the most. */
  meet(sentence: string, more: FailureFacts = {}): void {
    const met = this.#toFailure(sentence, more);
    if (this.#trouble === undefined || this.#trouble.kind === "error" || met.kind !== "error") {
      this.#trouble = met;
    }
  }

  /** The API answers again: what failed before is not why the run fails, if it does. */
  recover(): void {
    this.#trouble = this.#hint = undefined;
  }

  /**
   * Takes a line that is no event, such as one of standard error, for what it may say of a failure. Of
   * several lines about one failure, the first says the most.
   */
  hint(line: string): void {
    const hint = failureOf(line, { now: this.#now() });
    if (hint.kind !== "error" && hint.kind !== this.#hint?.kind) this.#hint = hint;
  }

  /** A sentence, and what the agent said before if that says more. */
  #toFailure(sentence: string, more: FailureFacts): AgentFailure {
    const failure = failureOf(sentence, { ...more, now: this.#now() });
    const before = this.#trouble;
    if (before === undefined || before.kind === "error") return failure;
    if (failure.kind === "error" && more.kind === undefined) {
      return { ...before, message: failure.message === "" ? before.message : failure.message };
    }
    if (failure.kind !== before.kind || before.resetsAt === undefined) return failure;
    return { resetsAt: before.resetsAt, ...failure };
  }
}

/** What else an agent says about a failure. */
interface FailureFacts {
  readonly kind?: FailureKind | undefined;
  /** HTTP status of the API's answer. */
  readonly status?: unknown;
  /** Milliseconds since the epoch. */
  readonly resetsAt?: number | undefined;
}

/** The longest beginning of a result that is kept, cut between two characters. */
function cutResult(text: string): { readonly text: string; readonly isCut: boolean } {
  if (text.length * 3 <= MAX_RESULT_BYTES) return { text, isCut: false };
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_RESULT_BYTES));
  return { text: text.slice(0, read), isCut: read < text.length };
}

function added(before: number | undefined, more: number | undefined): number | undefined {
  if (more === undefined) return undefined;
  const sum = (before ?? 0) + more;
  return Number.isSafeInteger(sum) ? sum : before;
}

function isCost(usd: unknown): usd is number {
  return typeof usd === "number" && usd >= 0 && usd < 1e9;
}

/** An amount whose text has no exponent. */
function rounded(usd: number): number {
  return Math.round(usd * 1e6) / 1e6;
}
