/**
 * Whether a text can be an id or a part of one, and of which type of record.
 *
 * @module
 */

import { SHORT_ID } from "../../parts/short_id.tsx";

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
 * A text as a type, where one stands before it, and an id or a part of one, also as lists cut it
 * (`…5G7KQZ`); `undefined` when it cannot be one.
 */
export function readId(
  text: string,
): { readonly type?: IdType; readonly part: string } | undefined {
  const [, name, part = ""] = /^(?:([a-z-]+)\/)?…?([0-9a-hjkmnp-tv-z]{4,26})$/i.exec(text.trim()) ??
    [];
  const type = ID_TYPES.find((one) => one.name === name?.toLowerCase());
  if (part === "" || (name !== undefined && type === undefined)) return undefined;
  // A short text without a digit is a word. A longer one may be either: of the ends that lists show,
  // one in ten has letters only, and hardly a word is the end of an id.
  if (name === undefined && !/[0-9]/.test(part) && part.length < SHORT_ID) return undefined;
  return type === undefined ? { part } : { type, part };
}
