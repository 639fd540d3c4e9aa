/**
 * GitLab as a forge: gitlab.com, and servers of one's own.
 *
 * @module
 */

import { toBase64, utf8 } from "../../base/bytes.ts";
import { FORGE_WORDS } from "../../base/forge_names.ts";
import { objectIn } from "../../base/json.ts";
import type { Forge } from "../api/forge.ts";
import { gitLabBranches } from "./branches.ts";
import { gitLabChecks } from "./checks.ts";
import { findDoing } from "./doing.ts";
import { callGitLab } from "./gitlab_client.ts";
import { gitLabPeople } from "./people.ts";
import { gitLabPulls } from "./pulls.ts";
import { findNewComment } from "./new_comment.ts";
import { checkedTexts, findAsker, findSubject, isByOwner } from "./subject.ts";
import { gitLabThreads } from "./threads.ts";

/** GitLab. */
export const GITLAB: Forge = {
  name: "gitlab",
  words: FORGE_WORDS.gitlab,
  nameIn: ({ project }) => objectIn(project)["path_with_namespace"],
  findSubject,
  findAsker,
  findNewComment,
  findDoing,
  isByOwner,
  checkedTexts,
  call: callGitLab,
  open: (host) => ({
    ...gitLabPeople(host),
    ...gitLabThreads(host),
    ...gitLabPulls(host),
    ...gitLabBranches(host),
    ...gitLabChecks(host),
  }),
  gitRemote: (api, repository, token) => ({
    url: gitUrlOf(api, repository),
    // Any user will do but an empty one: the token says who it is.
    authorization: `Basic ${toBase64(utf8(`oauth2:${token}`))}`,
    needs: "the scope api, and the role Developer of its user",
  }),
  mailOf: ({ userId, login }, api) => {
    const { hostname } = new URL(api);
    return `${userId === "" ? "" : `${userId}-`}${login}@users.noreply.${hostname}`;
  },
};

/** Address of a project, as `GROUP/…/PROJECT`, at the server of an API. */
function gitUrlOf(api: string, repository: string): string {
  const { protocol, host, pathname } = new URL(api);
  const within = pathname.replace(/\/+$/, "").replace(/\/api\/v[0-9]+$/, "");
  return `${protocol}//${host}${within}/${repository}.git`;
}
