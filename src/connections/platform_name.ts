/**
 * Names of accounts, as a platform gives them: text from outside that is shown and stored.
 *
 * @module
 */

/** Most characters of a name; what is longer is no name. */
const MAX_CHARACTERS = 200;

/** The first of `given` that is a name, on one line and cut; "" where the platform gave none. */
export function nameOf(...given: readonly unknown[]): string {
  const names = given.filter((one) => typeof one === "string")
    .map((one) => one.slice(0, 2 * MAX_CHARACTERS).replace(/[\p{Cc}\s]+/gu, " ").trim());
  const name = names.find((one) => one !== "") ?? "";
  return [...name].slice(0, MAX_CHARACTERS).join("").toWellFormed();
}

/** ` of NAME`, or that there is none: the end of a sentence about a token. */
export function ofName(name: string): string {
  return name === "" ? ", answered without a name" : ` of ${name}`;
}
