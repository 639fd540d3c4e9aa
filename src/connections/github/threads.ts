/**
 * Comments, reactions, labels and issues at GitHub, and statuses of commits.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { isJsonObject, objectIn, textIn } from "../../base/json.ts";
import { pagesOf } from "../api/pages.ts";
import { isAsWritten, userOf } from "../api/repository_reads.ts";
import { type ForgeThreads, type FoundText, mustBeOk, type RepositoryHost } from "../api/forge.ts";
import { findAsker } from "./subject.ts";

/** Bodies of issues are long: pages of fewer issues than GitHub allows, and larger answers. */
const ISSUES = { items: 50, maxBytes: 32 * 1024 * 1024 };

/** The address of the thread of a comment, at the API or for people. */
const THREAD_URL = /\/(?:issues|pulls|pull)\/([1-9][0-9]*)$/;

/** The threads of a repository, and statuses of its commits. */
export function gitHubThreads(host: RepositoryHost): ForgeThreads {
  const { call, clock } = host;
  const path = `/repos/${host.repository}`;
  const must = async (...[request]: Parameters<typeof call>) => mustBeOk(await call(request));
  return {
    async *commentsOf({ number }, sinceMs) {
      const since = encodeURIComponent(rfc3339(sinceMs));
      const first = `${path}/issues/${number}/comments?since=${since}&per_page=100`;
      const read = (path: string) => must({ path });
      for await (const { data } of pagesOf(first, { read, clock })) {
        for (const comment of Array.isArray(data) ? data : []) {
          const id = idIn(comment, "id");
          if (id !== undefined) yield foundText(String(id), comment);
        }
      }
    },

    async readComment({ number }, id) {
      const answer = await call({ path: `${path}/issues/comments/${id}` });
      if (!answer.ok && (answer.status === 404 || answer.status === 410)) return undefined;
      const comment = objectIn(mustBeOk(answer).data);
      const author = findAsker({ sender: comment["user"] });
      // Ids are those of a whole repository; Gitea names an issue or a pull.
      const isHere = THREAD_URL.exec(
        textIn(comment["issue_url"]) || textIn(comment["pull_request_url"]),
      )?.[1] === String(number);
      if (String(idIn(comment, "id")) !== id || author === undefined || !isHere) return undefined;
      const { performed_via_github_app: app = null } = comment;
      return {
        ...userOf(author),
        text: textIn(comment["body"]),
        // An App can write for a person: then nobody knows whether the person has seen it.
        isByProgram: author.isBot || app !== null,
        isChanged: !isAsWritten(comment),
        isInternal: false,
      };
    },

    async addComment({ number }, body) {
      const at = `${path}/issues/${number}/comments`;
      const { data } = await must({ method: "POST", path: at, body: { body } });
      return String(idIn(data, "id") ?? "");
    },

    async editComment(_thread, id, body) {
      const at = `${path}/issues/comments/${id}`;
      const answer = await call({ method: "PATCH", path: at, body: { body } });
      if (!answer.ok && answer.status === 404) return false;
      mustBeOk(answer);
      return true;
    },

    async react(to, content) {
      await must({ method: "POST", path: `${path}/${to}/reactions`, body: { content } });
    },

    async hasLabel(label) {
      const answer = await call({ path: `${path}/labels/${encodeURIComponent(label)}` });
      if (!answer.ok && answer.status === 404) return false;
      mustBeOk(answer);
      return true;
    },

    async addLabels({ number }, labels) {
      const at = `${path}/issues/${number}/labels`;
      await must({ method: "POST", path: at, body: { labels: [...labels] } });
    },

    async removeLabel({ number }, label) {
      const issue = `${path}/issues/${number}`;
      const at = `${issue}/labels/${encodeURIComponent(label)}`;
      const gone = await call({ method: "DELETE", path: at });
      // 404: it had no such label, or does not exist; the latter is told by asking for the issue
      mustBeOk(!gone.ok && gone.status === 404 ? await call({ path: issue }) : gone);
    },

    async addIssue({ title, body, labels }) {
      const issue = { title, body, labels: [...labels] };
      const { data } = await must({ method: "POST", path: `${path}/issues`, body: issue });
      return idIn(data, "number");
    },

    async editIssue(number, { title, body }) {
      await must({ method: "PATCH", path: `${path}/issues/${number}`, body: { title, body } });
    },

    async isIssueOpen(number) {
      const answer = await call({ path: `${path}/issues/${number}` });
      if (!answer.ok && [301, 404, 410].includes(answer.status)) return false;
      return objectIn(mustBeOk(answer).data)["state"] === "open";
    },

    async *ownIssues(sinceMs) {
      const query = new URLSearchParams({
        state: "open",
        sort: "created",
        direction: "desc",
        per_page: String(ISSUES.items),
        ...await creatorOf(host),
        ...sinceMs === undefined ? {} : { since: rfc3339(sinceMs) },
      });
      const read = (path: string) => must({ path, maxBytes: ISSUES.maxBytes });
      for await (const { data } of pagesOf(`${path}/issues?${query}`, { read, clock })) {
        for (const issue of Array.isArray(data) ? data : []) {
          const number = idIn(issue, "number");
          const { state, pull_request: pull } = objectIn(issue);
          if (number === undefined || state !== "open" || pull !== undefined) continue;
          yield foundText(String(number), issue);
        }
      }
    },

    async setStatus({ sha, state, context, description }) {
      const body = { state, context, description };
      await must({ method: "POST", path: `${path}/statuses/${sha}`, body });
    },
  };
}

/** Narrows a list of issues to those of svc's user, if the API says who that is. */
async function creatorOf({ connection, call }: RepositoryHost): Promise<{ creator?: string }> {
  const { app } = connection.spec.github ?? {};
  if (app !== undefined) return app.slug === undefined ? {} : { creator: `${app.slug}[bot]` };
  const answer = await call({ path: "/user" });
  const login = answer.ok && isJsonObject(answer.data) ? answer.data["login"] : undefined;
  return typeof login === "string" ? { creator: login } : {};
}

function foundText(id: string, data: unknown): FoundText {
  const { user, body } = objectIn(data);
  return { id, userId: String(objectIn(user)["id"] ?? ""), body: textIn(body) };
}

function idIn(data: unknown, name: "id" | "number"): number | undefined {
  const id = objectIn(data)[name];
  return typeof id === "number" && Number.isSafeInteger(id) && id > 0 ? id : undefined;
}
