/**
 * Which headers an expression reads: for those who have to know before there are any.
 *
 * @module
 */

/** `headers["x-name"]`, `headers['x-name']`, `headers.name`, the last two also optional. */
const READ = /\bheaders\s*(?:\[\??\s*(?:"([^"]+)"|'([^']+)')\s*\]|\.\??([A-Za-z_]\w*))/g;

/** Names of the headers that an expression reads by a name that stands in it, each once. */
export function headersRead(expression: string): string[] {
  const names = [...expression.matchAll(READ)].map(([, ...named]) => named.find(Boolean) ?? "");
  return [...new Set(names)];
}
