/**
 * A project at GitLab, and the people who may write to it.
 *
 * @module
 */

import { objectIn } from "../../base/json.ts";
import { type ForgePeople, mustBeOk, type RepositoryHost } from "../api/forge.ts";
import { nameOf } from "../api/platform_name.ts";
import { readFacts, readText } from "../api/repository_reads.ts";
import { idIn, projectPath } from "./gitlab_client.ts";

/** Access level of the role Developer, the lowest that may push. */
const DEVELOPER = 30;

/** What GitLab says of a project and its people. */
export function gitLabPeople({ repository, call, clock }: RepositoryHost): ForgePeople {
  const path = projectPath(repository);
  return {
    async readOwnUser() {
      const answer = await call({ path: "/user" });
      if (!answer.ok) return undefined;
      const id = idIn(answer.data, "id");
      const { username } = objectIn(answer.data);
      if (id === undefined || typeof username !== "string") return undefined;
      return { userId: String(id), login: nameOf(username) };
    },

    readFacts: () => readFacts(path, call),

    async permissionOf({ id }) {
      if (!/^[1-9][0-9]{0,15}$/.test(id)) {
        return { mayWrite: false, why: "the event does not say which user it is" };
      }
      // with the members of the groups that the project is in, and of those invited
      const answer = await call({ path: `${path}/members/all/${id}` });
      if (!answer.ok && answer.status === 404) {
        mustBeOk(await call({ path })); // a project that the token may not see is not found either
        return { mayWrite: false };
      }
      const member = objectIn(mustBeOk(answer).data);
      const { state, access_level: level, membership_state: membership } = member;
      if (String(idIn(member, "id")) !== id) {
        return { mayWrite: false, why: "the answer is about another user" };
      }
      if (state !== "active") return { mayWrite: false, why: "the user is not active" };
      if (membership !== undefined && membership !== "active") {
        return { mayWrite: false, why: "the user has not accepted the membership" };
      }
      if (isOver(member["expires_at"], clock.now())) {
        return { mayWrite: false, why: "the membership has ended" };
      }
      return { mayWrite: typeof level === "number" && level >= DEVELOPER };
    },

    readText: (text) => readText(text, { repository: path, call }),
  };
}

/** Whether a day, as `2026-01-31`, has begun; anything but a day or `null` counts as over. */
function isOver(day: unknown, now: number): boolean {
  if (day === null || day === undefined) return false;
  const at = typeof day === "string" ? Date.parse(day) : NaN;
  return !(at > now);
}
