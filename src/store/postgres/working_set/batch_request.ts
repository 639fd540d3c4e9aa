/**
 * The facts that the calls of a batch may ask for. They are locked and loaded before the calls
 * decide.
 *
 * @module
 */

import type { KeyedEvent } from "../../delivery_records.ts";
import { debounceDigest, digestOfConversation } from "../../rules/keys.ts";
import { limitsOf } from "../../rules/limits.ts";
import type { NewTask } from "../../task_records.ts";
import type { FactRequest, LimitKey, TriggerKey } from "../../transactions/task_rows.ts";
import { eventKey } from "./event_key.ts";
import { storableJson } from "./storable_json.ts";

/** Number of tasks of a limit that are loaded. */
interface Depth {
  /** Number of its queued tasks that are loaded, and so can be promoted without loading again. */
  depth: number;
}

interface RequestedGroup extends Depth {
  readonly digest: string;
  /** Number of its unfinished tasks that are loaded. */
  members: number;
  /** Whether these may be cancelled: then they are locked, so that no worker starts them. */
  replaces: boolean;
}

interface RequestedWorkspace extends Depth {
  readonly project: string;
  readonly name: string;
}

/**
 * Tasks of a group with `Replace` that are loaded at first. A group seldom has more than its limit.
 */
const REPLACEABLE = 1000;

/** Facts to be loaded together. Digests are hexadecimal. */
export class BatchRequest implements FactRequest {
  readonly #earlier = new Set<string>();
  readonly #debounced = new Set<string>();
  readonly #conversations = new Set<string>();
  readonly #groups = new Map<string, RequestedGroup>();
  readonly #workspaces = new Map<string, RequestedWorkspace>();
  readonly #rates = new Map<string, TriggerKey>();
  readonly #tasks = new Set<string>();
  readonly #claims = new Set<string>();
  readonly #deliveries = new Set<string>();
  #resources = false;

  /** Asks for every fact that the rules may need when they decide on a new task. */
  addNew(task: NewTask): void {
    this.addKeyed(task);
    const debounced = debounceDigest(task);
    if (debounced !== undefined) this.addDebounced(debounced);
    const conversation = digestOfConversation(task);
    if (conversation !== undefined) this.addConversation(conversation);
    if (task.rateLimit !== undefined) this.addRate(task);
    const { group, workspace } = limitsOf(task);
    if (workspace.max !== undefined) this.addLimit({ of: "workspace", ...workspace }, 1);
    if (group === undefined) return;
    const { digest, max } = group;
    this.addLimit({ of: "group", digest }, 1);
    if (task.concurrency?.policy === "Forbid") this.addMembers(digest, { count: max });
    if (task.concurrency?.policy === "Replace") {
      this.addMembers(digest, { count: REPLACEABLE, replaces: true });
    }
  }

  /** Asks for what makes an event a duplicate. */
  addKeyed(event: KeyedEvent): void {
    const earlier = eventKey(event);
    if (earlier !== undefined) this.addEarlier(earlier);
  }

  /** Asks for a stored task, with the limits that it counts against. */
  addTask(id: string): void {
    this.#tasks.add(id);
  }

  /** Asks for a stored task of which only the claim matters. */
  addClaim(id: string): void {
    this.#claims.add(id);
  }

  /** Asks for the version of the resources, to compare it with the one that a decision used. */
  addResourceVersion(): void {
    this.#resources = true;
  }

  /** Asks for a delivery that may be stored already. */
  addDelivery(id: string): void {
    this.#deliveries.add(id);
  }

  /** Asks for the last event with this key. */
  addEarlier(key: string): void {
    this.#earlier.add(key);
  }

  /** Asks for the pending task with this debounce key. */
  addDebounced(digest: Uint8Array): void {
    this.#debounced.add(digest.toHex());
  }

  /** Asks for the task of this conversation. */
  addConversation(digest: Uint8Array): void {
    this.#conversations.add(digest.toHex());
  }

  /** Asks for the rate of a trigger. */
  addRate({ project, trigger }: TriggerKey): void {
    this.#rates.set(`${project}/${trigger}`, { project, trigger });
  }

  /** Asks for `depth` more queued tasks of a limit than were asked for before. */
  addLimit(limit: LimitKey, depth: number): void {
    this.#depthOf(limit).depth += depth;
  }

  /** Asks for at least so many unfinished tasks of a group. */
  addMembers(
    digest: Uint8Array,
    { count, replaces = false }: { readonly count: number; readonly replaces?: boolean },
  ): void {
    const group = this.#groupOf(digest);
    group.members = Math.max(group.members, count);
    group.replaces ||= replaces;
  }

  /**
   * Whether the event with this key was asked for; otherwise it is unknown whether there is one.
   */
  hasEarlier(key: string): boolean {
    return this.#earlier.has(key);
  }

  /** Whether the pending task with this debounce key was asked for. */
  hasDebounced(digest: Uint8Array): boolean {
    return this.#debounced.has(digest.toHex());
  }

  /** Whether the task of this conversation was asked for. */
  hasConversation(digest: Uint8Array): boolean {
    return this.#conversations.has(digest.toHex());
  }

  /** Whether a task was asked for. */
  hasTask(id: string): boolean {
    return this.#tasks.has(id) || this.#claims.has(id);
  }

  /** Whether a delivery was asked for. */
  hasDelivery(id: string): boolean {
    return this.#deliveries.has(id);
  }

  /** Whether the rate of a trigger was asked for. */
  hasRate({ project, trigger }: TriggerKey): boolean {
    return this.#rates.has(`${project}/${trigger}`);
  }

  /** The request as the JSON argument of the function `facts`. */
  toJson(): string {
    return storableJson({
      earlier: [...this.#earlier],
      debounced: [...this.#debounced],
      groups: [...this.#groups.values()],
      workspaces: [...this.#workspaces.values()],
      rates: [...this.#rates.values()],
      tasks: [...this.#tasks],
      claims: [...this.#claims],
      deliveries: [...this.#deliveries],
      resources: this.#resources,
      conversations: [...this.#conversations],
    });
  }

  #depthOf(limit: LimitKey): Depth {
    if (limit.of === "group") return this.#groupOf(limit.digest);
    const { project, name } = limit;
    return made(this.#workspaces, `${project}/${name}`, () => ({ project, name, depth: 0 }));
  }

  #groupOf(bytes: Uint8Array): RequestedGroup {
    const digest = bytes.toHex();
    const none = { digest, depth: 0, members: 0, replaces: false };
    return made(this.#groups, digest, () => none);
  }
}

function made<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = make();
  map.set(key, value);
  return value;
}

/**
 * Thrown for a fact that was not loaded. All facts are then loaded again, this one with them, and
 * the calls decide anew.
 */
export class MissingFact extends Error {
  override readonly name = "Missing";
  /** Asks for the fact. */
  readonly addTo: (request: BatchRequest) => void;

  constructor(addTo: (request: BatchRequest) => void) {
    super("A fact was not loaded");
    this.addTo = addTo;
  }
}
