/**
 * The records that a pasted text names: an id or a part of one, alone or behind its type.
 *
 * @module
 */

import { call, Refusal } from "../../data/api.ts";

/** A type of record, as it is asked for, and where its screen is. */
export interface IdType {
  /** As in `task/ID`. */
  readonly name: string;
  /** The same in words. */
  readonly label: string;
  /** Parts of the address of a record. */
  readonly to: (id: string) => readonly string[];
}

/** Types of records that have a screen, the likeliest first. */
const ID_TYPES: readonly IdType[] = [
  { name: "delivery", label: "Delivery", to: (id) => ["delivery", id] },
  { name: "task", label: "Task", to: (id) => ["task", id] },
  { name: "source-event", label: "Source event", to: (id) => ["thread", id] },
  { name: "binding", label: "Thread", to: (id) => ["thread", id] },
  { name: "outbox", label: "Message", to: (id) => ["outbox", id] },
  { name: "audit", label: "Run of a plugin", to: (id) => ["audit", "plugins", id] },
  {
    name: "control-audit",
    label: "Audit of the control plane",
    to: (id) => ["audit", "control", id],
  },
];

/** One record that was found. */
export interface FoundId {
  readonly type: IdType;
  readonly id: string;
  /** What it is about, in words. */
  readonly about: string;
}

/** A text as a type, where one stands before it, and an id; `undefined` when it cannot be one. */
function readId(
  text: string,
): { readonly type?: IdType; readonly part: string } | undefined {
  const [, name, part = ""] = /^(?:([a-z-]+)\/)?([0-9A-Za-z]{4,26})$/.exec(text.trim()) ?? [];
  const type = ID_TYPES.find((one) => one.name === name);
  // Ids have digits and letters; a word has no digit, and a name is looked for elsewhere.
  if (part === "" || (name !== undefined && type === undefined)) return undefined;
  if (name === undefined && !/[0-9]/.test(part)) return undefined;
  return type === undefined ? { part } : { type, part };
}

/** Every record that a text names, of all types at once; a text that fits several names them all. */
export async function findIds(text: string, signal: AbortSignal): Promise<readonly FoundId[]> {
  const read = readId(text);
  if (read === undefined) return [];
  const types = read.type === undefined ? ID_TYPES : [read.type];
  const found = await Promise.all(types.map((type) => findOf(type, read.part, signal)));
  return found.flat();
}

async function findOf(
  type: IdType,
  part: string,
  signal: AbortSignal,
): Promise<readonly FoundId[]> {
  try {
    const { items } = await call("get", { what: type.name, name: part }, signal);
    return items.map((item) => ({ type, id: String(item["id"]), about: aboutOf(item) }));
  } catch (thrown) {
    if (thrown instanceof Refusal && thrown.code === "not_found") return [];
    // Several begin so: the refusal says which.
    if (thrown instanceof Refusal && thrown.code === "usage") {
      return severalOf(type, thrown.details);
    }
    throw thrown;
  }
}

/** `task/ID  github-push  failed  2m ago` of a refusal, line by line. */
function severalOf(type: IdType, details: readonly string[]): readonly FoundId[] {
  return details.flatMap((line) => {
    const [, id, about = ""] = /^[a-z-]+\/([0-9A-Z]{26})(?: {2}(.*))?$/.exec(line) ?? [];
    return id === undefined ? [] : [{ type, id, about: about.replaceAll("  ", ", ") }];
  });
}

function aboutOf(item: Readonly<Record<string, unknown>>): string {
  return ["trigger", "workflow", "operation", "plugin_name", "outcome", "state", "result"]
    .map((field) => item[field])
    .filter((value) => typeof value === "string" && value !== "")
    .join(", ");
}
