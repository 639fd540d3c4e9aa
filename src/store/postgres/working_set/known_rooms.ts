/**
 * The groups and workspaces of the working set, as they are after what the batch has changed so far.
 * Of the queued tasks only the first were loaded, and the last: what lies between is missing, and
 * asked for when it is needed.
 *
 * @module
 */

import type { Found } from "../../rules/needs.ts";
import { READINESS } from "../../sql/readiness.ts";
import type { Room } from "../../transactions/task_rows.ts";
import type { GroupFact, RoomFact, WorkspaceFact } from "./facts.ts";
import { isUnfinished, type KnownTask, placeOf } from "./known_task.ts";
import { Missing } from "./wanted.ts";

/** By how much more is loaded than before, when that was too little. */
const DEEPER = 8;
/** Queued tasks that are loaded of a room that nobody had expected. */
const UNEXPECTED = 8;

/** A group or a workspace. */
interface KnownRoom {
  readonly room: Room;
  readonly fact: RoomFact & Partial<Pick<GroupFact, "asked" | "members">>;
  /** Number of tasks that occupy room. */
  open: number;
  /** The known queued tasks, by their id. */
  readonly queued: KnownTask[];
  /** The known unfinished tasks. */
  readonly members: Set<KnownTask>;
}

/** All that were loaded. */
export class KnownRooms {
  readonly #rooms = new Map<string, KnownRoom>();

  constructor(groups: readonly GroupFact[], workspaces: readonly WorkspaceFact[]) {
    for (const fact of groups) {
      this.#add({ of: "group", digest: Uint8Array.fromHex(fact.digest) }, fact);
    }
    for (const fact of workspaces) {
      this.#add({ of: "workspace", project: fact.project, name: fact.name }, fact);
    }
  }

  #add(room: Room, fact: KnownRoom["fact"]): void {
    const { open } = fact;
    this.#rooms.set(keyOf(room), { room, fact, open, queued: [], members: new Set() });
  }

  /** Adds a task that was loaded; where it occupies room, it is counted already. */
  addLoaded(task: KnownTask): void {
    for (const known of this.#roomsOf(task)) list(known, task);
  }

  /** Adds a task that the batch stores. */
  addNew(task: KnownTask): void {
    for (const known of this.#roomsOf(task)) enter(known, task);
  }

  /** Changes a task, and with it its rooms. */
  change(task: KnownTask, how: Partial<KnownTask>): void {
    for (const known of this.#roomsOf(task)) leave(known, task);
    Object.assign(task, how);
    for (const known of this.#roomsOf(task)) enter(known, task);
  }

  /** Number of tasks that occupy room. */
  countOpen(room: Room): number {
    return this.#get(room).open;
  }

  /** The queued task with the highest id. */
  newestQueued(room: Room): Found<KnownTask> {
    const known = this.#get(room);
    const newest = known.queued.at(-1);
    const { fact } = known;
    // What was not loaded lies below the newest task that was.
    if (isWhole(known) || (newest !== undefined && newest.id >= (fact.newest ?? ""))) {
      return newest ?? "none";
    }
    throw deeper(known);
  }

  /** The queued task with the lowest id. */
  oldestQueued(room: Room): Found<KnownTask> {
    const known = this.#get(room);
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
      throw new Missing((wanted) => wanted.addMembers(digest, { count }));
    }
    return [...known.members].sort(inOrder);
  }

  #get(room: Room): KnownRoom {
    const known = this.#rooms.get(keyOf(room));
    if (known === undefined) throw new Missing((wanted) => wanted.addRoom(room, UNEXPECTED));
    return known;
  }

  *#roomsOf({ limits: { group, workspace } }: KnownTask): Generator<KnownRoom> {
    const ofGroup = group && this.#rooms.get(keyOf({ of: "group", digest: group.digest }));
    if (ofGroup !== undefined) yield ofGroup;
    if (workspace.max === undefined) return;
    const ofWorkspace = this.#rooms.get(keyOf({ of: "workspace", ...workspace }));
    if (ofWorkspace !== undefined) yield ofWorkspace;
  }
}

/** Adds a task to the lists of a room. */
function list({ room, queued, members }: KnownRoom, task: KnownTask): void {
  if (isUnfinished(task)) members.add(task);
  if (placeOf(task, room.of) === "queued") insertById(queued, task);
}

function enter(known: KnownRoom, task: KnownTask): void {
  list(known, task);
  if (placeOf(task, known.room.of) === "open") known.open += 1;
}

function leave(known: KnownRoom, task: KnownTask): void {
  known.members.delete(task);
  const place = placeOf(task, known.room.of);
  if (place === "open") known.open -= 1;
  if (place === "queued") known.queued.splice(known.queued.indexOf(task), 1);
}

/** Whether every task that waited was loaded. */
function isWhole({ fact: { queued, depth } }: KnownRoom): boolean {
  return queued.length < depth;
}

function deeper({ room, fact: { depth } }: KnownRoom): Missing {
  return new Missing((wanted) => wanted.addRoom(room, Math.max(UNEXPECTED, depth * DEEPER)));
}

function keyOf(room: Room): string {
  return room.of === "group"
    ? `group/${room.digest.toHex()}`
    : `workspace/${room.project}/${room.name}`;
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
