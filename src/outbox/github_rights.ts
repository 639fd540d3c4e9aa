/**
 * The rights that an App of GitHub needs for each kind of message, and to read checks. Pure.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { WantedRights } from "../connections/github/app_rights.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";

type RightsOf = (message: Pick<OutboxMessage, "kind" | "target" | "body">) => WantedRights;

/** Comments and labels of issues are those of pull requests as well. */
const ISSUE: WantedRights = { needs: { issues: "write" }, likes: { pull_requests: "write" } };
const CHANGE: WantedRights = {
  needs: { contents: "write", pull_requests: "write" },
  likes: { issues: "write" }, // labels
};

const RIGHTS: Readonly<Record<string, RightsOf>> = {
  "github-comment": () => ISSUE,
  "github-status": () => ({ needs: { statuses: "write" }, likes: { pull_requests: "read" } }),
  "github-reaction": ({ target }) => reactionRights(String(target["to"])),
  "github-pull": ({ body }) => withWorkflows(body["workflows"] === true),
  "github-push": ({ body }) => withWorkflows(body["workflows"] === true),
  "github-issue": () => ({ needs: { issues: "write" } }),
  "github-label": () => ISSUE,
  "github-review": () => ({ needs: { pull_requests: "write" } }),
  "github-check": () => ({ needs: { checks: "write" }, likes: { pull_requests: "read" } }),
  // Runs of Actions tell which of several suites is the newest.
  "github-checks": () => ({
    needs: { checks: "read", statuses: "read" },
    likes: { actions: "read" },
  }),
};

/**
 * The rights of a message. The tokens of other forges have those with which they were made.
 *
 * @throws {AppError} `refused` for a kind without any.
 */
export const rightsOfMessage: RightsOf = (message) => {
  const { kind } = message;
  if (kind.startsWith("gitlab-")) return { needs: {} };
  const rights = Object.hasOwn(RIGHTS, kind) ? RIGHTS[kind] : undefined;
  if (rights === undefined) throw new AppError("refused", `svc knows no rights for ${kind}`);
  return rights(message);
};

function withWorkflows(changesWorkflows: boolean): WantedRights {
  return changesWorkflows ? { ...CHANGE, needs: { ...CHANGE.needs, workflows: "write" } } : CHANGE;
}

function reactionRights(to: string): WantedRights {
  if (to.startsWith("issues/")) return ISSUE;
  if (to.startsWith("pulls/")) return { needs: { pull_requests: "write" } };
  return { needs: { contents: "write" } };
}
