/**
 * REGISTRY of the pages: the first parts of the paths at which the console shows something. Each has
 * its screen in `console/page/screens.tsx`, which does not compile without.
 *
 * @module
 */

/** First parts of paths; the first page has none. */
export const PAGES = [
  "approvals",
  "audit",
  "connections",
  "deliveries",
  "delivery",
  "filter",
  "outbox",
  "resource",
  "resources",
  "search",
  "secret",
  "secrets",
  "task",
  "tasks",
  "thread",
  "threads",
  "trigger",
  "triggers",
] as const;

/** One of {@linkcode PAGES}. */
export type PageName = typeof PAGES[number];

const PAGE = new RegExp(`^/(?:(?:${PAGES.join("|")})(?:/[A-Za-z0-9][A-Za-z0-9._~%-]*){0,4})?$`);

/** Whether the console shows something at this path. */
export function isPage(path: string): boolean {
  return PAGE.test(path);
}
