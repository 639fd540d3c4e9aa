/**
 * Recognizes a text that can be an id or a part of an id, and the types of records it can belong
 * to.
 *
 * @module
 */

import { SHORT_ID } from "../../parts/short_id.tsx";

/** A type of record: its names, and the address of its screen. */
export interface IdType {
  /** The name of the type in `task/ID`. */
  readonly name: string;
  /** The name of the type in words. */
  readonly label: string;
  /** The parts of the address of a record. */
  readonly to: (id: string) => readonly string[];
}

/** The types of records with a screen, the likeliest first. */
export const ID_TYPES: readonly IdType[] = [
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

/**
 * Reads a text as an id or a part of an id, also as lists cut it (`…5G7KQZ`), with the type before
 * it if there is one; `undefined` if the text cannot be an id.
 */
export function readId(
  text: string,
): { readonly type?: IdType; readonly part: string } | undefined {
  const [, name, part = ""] = /^(?:([a-z-]+)\/)?…?([0-9a-hjkmnp-tv-z]{4,26})$/i.exec(text.trim()) ??
    [];
  const type = ID_TYPES.find((one) => one.name === name?.toLowerCase());
  if (part === "" || (name !== undefined && type === undefined)) return undefined;
  // A short text without a digit is a word. A longer text can be an id: a tenth of the ends that
  // lists show have only letters, and hardly any word is the end of an id.
  if (name === undefined && !/[0-9]/.test(part) && part.length < SHORT_ID) return undefined;
  return type === undefined ? { part } : { type, part };
}
