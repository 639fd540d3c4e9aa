/**
 * A list that is watched in several streams, one after the other: what each goes on with is all
 * that has changed since the one before, so that what a page shows in the end is what there is.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { WatchedError, WatchedList } from "../../src/api/watch_operations.ts";
import { systemClock } from "../../src/base/clock.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import { recordType } from "../../src/control/records/records.ts";
import { Watches, type WatchHost } from "../../src/control/watch.ts";
import { type SubjectsHost, SubjectWatch } from "../../src/control/watch_subjects.ts";
import { withAnnouncements } from "../../src/store/store_methods.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import type { Store } from "../../src/store/store.ts";
import { NOT_SLOW, times } from "../helpers/program.ts";
import { accept, filterOut, taskIdOf } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { until } from "../helpers/until.ts";
import { skippable } from "../helpers/requirements.ts";

const CALLER = { name: "socket", role: "admin" } as const;
const TIMING = { spacingMs: 3, keepaliveMs: 100 };
const NOW = 1_700_000_000_000;

type Query = {
  readonly what: "task" | "delivery";
  readonly state?: string;
  readonly trigger?: string;
};
type Shown = Map<string, Record<string, unknown>>;

/** A store, and a daemon over it that can start anew. */
async function surroundings() {
  const temp = await tempStore();
  const events = new EventHub<DaemonEvents>({
    error(message) {
      throw new Error(message);
    },
  });
  const store = withAnnouncements(temp.store, events);
  const log = {
    error: (message: string, fields: unknown) => console.error(message, fields),
  };
  const host = { store, events, log, clock: systemClock };
  const start = () => {
    const watches = new Watches(host as unknown as WatchHost, TIMING);
    return new SubjectWatch(host as unknown as SubjectsHost, watches);
  };
  return {
    store,
    daemon: start(),
    restart() {
      this.daemon = start();
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}
type World = Awaited<ReturnType<typeof surroundings>>;

/** What a page does: it keeps a list, and goes on with the last cursor that it has seen. */
class Page {
  readonly shown: Shown = new Map();
  /** First lines, and whether each was the whole list. */
  readonly firsts: boolean[] = [];
  /** Of records in lines that were not whole: those that were there just like that. */
  readonly again: string[] = [];
  cursor: string | undefined;
  readonly #query: Query;
  #stop = new AbortController();
  #over: Promise<void> = Promise.resolve();

  constructor(query: Query) {
    this.#query = query;
  }

  /** Connects; takes the lines of the stream, as long as it does not lose them. */
  connect({ daemon }: World): void {
    const { signal } = this.#stop = new AbortController();
    const after = this.cursor === undefined ? {} : { after: this.cursor };
    const subjects = [{ key: "list", get: { limit: 1000, ...this.#query }, ...after }];
    const read = async () => {
      let isFirst = true;
      for await (const line of daemon.watch({ subjects }, CALLER, signal)) {
        if (signal.aborted) return; // on its way when the connection broke
        if (!("key" in line)) continue;
        const update = line as unknown as WatchedList | WatchedError;
        if ("error" in update) throw new Error(update.error.message);
        if (isFirst) this.firsts.push(update.whole);
        isFirst = false;
        this.#take(update);
      }
    };
    this.#over = read();
  }

  #take({ items, deleted, whole, cursor }: WatchedList): void {
    if (whole) this.shown.clear();
    for (const item of items) {
      const id = String(item["id"]);
      if (JSON.stringify(this.shown.get(id)) === JSON.stringify(item)) this.again.push(id);
      this.shown.set(id, item);
    }
    for (const name of deleted) this.shown.delete(name.slice(name.indexOf("/") + 1));
    if (cursor !== undefined) this.cursor = cursor;
  }

  /** Breaks; what is on its way now never arrives. */
  async break(): Promise<void> {
    this.#stop.abort();
    await this.#over;
  }

  /** Waits until the page shows what `get` gives. */
  async equals(store: Store, what: string): Promise<void> {
    let found = await list(store, this.#query);
    const same = async () => {
      found = await list(store, this.#query);
      return isSame(this.shown, found) ? true : undefined;
    };
    await until(what, same, 20_000).catch(() => deepEqual(this.shown, found, what));
  }
}

/** What `get` gives. */
async function list(store: Store, { what, ...query }: Query): Promise<Shown> {
  const { id, view, list } = recordType(what);
  const rows = await list(store, { limit: 10_000, ...query });
  return new Map(rows.map((row) => [id(row as never), view(row as never)]));
}

function isSame(one: Shown, other: Shown): boolean {
  return one.size === other.size &&
    [...one].every(([id, item]) => JSON.stringify(other.get(id)) === JSON.stringify(item));
}

function random(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor(state / 2 ** 31 * below);
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Changes the store, again and again in some other way. */
class Changing {
  readonly #running: string[] = [];
  readonly #ended: string[] = [];
  /** Ids are not stored in their order. */
  readonly #numbers: number[] = [];
  #next = 1;
  #now = NOW;
  readonly #store: Store;
  readonly #pick: (below: number) => number;

  constructor(store: Store, pick: (below: number) => number) {
    [this.#store, this.#pick] = [store, pick];
  }

  async accept(): Promise<void> {
    if (this.#numbers.length === 0) {
      for (let n = 0; n < 20; n++) this.#numbers.push(this.#next++);
    }
    const [n = 0] = this.#numbers.splice(this.#pick(this.#numbers.length), 1);
    const trigger = ["push", "other"][this.#pick(2)] ?? "";
    if (this.#pick(4) === 0) await filterOut(this.#store, n);
    else await accept(this.#store, n, { trigger, receivedAt: this.#now++ });
  }

  async burst(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.accept()));
  }

  async claim(): Promise<void> {
    const { tasks } = await this.#store.claimTasks(1 + this.#pick(3), this.#now++);
    this.#running.push(...tasks.map(({ task }) => task.id));
  }

  async step(): Promise<void> {
    const id = this.#running[this.#pick(this.#running.length)];
    if (id === undefined) return;
    const step = { position: 0, id: "build", state: "running", reason: `${this.#now++}` } as const;
    await this.#store.saveStep(id, step);
  }

  async finish(): Promise<void> {
    const [taskId] = this.#running.splice(this.#pick(this.#running.length), 1);
    if (taskId === undefined) return;
    const state = this.#pick(3) === 0 ? "failed" : "succeeded";
    await this.#store.finishTask({ taskId, state, reason: "", now: this.#now++ });
    this.#ended.push(taskId);
  }

  async prune(): Promise<void> {
    await this.#store.pruneTasks({ before: this.#now + 1, limit: 1 + this.#pick(3) });
    await this.#store.pruneDeliveries({ before: this.#now + 1, limit: 1 + this.#pick(3) });
  }
}

const QUERIES: readonly Query[] = [
  { what: "task" },
  { what: "task", state: "running" },
  { what: "task", trigger: "push" },
  { what: "delivery" },
];

const SEEDS = times(5, 2);

Deno.test(`whatever changes between and in streams: in the end a page shows what get gives${SEEDS.inName}`, async () => {
  for (let seed = 1; seed <= SEEDS.count; seed++) {
    await using world = await surroundings();
    const pick = random(seed);
    const changing = new Changing(world.store, pick);
    const pages = QUERIES.map((query) => new Page(query));
    for (const page of pages) page.connect(world);
    for (let n = 0; n < 120; n++) {
      const at = pick(100);
      if (at < 30) await changing.accept();
      else if (at < 50) await changing.claim();
      else if (at < 60) await changing.step();
      else if (at < 75) await changing.finish();
      else if (at < 77) await changing.prune();
      else if (at < 78) await changing.burst(120);
      else if (at < 79) world.restart();
      else if (at < 90) await pause(pick(12));
      else {
        const page = pages[pick(pages.length)];
        await page?.break();
        for (let more = pick(6); more > 0; more--) {
          await [() => changing.accept(), () => changing.claim(), () => changing.finish()]
            [pick(3)]?.();
        }
        page?.connect(world);
      }
    }
    // The next stream reports the records removed during the previous one.
    for (const page of pages) {
      await page.break();
      page.connect(world);
    }
    for (const [at, page] of pages.entries()) {
      await page.equals(world.store, `seed ${seed}: ${JSON.stringify(QUERIES[at])}`);
    }
    for (const page of pages) await page.break();
  }
});

Deno.test(
  skippable(
    "a page that was away hears of what it has missed, of nothing else, and once",
    NOT_SLOW,
  ),
  async () => {
    for (let seed = 1; seed <= 5; seed++) {
      await using world = await surroundings();
      const pick = random(seed);
      const changing = new Changing(world.store, pick);
      await changing.burst(100);
      const pages = QUERIES.map((query) => new Page(query));
      for (const page of pages) page.connect(world);
      await until(
        "all to begin",
        () => pages.every(({ firsts }) => firsts.length > 0) || undefined,
      );
      let breaks = 0;
      for (let n = 0; n < 60; n++) {
        await [() => changing.accept(), () => changing.claim(), () => changing.finish()]
          [pick(3)]?.();
        if (pick(3) > 0) continue;
        await pause(pick(8));
        for (const page of pages) {
          await page.break();
          page.connect(world);
        }
        breaks++;
      }
      for (const [at, page] of pages.entries()) {
        await page.equals(world.store, `seed ${seed}: ${JSON.stringify(QUERIES[at])}`);
        const whole = page.firsts.slice(1).filter((one) => one).length;
        equal(whole, 0, `seed ${seed}: ${whole} of ${breaks} were the whole list again`);
        ok(page.again.length <= breaks, `seed ${seed}: ${page.again.length} again`);
        await page.break();
      }
    }
  },
);

Deno.test("a page that was away for nothing hears nothing", async () => {
  await using world = await surroundings();
  const changing = new Changing(world.store, random(1));
  await changing.burst(50);
  const page = new Page({ what: "delivery" });
  page.connect(world);
  await until("the list", () => page.shown.size === 50 || undefined);
  for (let n = 1; n <= 5; n++) {
    await page.break();
    page.connect(world);
    await until("a line", () => page.firsts.length === n + 1 || undefined);
  }
  deepEqual([page.firsts, page.again], [[true, false, false, false, false, false], []]);
  await page.break();
});

Deno.test("a cursor of another list, of another daemon, or from too long ago gives the whole list", async () => {
  await using world = await surroundings();
  const changing = new Changing(world.store, random(1));
  await changing.burst(10);
  const begun = async (query: Query, cursor: string | undefined) => {
    const page = new Page(query);
    page.cursor = cursor;
    page.connect(world);
    await until("a line", () => page.firsts.length > 0 || undefined);
    await page.equals(world.store, JSON.stringify(query));
    await page.break();
    return page;
  };
  const all = { what: "delivery" } as const;
  const { cursor } = await begun(all, undefined);
  ok(cursor);
  const whole = async (query: Query, given: string) => (await begun(query, given)).firsts[0];
  equal(await whole({ ...all, trigger: "push" }, cursor), true, "another list");
  equal(await whole({ what: "task" }, cursor), true, "another type");
  equal(await whole(all, cursor.replace(/\d+$/, "999")), true, "not yet");
  for (const nonsense of ["", "0", ".", "a.b", cursor.slice(1)]) {
    equal(await whole(all, nonsense), true, nonsense);
  }
  await changing.burst(150);
  const { cursor: later = "" } = await begun(all, undefined);
  await changing.burst(150);
  equal(await whole(all, cursor), true, "300 changes ago");
  const { cursor: now = "" } = await begun(all, undefined);
  await world.store.pruneDeliveries({ before: NOW + 1000, limit: 1 });
  await accept(world.store, 900_000, { taskId: taskIdOf(900_000) });
  equal(await whole(all, later), true, "something was removed");
  world.restart();
  equal(await whole(all, now), true, "another daemon");
});
