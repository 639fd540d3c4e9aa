/**
 * Options of the form `--set NAME=VALUE`, given any number of times.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/** The values by name; a value may have further equals signs, and be empty. */
export function setValues(given: readonly string[]): Record<string, string> {
  const pairs = given.map((one): [string, string] => {
    const at = one.indexOf("=");
    if (at < 1) throw new AppError("usage", `Write --set NAME=VALUE, found "${one}"`);
    return [one.slice(0, at), one.slice(at + 1)];
  });
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new AppError("usage", `--set gives "${twice}" twice`);
  return Object.fromEntries(pairs);
}
