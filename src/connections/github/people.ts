/**
 * A repository at GitHub, and the people who may write to it.
 *
 * @module
 */

import { isJsonObject, objectIn } from "../../base/json.ts";
import { type ForgePeople, mustBeOk, type RepositoryHost } from "../api/forge.ts";
import { nameOf } from "../api/platform_name.ts";
import { readFacts, readText } from "../api/repository_reads.ts";

/** Permissions to write. GitHub reports `maintain` as `write`; Gitea has `owner`. */
const MAY_WRITE: ReadonlySet<unknown> = new Set(["write", "maintain", "admin", "owner"]);

/** Form of the logins that a path can hold. */
const LOGIN = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;

/** What GitHub says of a repository and its people. */
export function gitHubPeople({ connection, repository, call }: RepositoryHost): ForgePeople {
  const path = `/repos/${repository}`;
  return {
    async readOwnUser() {
      const { app } = connection.spec.github ?? {};
      if (app !== undefined && app.slug === undefined) return undefined;
      const of = app === undefined ? "/user" : `/users/${app.slug}%5Bbot%5D`;
      const answer = await call({ path: of });
      if (!answer.ok || !isJsonObject(answer.data)) return undefined;
      const { id, login } = answer.data;
      if (typeof id !== "number" || typeof login !== "string") return undefined;
      return { userId: String(id), login: nameOf(login) };
    },

    readFacts: () => readFacts(path, call),

    async permissionOf({ id, login }) {
      if (!LOGIN.test(login)) {
        return { mayWrite: false, why: "it has no login that can be asked for" };
      }
      const answer = mustBeOk(await call({ path: `${path}/collaborators/${login}/permission` }));
      const { permission, user } = objectIn(answer.data);
      // The login may belong to another user by now.
      const now = objectIn(user)["id"];
      if (now !== undefined && String(now) !== id) {
        return { mayWrite: false, why: "another user has that login now" };
      }
      return { mayWrite: MAY_WRITE.has(permission) };
    },

    readText: (text) => readText(text, { repository: path, call }),
  };
}
