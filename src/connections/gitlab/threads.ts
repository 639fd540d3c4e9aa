/**
 * Notes, emoji reactions, labels and issues at GitLab, and statuses of commits. GitLab numbers issues and
 * merge requests apart.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { objectIn, textIn } from "../../base/json.ts";
import {
  CallFailed,
  type ForgeThreads,
  type FoundText,
  mustBeOk,
  type RepositoryHost,
  type Thread,
} from "../api/forge.ts";
import { pagesOf } from "../api/pages.ts";
import { isAsWritten, userOf } from "../api/repository_reads.ts";
import type { RestCall } from "../api/rest.ts";
import { idIn, projectPath, TEXTS } from "./gitlab_client.ts";
import { findAsker } from "./subject.ts";

/** Names of the emoji for the words of reactions, which are GitHub's. */
const EMOJI: Readonly<Record<string, string>> = {
  "+1": "thumbsup",
  "-1": "thumbsdown",
  laugh: "laughing",
  hooray: "tada",
};

/** States of statuses for those of svc. */
const STATES = { pending: "pending", success: "success", failure: "failed", error: "failed" };

/** The threads of a project, and statuses of its commits. */
export function gitLabThreads({ repository, call, clock }: RepositoryHost): ForgeThreads {
  const path = projectPath(repository);
  const must = async (request: RestCall) => mustBeOk(await call(request));
  const pages = (first: string, maxBytes?: number) => {
    const read = (path: string) => must({ path, ...maxBytes === undefined ? {} : { maxBytes } });
    return pagesOf(first, { read, clock });
  };
  const issues = `${path}/issues`;
  const at = (thread: Thread) =>
    `${path}/${thread.isPull ? "merge_requests" : "issues"}/${thread.number}`;
  /** Id of the token's user. */
  const own = async () => {
    const id = idIn((await must({ path: "/user" })).data, "id");
    if (id !== undefined) return id;
    throw new AppError("refused", "The answer about the token's user names no user");
  };
  return {
    async *commentsOf(thread, sinceMs) {
      const query = `order_by=updated_at&sort=desc&per_page=${TEXTS.items}`;
      for await (const { data } of pages(`${at(thread)}/notes?${query}`, TEXTS.maxBytes)) {
        for (const note of listIn(data)) {
          const { system, updated_at: updated } = objectIn(note);
          if (Date.parse(textIn(updated)) < sinceMs) return;
          const id = idIn(note, "id");
          // A system note is GitLab's own, about what its author did.
          if (id !== undefined && system === false) yield foundText(id, note, "body");
        }
      }
    },

    async readComment(thread, id) {
      const answer = await call({ path: `${at(thread)}/notes/${id}` });
      if (!answer.ok && answer.status === 404) return undefined;
      const note = objectIn(mustBeOk(answer).data);
      const author = findAsker({ object_kind: "note", user: note["author"] });
      if (String(idIn(note, "id")) !== id || author === undefined) return undefined;
      const { system, internal, confidential } = note;
      return {
        ...userOf(author),
        text: textIn(note["body"]),
        isByProgram: system !== false || author.isBot || await isBot(author.id),
        // A reaction changes the time as well.
        isChanged: !isAsWritten(note),
        isInternal: internal === true || confidential === true,
      };
    },

    async addComment(thread, body) {
      const { data } = await must({ method: "POST", path: `${at(thread)}/notes`, body: { body } });
      return String(idIn(data, "id") ?? "");
    },

    async editComment(thread, id, body) {
      const note = `${at(thread)}/notes/${id}`;
      const answer = await call({ method: "PUT", path: note, body: { body } });
      if (!answer.ok && answer.status === 404) return false;
      mustBeOk(answer);
      return true;
    },

    async react(to, content) {
      const awards = `${path}/${to}/award_emoji`;
      const name = EMOJI[content] ?? content;
      const isThere = async () => {
        const user = await own();
        for await (const { data } of pages(`${awards}?per_page=100`)) {
          const found = listIn(data).some((award) =>
            objectIn(award)["name"] === name && idIn(objectIn(award)["user"], "id") === user
          );
          if (found) return true;
        }
        return false;
      };
      const answer = await call({ method: "POST", path: awards, body: { name } });
      // GitLab refuses one that is there, with the status of what is not there.
      if (!answer.ok && !(answer.kind === "refused" && await isThere())) {
        throw new CallFailed(answer);
      }
    },

    async hasLabel(label) {
      const answer = await call({ path: `${path}/labels/${encodeURIComponent(label)}` });
      if (!answer.ok && answer.status === 404) return false;
      // A label that is a number is looked for by its id first.
      return objectIn(mustBeOk(answer).data)["name"] === label;
    },

    async addLabels(thread, labels) {
      await must({ method: "PUT", path: at(thread), body: { add_labels: labelList(labels) } });
    },

    async removeLabel(thread, label) {
      await must({ method: "PUT", path: at(thread), body: { remove_labels: labelList([label]) } });
    },

    async addIssue({ title, body, labels }) {
      const issue = {
        title,
        description: body,
        ...labels.length === 0 ? {} : { labels: labelList(labels) },
      };
      return idIn((await must({ method: "POST", path: issues, body: issue })).data, "iid");
    },

    async editIssue(number, { title, body }) {
      const issue = { title, description: body };
      await must({ method: "PUT", path: `${issues}/${number}`, body: issue });
    },

    async isIssueOpen(number) {
      // One that was moved is closed.
      const answer = await call({ path: `${issues}/${number}` });
      if (!answer.ok && answer.status === 404) return false;
      return objectIn(mustBeOk(answer).data)["state"] === "opened";
    },

    async *ownIssues(sinceMs) {
      const query = new URLSearchParams({
        state: "opened",
        order_by: "created_at",
        sort: "desc",
        scope: "all",
        author_id: String(await own()),
        per_page: String(TEXTS.items),
        ...sinceMs === undefined ? {} : { updated_after: rfc3339(sinceMs) },
      });
      for await (const { data } of pages(`${issues}?${query}`, TEXTS.maxBytes)) {
        for (const issue of listIn(data)) {
          const number = idIn(issue, "iid");
          if (number === undefined || objectIn(issue)["state"] !== "opened") continue;
          yield foundText(number, issue, "description");
        }
      }
    },

    async setStatus({ sha, state, context, description, pull }) {
      const body = { state: STATES[state], name: context, description };
      const post = (more: { readonly ref?: string }) =>
        call({ method: "POST", path: `${path}/statuses/${sha}`, body: { ...body, ...more } });
      let answer = await post({});
      // The commit of a fork is on no branch of this project, and the status needs a ref.
      if (!answer.ok && answer.status === 404 && pull !== undefined) {
        answer = await post({ ref: `refs/merge-requests/${pull}/head` });
      }
      if (answer.ok) return;
      // GitLab refuses a state that the status has; all but `pending` begin a new one.
      const isRefused = answer.status === 400 && state === "pending";
      if (!isRefused || !await isPending(sha, context)) throw new CallFailed(answer);
    },
  };

  /** Whether a user is one of a token, of a service, or of GitLab: only the user itself says so. */
  async function isBot(id: string): Promise<boolean> {
    const answer = await call({ path: `/users/${id}` });
    if (!answer.ok && answer.status === 404) return true;
    const user = objectIn(mustBeOk(answer).data);
    return String(idIn(user, "id")) !== id || user["bot"] !== false;
  }

  /** Whether the newest status of a name waits or runs. */
  async function isPending(sha: string, context: string): Promise<boolean> {
    const query = new URLSearchParams({ name: context, per_page: "100" });
    const { data } = await must({ path: `${path}/repository/commits/${sha}/statuses?${query}` });
    return listIn(data).some((one) => {
      const { name, status } = objectIn(one);
      return name === context && ["running", "pending"].includes(textIn(status));
    });
  }
}

/** Labels as one text. GitLab would make several labels of one with a comma, which none has. */
function labelList(labels: readonly string[]): string {
  const wrong = labels.find((label) => label.includes(","));
  if (wrong === undefined) return labels.join(",");
  throw new AppError("refused", `GitLab has no label with a comma: "${wrong}" cannot be one`);
}

function foundText(id: number, data: unknown, text: "body" | "description"): FoundText {
  const found = objectIn(data);
  const user = idIn(found["author"], "id");
  return {
    id: String(id),
    userId: user === undefined ? "" : String(user),
    body: textIn(found[text]),
  };
}

function listIn(data: unknown): readonly unknown[] {
  return Array.isArray(data) ? data : [];
}
