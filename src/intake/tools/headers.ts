/**
 * Headers of requests that nobody sent: as an operator gives them, and as a condition wants them.
 *
 * @module
 */

/** Headers with their names in lower case, as a request that arrives has them. */
export function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** `headers["x-name"]`, `headers['x-name']`, `headers.name`, the last two also optional. */
const READ = /\bheaders\s*(?:\[\??\s*(?:"([^"]+)"|'([^']+)')\s*\]|\.\??([A-Za-z_]\w*))/g;

/** Names of the headers that a condition reads by a name that stands in it, each once. */
export function headersRead(condition: string): string[] {
  const names = [...condition.matchAll(READ)].map(([, ...named]) => named.find(Boolean) ?? "");
  return [...new Set(names)];
}
