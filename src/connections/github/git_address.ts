/**
 * Where a repository is for git, and how svc shows its token there. Pure.
 *
 * @module
 */

import { toBase64, utf8 } from "../../base/bytes.ts";

/** Address of a repository, as `OWNER/NAME`, at the server of an API. */
export function gitUrlOf(api: string, repository: string): string {
  const { protocol, host, pathname } = new URL(api);
  const within = pathname.replace(/\/+$/, "").replace(/\/api\/v[0-9]+$/, "");
  // api.github.com, and api.NAME.ghe.com of GitHub Enterprise Cloud
  const site = /^api\.(github\.com|[^.]+\.ghe\.com)$/.test(host) ? host.slice(4) : host;
  return `${protocol}//${site}${within}/${repository}.git`;
}

/** The header `Authorization` for git, of a personal token or that of an App. */
export function gitAuthorization(token: string): string {
  return `Basic ${toBase64(utf8(`x-access-token:${token}`))}`;
}
