/**
 * The address of the page: the path names the screen, and the query holds its filters, so that an
 * address can be kept and shared, and the back button works.
 *
 * @module
 */

import { computed, signal } from "@preact/signals";

const place = signal({ path: location.pathname, query: location.search });

/** The path of the address in parts: `/task/01J…` is `["task", "01J…"]`. */
export const path = computed(() =>
  place.value.path.split("/").filter((part) => part !== "").map(decode)
);

/** The query of the address, which holds the filters of the screen. */
export const query = computed(() => new URLSearchParams(place.value.query));

/** Goes to an address of the console, which begins with `/`. */
export function go(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  read();
}

/** Sets filters in the address; an empty value removes its filter. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const next = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  go(place.value.path + (text === "" ? "" : `?${text}`), { replace: true });
}

/** The address of the screen with these parts, which are escaped here. */
export function href(
  parts: readonly string[],
  filters: Readonly<Record<string, string>> = {},
): string {
  const text = new URLSearchParams(filters).toString();
  return `/${parts.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function read(): void {
  const isOther = location.pathname !== place.value.path;
  place.value = { path: location.pathname, query: location.search };
  if (isOther) scrollTo(0, 0); // typing in a filter does not scroll
}

addEventListener("popstate", read);
