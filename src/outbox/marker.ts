/**
 * The invisible marker in comments, pulls and commits of the daemon. It finds again what was
 * made before a lost answer, and tells that an event is about svc's own doing. Its MAC covers the place
 * where it stands, so that a stranger can neither make a marker nor copy one to another place or forge.
 *
 * @module
 */

import { equalBytes, toHex, utf8 } from "../base/bytes.ts";
import type { ForgeName } from "../base/forge_names.ts";
import type { Thread } from "../connections/api/forge.ts";
import { type HmacKey, hmacKey, hmacOf } from "../signatures/hmac_digest.ts";

/** The repository in which a marker stands. */
export interface MarkedRepository {
  readonly project: string;
  readonly forge: ForgeName;
  /** Its name has no case. */
  readonly repository: string;
}

/** The place of a marker; the number is 0 for the text of an issue itself, which gets its number later. */
export interface MarkedPlace extends MarkedRepository, Thread {}

/** The content of a marker. */
export interface Marker {
  readonly taskId: string;
  readonly key: string;
}

/** The place of the marker of a pull. */
export interface PullPlace extends MarkedRepository {
  /** Branch of its head. */
  readonly branch: string;
}

/** The content of the marker of a pull. */
export interface PullMarker extends Marker {
  /** Trigger of the task. */
  readonly trigger: string;
  /** Id of the tree that svc pushed last. */
  readonly tree: string;
}

/** The place of the mark of a commit. */
export interface CommitPlace extends MarkedRepository {
  /** Id of its tree. */
  readonly tree: string;
}

/** Form of the keys of answers: a key stands in the marker, and must not end it. */
export const ANSWER_KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$/;

const PATTERN = /<!-- svc ([0-9A-Z]{26}) ([A-Za-z0-9][A-Za-z0-9._/-]{0,252}) ([0-9a-f]{40}) -->/g;

const PULL_PATTERN =
  /<!-- svc pull ([0-9A-Z]{26}) ([a-z0-9.-]{1,253}) ([0-9a-f]{40}) ([A-Za-z0-9][A-Za-z0-9._/-]{0,252}) ([0-9a-f]{40}) -->/g;

/** The trailers of a commit, one line after the other: the messages of others can be megabytes. */
const COMMIT_PATTERN = /^Svc-Task: ([0-9A-Z]{26})\r?\nSvc-Mark: ([0-9a-f]{40})\r?$/gm;

/** Id of the task that a message of a commit names; `undefined` if it names none. Anyone can write that. */
export function taskNamedIn(message: string): string | undefined {
  if (!message.includes("Svc-Mark: ")) return undefined;
  for (const [, taskId] of message.matchAll(COMMIT_PATTERN)) return taskId;
  return undefined;
}

/** Every marker begins with it. */
const BEGINNING = "<!-- svc ";

/** Whether a text may have a marker. Anyone can write one, so this only tells what is not of a person. */
export function mayHaveMarker(text: string): boolean {
  return text.includes(BEGINNING);
}

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
    return `${BEGINNING}${taskId} ${key} ${macOf(this.#key, partsOf(place, { taskId, key }))} -->`;
  }

  /** The valid marker in a text; `undefined` if the text has none for this place. */
  find(text: string, place: MarkedPlace): Marker | undefined {
    if (!text.includes(BEGINNING)) return undefined;
    for (const [, taskId = "", key = "", mac = ""] of text.matchAll(PATTERN)) {
      if (this.#isOurs(mac, partsOf(place, { taskId, key }))) return { taskId, key };
    }
    return undefined;
  }

  /** The marker of a pull. */
  makePull(place: PullPlace, marker: PullMarker): string {
    const { taskId, trigger, tree, key } = marker;
    const mac = macOf(this.#key, pullPartsOf(place, marker));
    return `${BEGINNING}pull ${taskId} ${trigger} ${tree} ${key} ${mac} -->`;
  }

  /** The valid marker of a pull in its text; `undefined` if that has none for this place. */
  findPull(text: string, place: PullPlace): PullMarker | undefined {
    if (!text.includes(BEGINNING)) return undefined;
    const all = text.matchAll(PULL_PATTERN);
    for (const [, taskId = "", trigger = "", tree = "", key = "", mac = ""] of all) {
      const marker = { taskId, trigger, tree, key };
      if (this.#isOurs(mac, pullPartsOf(place, marker))) return marker;
    }
    return undefined;
  }

  /** The trailers of a commit that svc makes for a task. */
  makeTrailers(place: CommitPlace, taskId: string): string {
    return `Svc-Task: ${taskId}\nSvc-Mark: ${macOf(this.#key, commitPartsOf(place, taskId))}`;
  }

  /** Whether the message of a commit has what looks like svc's trailers: only then its tree matters. */
  mayHaveTask(message: string): boolean {
    return message.includes("Svc-Mark: ");
  }

  /** Id of the task for which svc made a commit; `undefined` for any other commit. */
  findTask(message: string, place: CommitPlace): string | undefined {
    if (!this.mayHaveTask(message)) return undefined;
    for (const [, taskId = "", mac = ""] of message.matchAll(COMMIT_PATTERN)) {
      if (this.#isOurs(mac, commitPartsOf(place, taskId))) return taskId;
    }
    return undefined;
  }

  #isOurs(mac: string, parts: readonly unknown[]): boolean {
    return [this.#key, ...this.#former].some((secret) =>
      equalBytes(utf8(macOf(secret, parts)), utf8(mac))
    );
  }
}

function partsOf(
  { forge, project, repository, number, isPull }: MarkedPlace,
  { taskId, key }: Marker,
) {
  const thread = forge === "github" ? [] : [isPull ? "pull" : "issue"]; // GitHub numbers both together
  return [...forgePart(forge), ...thread, project, repository.toLowerCase(), number, taskId, key];
}

function pullPartsOf(
  { forge, project, repository, branch }: PullPlace,
  { taskId, trigger, tree, key }: PullMarker,
) {
  const place = [project, repository.toLowerCase(), branch];
  return [...forgePart(forge), "pull", ...place, taskId, trigger, tree, key];
}

function commitPartsOf({ forge, project, repository, tree }: CommitPlace, taskId: string) {
  return [...forgePart(forge), "commit", project, repository.toLowerCase(), tree, taskId];
}

/** The markers at GitHub do not name it: they are older than those at other forges. */
function forgePart(forge: ForgeName): readonly string[] {
  return forge === "github" ? [] : [forge];
}

function macOf(secret: HmacKey, parts: readonly unknown[]): string {
  return toHex(hmacOf(secret, utf8(JSON.stringify(parts)))).slice(0, 40);
}
