/**
 * The invisible marker in comments of the daemon. It finds a comment again after a lost answer, and
 * tells that an event is about svc's own comment. Its MAC covers the place where it stands, so that
 * a stranger can neither make a marker nor copy one to another place.
 *
 * @module
 */

import { equalBytes, toHex, utf8 } from "../base/bytes.ts";
import { type HmacKey, hmacKey, hmacOf } from "../signatures/hmac_digest.ts";

/** The place of a marker. */
export interface MarkedPlace {
  readonly project: string;
  /** `OWNER/NAME`; it has no case. */
  readonly repository: string;
  /** Number of the issue or pull request. */
  readonly number: number;
}

/** The content of a marker. */
export interface Marker {
  readonly taskId: string;
  readonly key: string;
}

/** Form of the keys of answers: a key stands in the marker, and must not end it. */
export const ANSWER_KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$/;

const PATTERN = /<!-- svc ([0-9A-Z]{26}) ([A-Za-z0-9][A-Za-z0-9._/-]{0,252}) ([0-9a-f]{40}) -->/g;

/** Every marker begins with it. */
const BEGINNING = "<!-- svc ";

/** Makes markers, and verifies them. */
export class Markers {
  readonly #key: HmacKey;
  readonly #former: readonly HmacKey[];

  /** `secret` belongs to the daemon; markers of `former` secrets are still valid. */
  constructor(secret: Uint8Array, former: readonly Uint8Array[] = []) {
    this.#key = hmacKey("sha256", secret);
    this.#former = former.map((secret) => hmacKey("sha256", secret));
  }

  /** The marker of an answer. */
  make(place: MarkedPlace, { taskId, key }: Marker): string {
    return `${BEGINNING}${taskId} ${key} ${macOf(this.#key, place, { taskId, key })} -->`;
  }

  /** The valid marker in a text; `undefined` if the text has none for this place. */
  find(text: string, place: MarkedPlace): Marker | undefined {
    if (!text.includes(BEGINNING)) return undefined;
    for (const [, taskId = "", key = "", mac = ""] of text.matchAll(PATTERN)) {
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
  { taskId, key }: Marker,
): string {
  const parts = [project, repository.toLowerCase(), number, taskId, key];
  return toHex(hmacOf(secret, utf8(JSON.stringify(parts)))).slice(0, 40);
}
