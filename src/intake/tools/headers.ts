/**
 * Headers of requests that an operator makes up.
 *
 * @module
 */

import { headersRead } from "../../cel/analysis.ts";

/** Headers with their names in lower case, like those of a request that arrives. */
export function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** Names of the headers that a condition reads and a request lacks, each once. */
export function missingHeaders(
  condition: string,
  headers: Readonly<Record<string, string>>,
): string[] {
  return headersRead(condition).filter((name) => !Object.hasOwn(headers, name));
}
