/**
 * Tasks of a daemon that hand changes over at any forge, see `change_rig.ts`.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import type { Input, Output } from "../../src/api/operations.ts";
import type { ForgeName } from "../../src/base/forge_names.ts";
import type { TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { type Manifest, secretStore, workflow } from "../helpers/manifests.ts";
import type { Change } from "./change_rig.ts";
import type { ForgeFake } from "./forge_fakes.ts";

const SECRET = "the-secret-of-the-hook";

/** How webhooks of each forge are signed, as a trigger says it. */
const SIGNED: Readonly<Record<ForgeName, Record<string, unknown>>> = {
  github: { scheme: "github" },
  gitlab: { signatureHeader: "X-Gitlab-Token" },
};

/** The manifests of a workflow that may change files at a forge. */
export function manifestsAt(
  { name, connection, token }: ForgeFake,
  may: Readonly<Record<string, unknown>>,
): readonly Manifest[] {
  const fix = workflow("fix", "true");
  return [
    secretStore("tidepool", { token }),
    secretStore("hooks", { secret: SECRET }),
    { kind: "Connection", metadata: { name: "tidepool" }, spec: connection },
    { ...fix, spec: { ...fix.spec, may: { [name]: may } } },
    {
      kind: "Trigger",
      metadata: { name: "fix" },
      spec: {
        event: {
          source: "webhook",
          webhook: { secret: { fromRef: "hooks" }, ...SIGNED[name] },
        },
        action: { workflow: "fix", workspace: "default" },
      },
    },
  ];
}

/** A person comments on an issue or a pull; resolves to the id of the task that this starts. */
export async function askAt(
  { name, repository }: ForgeFake,
  daemon: TestDaemon,
  number: number,
  isPull = false,
): Promise<string> {
  const id = crypto.getRandomValues(new Uint32Array(1))[0] ?? 1;
  const body = JSON.stringify(
    name === "github"
      ? {
        action: "created",
        issue: isPull ? { number, pull_request: {} } : { number },
        comment: { id },
        repository: { full_name: repository },
        sender: { login: "ada", id: 7, type: "User" },
      }
      : {
        object_kind: "note",
        user: { id: 77, username: "ada-pereira" },
        project: { id: 1, path_with_namespace: repository },
        object_attributes: {
          id,
          note: "Mend it",
          noteable_type: isPull ? "MergeRequest" : "Issue",
          action: "create",
        },
        [isPull ? "merge_request" : "issue"]: { id: number, iid: number },
      },
  );
  const headers = name === "github"
    ? githubHeaders(SECRET, body, "issue_comment")
    : { "content-type": "application/json", "x-gitlab-token": SECRET };
  const answer = await daemon.send("/webhook/fix", { headers, body });
  equal(answer.status, 200, answer.text);
  await daemon.settled();
  const [task] = await daemon.tasks();
  return task?.id ?? "";
}

const CREATE = { github: "github.pr_create", gitlab: "gitlab.mr_create" } as const;

/** Asks for a pull as an operator; a refusal is thrown. */
export async function createPullAt(
  { name }: ForgeFake,
  daemon: TestDaemon,
  { pack, ...change }: Change,
  given: Omit<Input<"github.pr_create">, "start" | "tree">,
): Promise<Output<"github.pr_create">> {
  using client = daemon.client();
  return await client.callWith(CREATE[name], { ...given, ...change }, { attachment: pack });
}

const PUSH = { github: "github.push", gitlab: "gitlab.push" } as const;

/** Asks for a commit onto the pull of a task. */
export async function pushChangeAt(
  { name }: ForgeFake,
  daemon: TestDaemon,
  { pack, ...change }: Change,
  given: Omit<Input<"github.push">, "start" | "tree">,
): Promise<Output<"github.push">> {
  using client = daemon.client();
  return await client.callWith(PUSH[name], { ...given, ...change }, { attachment: pack });
}
