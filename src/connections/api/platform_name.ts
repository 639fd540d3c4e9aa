/**
 * Names of accounts at a platform: text from outside that is shown and stored.
 *
 * @module
 */

/** Most characters of a name that are kept. */
const MAX_CHARACTERS = 200;

/** The first candidate that is a name, on one line and cut; empty if there is none. */
export function nameOf(...candidates: readonly unknown[]): string {
  const names = candidates.filter((candidate) => typeof candidate === "string")
    .map((text) => text.slice(0, 2 * MAX_CHARACTERS).replace(/[\p{Cc}\s]+/gu, " ").trim());
  const name = names.find((text) => text !== "") ?? "";
  return [...name].slice(0, MAX_CHARACTERS).join("").toWellFormed();
}

/** ` of NAME`, or that the platform gave none: the end of a sentence about a token. */
export function ofName(name: string): string {
  return name === "" ? ", answered without a name" : ` of ${name}`;
}
