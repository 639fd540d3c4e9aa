/**
 * The records that a pasted text names by an id or a part of an id, alone or after a type.
 *
 * @module
 */

import { call, Refusal } from "../../data/api.ts";
import { ID_TYPES, type IdType, readId } from "./read_id.ts";

/** A matching record. */
export interface FoundId {
  readonly type: IdType;
  readonly id: string;
  /** A description in words. */
  readonly about: string;
}

/** Every record that a text names, searched in all types at once. */
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
    // Several ids begin with the text: the refusal lists them.
    if (thrown instanceof Refusal && thrown.code === "usage") {
      return severalOf(type, thrown.details);
    }
    throw thrown;
  }
}

/** The records in a refusal, each a line such as `task/ID  github-push  failed  2m ago`. */
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
