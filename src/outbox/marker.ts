/**
 * The marker in what the daemon writes elsewhere, which is not seen there: by it a comment is found
 * again after a lost answer, and its event is known as our own. It carries a MAC over where it
 * stands, so that nobody else can make one, or take one along to another place.
 *
 * @module
 */

import { equalBytes, toHex, utf8 } from "../base/bytes.ts";
import { type HmacKey, hmacKey, hmacOf } from "../signatures/hmac_digest.ts";

/** Where a marker stands. */
export interface MarkedPlace {
  readonly project: string;
  /** `OWNER/NAME`; it has no case. */
  readonly repository: string;
  /** Number of the issue or pull request. */
  readonly number: number;
}

/** What a marker says. */
export interface Marked {
  readonly taskId: string;
  readonly key: string;
}

/** Keys of answers: they stand in the marker, and cannot end it. */
export const ANSWER_KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$/;

const MARKER = /<!-- svc ([0-9A-Z]{26}) ([A-Za-z0-9][A-Za-z0-9._/-]{0,252}) ([0-9a-f]{40}) -->/g;

/** What every marker begins with. */
const BEGINNING = "<!-- svc ";

/** Makes markers, and knows its own. */
export class Markers {
  readonly #key: HmacKey;
  readonly #former: readonly HmacKey[];

  /** `secret` is the daemon's own, as those of markers that it made before were. */
  constructor(secret: Uint8Array, former: readonly Uint8Array[] = []) {
    this.#key = hmacKey("sha256", secret);
    this.#former = former.map((one) => hmacKey("sha256", one));
  }

  /** The marker of an answer. */
  make(place: MarkedPlace, { taskId, key }: Marked): string {
    return `${BEGINNING}${taskId} ${key} ${macOf(this.#key, place, { taskId, key })} -->`;
  }

  /** The marker of ours that a text holds; `undefined` when none in it is valid at this place. */
  find(text: string, place: MarkedPlace): Marked | undefined {
    if (!text.includes(BEGINNING)) return undefined;
    for (const [, taskId = "", key = "", mac = ""] of text.matchAll(MARKER)) {
      const isOurs = [this.#key, ...this.#former].some((secret) =>
        equalBytes(utf8(macOf(secret, place, { taskId, key })), utf8(mac))
      );
      if (isOurs) return { taskId, key };
    }
    return undefined;
  }
}

function macOf(
  secret: HmacKey,
  { project, repository, number }: MarkedPlace,
  { taskId, key }: Marked,
): string {
  const parts = [project, repository.toLowerCase(), number, taskId, key];
  return toHex(hmacOf(secret, utf8(JSON.stringify(parts)))).slice(0, 40);
}
