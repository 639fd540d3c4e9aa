/**
 * Turns of agents: which agent a step gets, and whether the next step in a queue gets its turn. A
 * step that asks for a turn of an agent holds a seat of it (`maxParallel`) and its session, or waits
 * until both are free. Who asked first is first, save that nobody waits behind a busy session of
 * another.
 *
 * @module
 */

import { equalBytes } from "../../base/bytes.ts";
import { whatIsDue } from "./readiness.ts";

/** The turn of a step, as it is stored. */
export interface StoredTurn {
  /** Name of the agent. */
  readonly agent: string;
  readonly isHeld: boolean;
  /** Digest of the key of its session. */
  readonly session?: Uint8Array;
}

/** A limit that was noted of an agent. */
export interface NotedLimit {
  readonly agent: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** When it was noted, in milliseconds since the epoch. */
  readonly notedAt: number;
  /** Whether a step fails in the place of waiting for its end. */
  readonly fails?: boolean;
}

/** What a step that asks for a turn gets. */
export type TurnDecision =
  /** The turn that it holds. */
  | { readonly is: "kept"; readonly agent: string }
  /** A place in the queue of an agent: the one that it has there (`stays`), or the last one. */
  | { readonly is: "queued"; readonly agent: string; readonly stays: boolean }
  /** None before `until`, because every agent is limited. */
  | { readonly is: "limited"; readonly agent: string; readonly until: number };

/** Decides for one of `agents`, the preferred one first, given the turn that the step has. */
export function decideTurn(
  { agents, session, now }: {
    readonly agents: readonly string[];
    readonly session?: Uint8Array | undefined;
    readonly now: number;
  },
  { turn, limits }: {
    readonly turn?: StoredTurn | undefined;
    readonly limits: readonly NotedLimit[];
  },
): TurnDecision {
  const limited = Map.groupBy(
    limits.filter((limit) => isInForce(limit, now)),
    ({ agent }) => agent,
  );
  const free = agents.filter((agent) => !limited.has(agent));
  const own = turn !== undefined && sameSession(turn.session, session) ? turn : undefined;
  if (own?.isHeld === true && free.includes(own.agent)) return { is: "kept", agent: own.agent };
  const [agent] = free;
  if (agent !== undefined) {
    return { is: "queued", agent, stays: own?.isHeld === false && own.agent === agent };
  }
  const [first] = agents.map((name) => {
    const those = limited.get(name) ?? [];
    return {
      agent: name,
      until: Math.max(now, ...those.map(({ until }) => until)),
      fails: those.some(({ fails }) => fails === true),
    };
  }).sort((a, b) => Number(a.fails) - Number(b.fails) || a.until - b.until);
  if (first === undefined) throw new Error("A step asks for a turn of no agent");
  return { is: "limited", agent: first.agent, until: first.until };
}

function sameSession(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}

/**
 * Whether an agent is still limited. A limit that was noted in a future that no longer is one, because
 * the clock was set back, is not: its end is a time of that clock.
 */
export function isInForce({ until, notedAt }: Omit<NotedLimit, "agent">, now: number): boolean {
  return until > now && notedAt <= whatIsDue(now).createdAfter;
}

/** Whether a seat is free; the number of seats is what the step that asked last was given. */
export function hasSeat({ held, seats }: { held: number; seats: number | undefined }): boolean {
  return seats === undefined || held < seats;
}
