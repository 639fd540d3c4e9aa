/**
 * Random histories of turns over each store, beside a small model: the same answers, the same tasks
 * ready, whatever is asked, ended, parked, limited, cancelled or cut off.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  notStrictEqual,
  strictEqual as equal,
} from "node:assert/strict";
import { defined } from "../../../src/base/defined.ts";
import type { Store } from "../../../src/store/store.ts";
import { times } from "../../helpers/program.ts";
import { Random } from "../../helpers/random.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { park } from "./agent_tasks.ts";
import { numberOf, range } from "./each_store.ts";
import { IMPLEMENTATIONS, type TestedStore } from "./implementations.ts";
import { claimAt, SEC, T0 } from "./timed_tasks.ts";
import { type Asked, TurnModel } from "./turn_model.ts";

const SEEDS = times(4, 2);
const STEPS = 150;
const SEATS = { claude: 1, codex: 2, gemini: 3 };
const AGENTS = Object.keys(SEATS) as readonly (keyof typeof SEATS)[];

for (const { name, test, open } of IMPLEMENTATIONS) {
  test(`${name}: turns are given as the model gives them${SEEDS.inName}`, async () => {
    for (const seed of range(1, SEEDS.count + 1)) {
      await using tested = await open();
      await new History(tested, seed).run();
    }
  });
}

class History {
  readonly #tested: TestedStore;
  readonly #random: Random;
  readonly #model = new TurnModel(SEATS);
  /** The session of each agent and key. */
  readonly #sessions = new Map<string, string>();
  readonly #log: string[] = [];
  #now = T0;
  #made = 0;

  constructor(tested: TestedStore, seed: number) {
    this.#tested = tested;
    this.#random = new Random(seed);
    this.#log.push(`seed ${seed}`);
  }

  get #store(): Store {
    return this.#tested.store;
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      this.#now += this.#random.below(2 * SEC);
      await this.#step();
      deepEqual(this.#model.faults(), [], this.#story());
      await this.#compare();
    }
    await this.#toTheEnd();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const running = this.#model.in("running");
    if (running.length === 0 || random.once(6)) return await this.#claim();
    const task = random.pick(running);
    await random.pick<() => Promise<void>>([
      () => this.#ask(task),
      () => this.#ask(task),
      () => this.#ask(task),
      () => this.#end(task),
      () => this.#park(task),
      () => this.#park(task),
      () => this.#limit(),
      () => this.#cancel(),
      () => this.#finish(task),
      () => random.once(3) ? this.#crash() : this.#add(),
    ])();
  }

  async #add(): Promise<void> {
    const n = ++this.#made;
    this.#log.push(`add ${n}`);
    await accept(this.#store, n, { receivedAt: this.#now });
    this.#model.tasks.set(n, { state: "ready", isCancelled: false });
  }

  async #claim(): Promise<void> {
    if (this.#made < 12) { for (const _ of range(0, 3)) await this.#add(); }
    this.#log.push(`claim at ${this.#now}`);
    const { tasks, nextAt } = await claimAt(this.#store, this.#now);
    deepEqual(tasks, this.#model.claim(this.#now), this.#story());
    const times = this.#model.in("parked").flatMap((n) => this.#model.tasks.get(n)?.until ?? []);
    equal(nextAt, times.length === 0 ? undefined : Math.min(...times), this.#story());
  }

  async #ask(task: number): Promise<void> {
    const random = this.#random;
    const asked: Asked = {
      task,
      position: random.below(2),
      agents: AGENTS.filter(() => random.once(2)),
      ...random.maybe(2, "session", () => random.pick(["a", "b"])),
    };
    if (asked.agents.length === 0) return;
    this.#log.push(`ask ${JSON.stringify(asked)} at ${this.#now}`);
    const answer = await this.#store.takeTurn({
      ...asked,
      taskId: taskIdOf(task),
      project: "default",
      agents: asked.agents.map((name) => ({ name, seats: SEATS[name as keyof typeof SEATS] })),
      now: this.#now,
    });
    const { session, ...plain } = answer.is === "held" ? answer : { ...answer, session: undefined };
    deepEqual({ ...plain }, this.#model.ask(asked, this.#now), this.#story());
    if (answer.is !== "held") return;
    equal(session === undefined, asked.session === undefined, this.#story());
    if (session === undefined) return;
    const key = `${answer.agent}/${asked.session}`;
    const known = this.#sessions.get(key);
    if (known === undefined) {
      for (const other of this.#sessions.values()) notStrictEqual(other, session.id);
      this.#sessions.set(key, session.id);
      await this.#store.saveSession(session.id, `of ${key}`);
    } else deepEqual(session, { id: known, agentId: `of ${key}` }, this.#story());
  }

  async #end(task: number): Promise<void> {
    const position = this.#random.once(4) ? undefined : this.#random.below(2);
    this.#log.push(`end turn ${task}/${position}`);
    await this.#store.endTurn(taskIdOf(task), 5, position);
    this.#model.endTurns(task, position);
  }

  async #park(task: number): Promise<void> {
    const until = this.#random.once(2) ? undefined : this.#now + this.#random.below(20 * SEC);
    const isEnding = this.#random.once(4);
    this.#log.push(`park ${task} until ${until}${isEnding ? ", ending" : ""}`);
    await park(this.#store, task, until, this.#now, isEnding);
    this.#model.park(task, until, isEnding);
  }

  async #limit(): Promise<void> {
    const agent = this.#random.pick(AGENTS);
    const until = this.#now + this.#random.between(-SEC, 10 * SEC);
    this.#log.push(`limit ${agent} until ${until} at ${this.#now}`);
    const limit = { project: "default", agent, until, reason: "weekly limit" };
    await this.#store.noteLimit(limit, this.#now);
    this.#model.limit(agent, until, this.#now);
  }

  async #cancel(): Promise<void> {
    const open = [...this.#model.in("parked"), ...this.#model.in("running")];
    const task = this.#random.pick(open);
    this.#log.push(`cancel ${task}`);
    const result = await this.#store.cancelTask(taskIdOf(task), { reason: "r", now: this.#now });
    equal(result, "stopping");
    this.#model.cancel(task);
  }

  async #finish(task: number): Promise<void> {
    this.#log.push(`finish ${task}`);
    await this.#store.endTurn(taskIdOf(task), 5);
    const end = { state: "succeeded", reason: "", now: this.#now } as const;
    equal(await this.#store.finishTask({ taskId: taskIdOf(task), ...end }), true);
    this.#model.finish(task);
  }

  /** The daemon dies, and goes on with what it ran. */
  async #crash(): Promise<void> {
    this.#log.push("crash");
    await this.#tested.restart();
    const taken = await this.#store.claimInterrupted();
    const numbers = taken.map(({ task }) => numberOf(task.id)).toSorted((a, b) => a - b);
    deepEqual(numbers, this.#model.in("running").toSorted((a, b) => a - b), this.#story());
  }

  /** Ends all that is left: every task that waits comes to its end by itself. */
  async #toTheEnd(): Promise<void> {
    for (let rounds = 0; rounds < 500; rounds++) {
      for (const task of this.#model.in("running")) await this.#finish(task);
      if (this.#model.in("parked").length + this.#model.in("ready").length === 0) return;
      this.#now += 30 * SEC;
      await this.#claim();
    }
    throw new Error(`It does not end: ${this.#story()}`);
  }

  async #compare(): Promise<void> {
    const stored = await this.#store.listTasks({ limit: 999 });
    const words = { pending: "ready", waiting: "parked", succeeded: "ended" };
    const standing = stored.map(({ id, state }) =>
      [
        numberOf(id),
        Object.hasOwn(words, state) ? words[state as keyof typeof words] : state,
      ] as const
    );
    const known = [...this.#model.tasks].map(([n, { state }]) => [n, state] as const);
    deepEqual(standing.toReversed(), known.toSorted(([a], [b]) => a - b), this.#story());
    const uses = await this.#store.listAgentUse("default", this.#now);
    const count = (agent: string, isHeld: boolean) =>
      this.#model.turns.filter((one) => one.agent === agent && one.isHeld === isHeld).length;
    const expected = AGENTS.flatMap((agent) => {
      const until = this.#model.limits.get(agent) ?? 0;
      const limit = until > this.#now ? { until, reason: "weekly limit" } : undefined;
      const use = { agent, held: count(agent, true), waiting: count(agent, false) };
      return use.held + use.waiting === 0 && limit === undefined
        ? []
        : [{ ...use, ...defined({ limit }) }];
    });
    deepEqual(uses, expected, this.#story());
  }

  #story(): string {
    return this.#log.slice(0, 1).concat(this.#log.slice(-60)).join("\n");
  }
}
