/**
 * The groups and workspaces of the working set, with the changes of the batch so far. Of the queued
 * tasks of each, only the first ones and the last one are loaded. When a call needs those in
 * between, it asks for them by `MissingFact`.
 *
 * @module
 */

import type { Found } from "../../rules/needs.ts";
import { READINESS } from "../../sql/readiness.ts";
import { isUnfinished } from "../../task_records.ts";
import type { LimitKey } from "../../transactions/task_rows.ts";
import type { GroupFact, LimitFact, WorkspaceFact } from "./facts.ts";
import { type KnownTask, placeOf } from "./known_task.ts";
import { MissingFact } from "./batch_request.ts";

/**
 * When the loaded queued tasks were too few, this many times their number is loaded in addition.
 */
const DEEPER = 8;
/** Number of queued tasks to load of a limit that the request did not name. */
const UNEXPECTED = 8;

/** A group or a workspace. */
interface KnownLimit {
  readonly limit: LimitKey;
  readonly fact: LimitFact & Partial<Pick<GroupFact, "asked" | "members">>;
  /** Number of tasks that occupy room. */
  open: number;
  /** The known queued tasks, by their id. */
  readonly queued: KnownTask[];
  /** The known unfinished tasks. */
  readonly members: Set<KnownTask>;
}

/** The limits that were loaded. */
export class KnownLimits {
  readonly #limits = new Map<string, KnownLimit>();

  constructor(groups: readonly GroupFact[], workspaces: readonly WorkspaceFact[]) {
    for (const fact of groups) {
      this.#add({ of: "group", digest: Uint8Array.fromHex(fact.digest) }, fact);
    }
    for (const fact of workspaces) {
      this.#add({ of: "workspace", project: fact.project, name: fact.name }, fact);
    }
  }

  #add(limit: LimitKey, fact: KnownLimit["fact"]): void {
    const { open } = fact;
    this.#limits.set(keyOf(limit), { limit, fact, open, queued: [], members: new Set() });
  }

  /** Adds a task that was loaded; where it occupies room, it is counted already. */
  addLoaded(task: KnownTask): void {
    for (const known of this.#limitsOf(task)) list(known, task);
  }

  /** Adds a task that the batch stores. */
  addNew(task: KnownTask): void {
    for (const known of this.#limitsOf(task)) enter(known, task);
  }

  /** Changes a task, and with it the limits that it counts against. */
  change(task: KnownTask, how: Partial<KnownTask>): void {
    for (const known of this.#limitsOf(task)) leave(known, task);
    Object.assign(task, how);
    for (const known of this.#limitsOf(task)) enter(known, task);
  }

  /** Number of tasks that occupy room. */
  countOpen(limit: LimitKey): number {
    return this.#get(limit).open;
  }

  /** The queued task with the highest id. */
  newestQueued(limit: LimitKey): Found<KnownTask> {
    const known = this.#get(limit);
    const newest = known.queued.at(-1);
    const { fact } = known;
    // What was not loaded lies below the newest task that was.
    if (isWhole(known) || (newest !== undefined && newest.id >= (fact.newest ?? ""))) {
      return newest ?? "none";
    }
    throw deeper(known);
  }

  /** The queued task with the lowest id. */
  oldestQueued(limit: LimitKey): Found<KnownTask> {
    const known = this.#get(limit);
    const [oldest] = known.queued;
    // What was not loaded lies above the first tasks.
    if (
      isWhole(known) || (oldest !== undefined && oldest.id <= (known.fact.queued.at(-1) ?? ""))
    ) {
      return oldest ?? "none";
    }
    throw deeper(known);
  }

  /**
   * The unfinished tasks of a group in the order of their index, at least `atLeast` of them if there
   * are as many.
   */
  members(digest: Uint8Array, atLeast: number): readonly KnownTask[] {
    const known = this.#get({ of: "group", digest });
    const { asked = 0, members = [] } = known.fact;
    if (members.length >= asked && known.members.size < atLeast) {
      const count = Math.max(UNEXPECTED, asked * DEEPER);
      throw new MissingFact((request) => request.addMembers(digest, { count }));
    }
    return [...known.members].sort(inOrder);
  }

  #get(limit: LimitKey): KnownLimit {
    const known = this.#limits.get(keyOf(limit));
    if (known === undefined) {
      throw new MissingFact((request) => request.addLimit(limit, UNEXPECTED));
    }
    return known;
  }

  *#limitsOf({ limits: { group, workspace } }: KnownTask): Generator<KnownLimit> {
    const ofGroup = group && this.#limits.get(keyOf({ of: "group", digest: group.digest }));
    if (ofGroup !== undefined) yield ofGroup;
    if (workspace.max === undefined) return;
    const ofWorkspace = this.#limits.get(keyOf({ of: "workspace", ...workspace }));
    if (ofWorkspace !== undefined) yield ofWorkspace;
  }
}

/** Adds a task to the lists of a limit. */
function list({ limit, queued, members }: KnownLimit, task: KnownTask): void {
  if (isUnfinished(task.state)) members.add(task);
  if (placeOf(task, limit.of) === "queued") insertById(queued, task);
}

function enter(known: KnownLimit, task: KnownTask): void {
  list(known, task);
  if (placeOf(task, known.limit.of) === "open") known.open += 1;
}

function leave(known: KnownLimit, task: KnownTask): void {
  known.members.delete(task);
  const place = placeOf(task, known.limit.of);
  if (place === "open") known.open -= 1;
  if (place === "queued") known.queued.splice(known.queued.indexOf(task), 1);
}

/** Whether every queued task was loaded. */
function isWhole({ fact: { queued, depth } }: KnownLimit): boolean {
  return queued.length < depth;
}

function deeper({ limit, fact: { depth } }: KnownLimit): MissingFact {
  return new MissingFact((request) =>
    request.addLimit(limit, Math.max(UNEXPECTED, depth * DEEPER))
  );
}

function keyOf(limit: LimitKey): string {
  return limit.of === "group"
    ? `group/${limit.digest.toHex()}`
    : `workspace/${limit.project}/${limit.name}`;
}

const byId = (a: { readonly id: string }, b: { readonly id: string }) => a.id < b.id ? -1 : 1;

const inOrder = (a: KnownTask, b: KnownTask) =>
  READINESS[a.readiness] - READINESS[b.readiness] || byId(a, b);

/** Most tasks come with the highest id. */
function insertById(tasks: KnownTask[], task: KnownTask): void {
  const last = tasks.at(-1);
  tasks.push(task);
  if (last !== undefined && last.id > task.id) tasks.sort(byId);
}
