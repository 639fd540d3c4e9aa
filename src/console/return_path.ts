/**
 * Where a login leads back to: a page of the console itself, and nothing else, whatever a link asks for.
 * Pure.
 *
 * @module
 */

import { isPage } from "./pages.ts";

/** Longest place; a filter of a page is a few hundred characters. */
const MAX_LENGTH = 2000;
/** What a query may have: no `#`, which would hide the ticket, and nothing that a header cannot hold. */
const QUERY = /^[A-Za-z0-9._~%!$&'()*+,;=:@/?-]*$/;

/** The path and the query of the page that `return` asks for; `/` where it asks for anything else. */
export function returnPath(asked: string | null): string {
  if (asked === null || asked.length > MAX_LENGTH) return "/";
  const at = asked.indexOf("?");
  const [path, query] = at === -1 ? [asked, ""] : [asked.slice(0, at), asked.slice(at + 1)];
  if (!isPage(path) || !QUERY.test(query)) return "/";
  return query === "" ? path : `${path}?${query}`;
}
