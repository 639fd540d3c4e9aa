/**
 * The parts of an event that may be changed after it was sent, so that a step would read something
 * else than the sender wrote: the text of a comment, the newest commit of a pull request. Pure.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** A value at GitHub, now and when the event was sent. */
export interface CheckedText {
  /** Its name, as the beginning of a sentence. */
  readonly what: string;
  /** Path below the repository. */
  readonly path: string;
  /** Names of the members that lead to the value, the outer one first. */
  readonly field: readonly string[];
  readonly was: string;
}

/** The values that must be as the payload says. */
export function checkedTexts(payload: JsonObject): readonly CheckedText[] {
  const [comment, pull, issue] = ["comment", "pull_request", "issue"].map((name) => payload[name]);
  const texts: CheckedText[] = [];
  const id = numberIn(comment, "id");
  const body = textAt(comment, ["body"]);
  const place = isJsonObject(issue) ? "issues" : isJsonObject(pull) ? "pulls" : undefined;
  if (id !== undefined && body !== undefined) {
    const path = place === undefined ? `/comments/${id}` : `/${place}/comments/${id}`;
    texts.push({ what: "The comment", path, field: ["body"], was: body });
  }
  const number = numberIn(pull, "number") ?? numberIn(payload, "number");
  const head = textAt(pull, ["head", "sha"]);
  if (number !== undefined && head !== undefined) {
    const path = `/pulls/${number}`;
    texts.push({ what: "The pull request", path, field: ["head", "sha"], was: head });
  }
  return texts;
}

/** The change since the event, as the end of a sentence; `undefined` for none. */
export function changeSince({ field, was }: CheckedText, now: unknown): string | undefined {
  return textAt(now, field) === was ? undefined : "was changed";
}

function textAt(value: unknown, path: readonly string[]): string | undefined {
  const found = path.reduce<unknown>(
    (at, name) => isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined,
    value,
  );
  return typeof found === "string" ? found : undefined;
}

function numberIn(value: unknown, name: string): number | undefined {
  const found = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof found === "number" && Number.isSafeInteger(found) && found > 0 ? found : undefined;
}
