/**
 * GitHub as a forge. Gitea and Forgejo speak its API.
 *
 * @module
 */

import { toBase64, utf8 } from "../../base/bytes.ts";
import { FORGE_WORDS } from "../../base/forge_names.ts";
import { objectIn } from "../../base/json.ts";
import type { Forge } from "../api/forge.ts";
import { gitHubBranches } from "./branches.ts";
import { gitHubChecks } from "./checks.ts";
import { findDoing } from "./doing.ts";
import { callGitHub } from "./github_client.ts";
import { gitHubPeople } from "./people.ts";
import { gitHubPulls } from "./pulls.ts";
import { findNewComment } from "./new_comment.ts";
import { checkedTexts, findAsker, findSubject, isByOwner } from "./subject.ts";
import { gitHubThreads } from "./threads.ts";

/** GitHub, and servers with its API. */
export const GITHUB: Forge = {
  name: "github",
  words: FORGE_WORDS.github,
  nameIn: ({ repository }) => objectIn(repository)["full_name"],
  findSubject,
  findAsker,
  findNewComment,
  findDoing,
  isByOwner,
  checkedTexts,
  call: callGitHub,
  open: (host) => ({
    ...gitHubPeople(host),
    ...gitHubThreads(host),
    ...gitHubPulls(host),
    ...gitHubBranches(host),
    ...gitHubChecks(host),
  }),
  gitRemote: (api, repository, token) => ({
    url: gitUrlOf(api, repository),
    // of a personal token, and of that of an App
    authorization: `Basic ${toBase64(utf8(`x-access-token:${token}`))}`,
    needs: "the permission contents=write",
  }),
  mailOf: ({ userId, login }, api) => {
    const { hostname } = new URL(api);
    const site = hostname === "api.github.com" ? "github.com" : hostname;
    return `${userId === "" ? "" : `${userId}+`}${login}@users.noreply.${site}`;
  },
};

/** Address of a repository, as `OWNER/NAME`, at the server of an API. */
function gitUrlOf(api: string, repository: string): string {
  const { protocol, host, pathname } = new URL(api);
  const within = pathname.replace(/\/+$/, "").replace(/\/api\/v[0-9]+$/, "");
  // api.github.com, and api.NAME.ghe.com of GitHub Enterprise Cloud
  const site = /^api\.(github\.com|[^.]+\.ghe\.com)$/.test(host) ? host.slice(4) : host;
  return `${protocol}//${site}${within}/${repository}.git`;
}
