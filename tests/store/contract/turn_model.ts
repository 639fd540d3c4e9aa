/**
 * What turns of agents are, without a database: lists in memory, looked through from the front.
 *
 * @module
 */

import type { TurnAnswer } from "../../../src/store/turn_records.ts";

/** What a step asks for. */
export interface Asked {
  readonly task: number;
  readonly position: number;
  readonly agents: readonly string[];
  readonly session?: string;
}

interface Turn extends Asked {
  readonly agent: string;
  isHeld: boolean;
}

/** Where a task stands. */
export interface Standing {
  state: "running" | "ready" | "parked" | "ended";
  until?: number | undefined;
  isCancelled: boolean;
}

/** Answers without the ids of sessions. */
export type PlainAnswer = TurnAnswer extends infer One
  ? One extends { readonly is: "held" } ? { readonly is: "held"; readonly agent: string } : One
  : never;

/** The turns of one project whose agents have so many seats each. */
export class TurnModel {
  readonly seats: Readonly<Record<string, number>>;
  readonly tasks = new Map<number, Standing>();
  readonly limits = new Map<string, number>();
  /** Held and waiting ones, in the order in which they were asked for. */
  turns: Turn[] = [];

  constructor(seats: Readonly<Record<string, number>>) {
    this.seats = seats;
  }

  /** Numbers of the tasks in a state. */
  in(state: Standing["state"]): number[] {
    return [...this.tasks].filter(([, task]) => task.state === state).map(([n]) => n);
  }

  claim(now: number): number[] {
    for (const task of this.tasks.values()) {
      if (task.state === "parked" && (task.until ?? Infinity) <= now) task.state = "ready";
    }
    const ready = this.in("ready").sort((a, b) => a - b);
    for (const n of ready) this.#task(n).state = "running";
    return ready;
  }

  ask(asked: Asked, now: number): PlainAnswer {
    const own = this.#own(asked);
    const untilOf = (agent: string) => this.limits.get(agent) ?? 0;
    const free = asked.agents.filter((agent) => untilOf(agent) <= now);
    const isSame = own !== undefined && own.session === asked.session;
    if (isSame && own.isHeld && free.includes(own.agent)) return { is: "held", agent: own.agent };
    const [agent] = free;
    if (agent === undefined) {
      this.#drop(own);
      const first = asked.agents.toSorted((a, b) => untilOf(a) - untilOf(b))[0] ?? "";
      return { is: "limited", agent: first, until: untilOf(first) };
    }
    if (!(isSame && !own.isHeld && own.agent === agent)) {
      if (own !== undefined) this.turns.splice(this.turns.indexOf(own), 1);
      this.turns.push({ ...asked, agent, isHeld: false });
      if (own !== undefined) this.#grant(own.agent, asked.task);
    }
    this.#grant(agent, asked.task);
    if (this.#own(asked)?.isHeld === true) return { is: "held", agent };
    const isBusy = asked.session !== undefined &&
      this.turns.some((one) => one.isHeld && one.agent === agent && one.session === asked.session);
    return { is: "waiting", agent, for: isBusy ? "session" : "seat" };
  }

  endTurns(task: number, position?: number): void {
    const ended = this.turns.filter((one) =>
      one.task === task && (position === undefined || one.position === position)
    );
    this.turns = this.turns.filter((one) => !ended.includes(one));
    for (const { agent } of ended) this.#grant(agent, task);
  }

  park(n: number, until: number | undefined, isEnding: boolean): void {
    const task = this.#task(n);
    const own = this.turns.filter((one) => one.task === n);
    const goesOn = (task.isCancelled && !isEnding) || own.some(({ isHeld }) => isHeld) ||
      (own.length === 0 && until === undefined);
    task.state = goesOn ? "ready" : "parked";
    task.until = goesOn ? undefined : until;
  }

  limit(agent: string, until: number, now: number): void {
    if (until <= now) {
      this.limits.delete(agent);
      for (const [n, task] of this.tasks) if (task.until !== undefined) this.#wake(n);
      return;
    }
    this.limits.set(agent, until);
    for (const one of this.turns) if (one.agent === agent && !one.isHeld) this.#wake(one.task);
  }

  cancel(n: number): void {
    this.#task(n).isCancelled = true;
    this.#wake(n);
  }

  finish(n: number): void {
    this.endTurns(n);
    this.#task(n).state = "ended";
  }

  /** What must never be; empty if all is well. */
  faults(): string[] {
    const held = this.turns.filter(({ isHeld }) => isHeld);
    const sessions = held.flatMap(({ agent, session }) =>
      session === undefined ? [] : `${agent}/${session}`
    );
    return [
      ...Object.entries(this.seats).filter(([agent, seats]) =>
        held.filter((one) => one.agent === agent).length > seats
      ).map(([agent]) => `too many of ${agent}`),
      ...(new Set(sessions).size < sessions.length ? ["two in one session"] : []),
      ...this.in("parked").filter((n) =>
        this.#task(n).until === undefined && !this.turns.some(({ task }) => task === n)
      ).map((n) => `nothing wakes ${n}`),
    ];
  }

  #drop(turn: Turn | undefined): void {
    if (turn === undefined) return;
    this.turns.splice(this.turns.indexOf(turn), 1);
    this.#grant(turn.agent, turn.task);
  }

  /** Gives what is free to those who wait, from the front; the one that asks is awake. */
  #grant(agent: string, asking: number): void {
    for (const turn of this.turns) {
      const held = this.turns.filter((one) => one.isHeld && one.agent === agent);
      if (turn.agent !== agent || turn.isHeld) continue;
      if (held.length >= (this.seats[agent] ?? Infinity)) return;
      const isBusy = turn.session !== undefined &&
        held.some(({ session }) => session === turn.session);
      if (isBusy) continue;
      turn.isHeld = true;
      if (turn.task !== asking) this.#wake(turn.task);
    }
  }

  #wake(n: number): void {
    const task = this.#task(n);
    if (task.state === "parked") task.state = "ready";
  }

  #own({ task, position }: Asked): Turn | undefined {
    return this.turns.find((one) => one.task === task && one.position === position);
  }

  #task(n: number): Standing {
    const task = this.tasks.get(n);
    if (task === undefined) throw new Error(`No task ${n}`);
    return task;
  }
}
