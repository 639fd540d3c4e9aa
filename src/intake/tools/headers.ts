/**
 * Headers of requests that nobody sent: as an operator gives them, and as a condition wants them.
 *
 * @module
 */

import { headersRead } from "../../cel/analysis.ts";

/** Headers with their names in lower case, as a request that arrives has them. */
export function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** Names of the headers that a condition reads and a request has not, each once. */
export function missingHeaders(
  condition: string,
  headers: Readonly<Record<string, string>>,
): string[] {
  return headersRead(condition).filter((name) => !Object.hasOwn(headers, name));
}
