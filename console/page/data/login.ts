/**
 * The login of a console for a team: the gateway says with its refusals that there is one, and a proxy
 * before it answers in its place when the login there is over.
 *
 * @module
 */

import { signal } from "@preact/signals";

/** Whether this console has a login; without one, its links are in a terminal. */
export const hasLogin = signal(false);

/** Whether an answer says that nobody is logged in; notes whether there is a login. */
export function needsLogin(response: Response): boolean {
  // A proxy that has forgotten this browser leads to its login page, or shows it at once.
  const isOfProxy = response.type === "opaqueredirect" || isPage(response) && response.status < 500;
  if (isOfProxy || response.headers.has("svc-login")) hasLogin.value = true;
  return isOfProxy || response.status === 401;
}

/** Whether an answer is the page of a proxy that does not reach the console. */
export function isAway(response: Response): boolean {
  return response.status >= 500 && isPage(response);
}

/** The console answers calls with JSON, so a page is that of a proxy. */
function isPage({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/html") === true;
}

/** Leaves the page to log in, and comes back to it. */
export function logIn(): void {
  const here = location.pathname + location.search;
  location.replace(`/login?return=${encodeURIComponent(here)}`);
}
