/**
 * The pages of an App at GitHub's website. Pure.
 *
 * @module
 */

import { apiUrlOf, type ConnectionSpec, type GitHubAppSpec } from "../../resources/connection.ts";

/** Page of an App for its owner. */
export function appPage(spec: ConnectionSpec, { slug }: GitHubAppSpec): string {
  const { organization } = spec.github ?? {};
  const site = gitHubSite(apiUrlOf(spec));
  const owner = organization === undefined ? "" : `/organizations/${organization}`;
  return `${site}${owner}/settings/apps/${slug ?? ""}`;
}

/** Page on which an App is installed. */
export function installPage(spec: ConnectionSpec, { slug }: GitHubAppSpec): string {
  const site = gitHubSite(apiUrlOf(spec));
  const apps = site === "https://github.com" ? "apps" : "github-apps";
  return slug === undefined ? `${site}/settings/apps` : `${site}/${apps}/${slug}/installations/new`;
}

/** Address of the website of an API. */
export function gitHubSite(api: string): string {
  const { origin } = new URL(api);
  return origin === "https://api.github.com" ? "https://github.com" : origin;
}
