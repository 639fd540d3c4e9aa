/**
 * Hints as daemons say them: one message for many events, each once.
 *
 * @module
 */

import { utf8 } from "../../../base/bytes.ts";
import type { DaemonEvents } from "../../events.ts";
import { MAX_MESSAGE_BYTES } from "../database/channel.ts";
import { ANYTHING, type Hint, HINTED, type HintedName } from "./hinted_events.ts";

/** Says that anything may have changed, where saying what would be too long. */
const ANYTHING_CHANGED = "*";

/** No more of them fit into a message. */
const MOST_EVENTS = 256;

/** Events that are to be said. */
export class OutgoingHints {
  /** JSON of each event. */
  readonly #events = new Set<string>();
  #isAnything = false;

  add<Name extends HintedName>(name: Name, data: DaemonEvents[Name]): void {
    if (this.#isAnything) return;
    this.#events.add(JSON.stringify([name, data]));
    if (this.#events.size > MOST_EVENTS) this.addAnything();
  }

  /** For events that are unknown or too many: the other daemons then look at everything. */
  addAnything(): void {
    this.#isAnything = true;
    this.#events.clear();
  }

  /** The message that says them; `undefined` when there are none. */
  take(): string | undefined {
    const message = `[${[...this.#events].join(",")}]`;
    const isAnything = this.#isAnything || utf8(message).length > MAX_MESSAGE_BYTES;
    this.#events.clear();
    this.#isAnything = false;
    if (isAnything) return ANYTHING_CHANGED;
    return message === "[]" ? undefined : message;
  }
}

/** The events that a message says; those that this version does not know are left out. */
export function readHints(message: string): readonly Hint[] {
  if (message === ANYTHING_CHANGED) return ANYTHING;
  try {
    const said = JSON.parse(message) as readonly (readonly [string, unknown])[];
    return said.filter(([name]) => (HINTED as readonly string[]).includes(name))
      .map(([name, data]) => [name, data ?? undefined] as Hint);
  } catch {
    return ANYTHING; // of another version: it will have had a reason
  }
}
