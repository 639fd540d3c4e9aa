/**
 * Requests of GitLab for its package, signed by a signing token.
 *
 * @module
 */

import { createHmac, randomUUID } from "node:crypto";
import { fakeGitLab, GITLAB_PROJECT, GITLAB_TOKEN, type GitLabRoute } from "../fakes/gitlab.ts";
import { secretStore } from "../helpers/manifests.ts";
import {
  bytesOf,
  type ExpectedTask,
  fixture,
  type PackageCase,
  type PackageRequest,
  textOf,
} from "./package_case.ts";

/** The key of the signing token. */
const KEY = new Uint8Array(32).fill(7);
const SIGNING_TOKEN = `whsec_${btoa(String.fromCharCode(...KEY))}`;

const PUSH = fixture("gitlab/push.json");
const MERGE_REQUEST = fixture("gitlab/merge_request.json");
const NOTE = fixture("gitlab/note.json");
const RELEASE = fixture("gitlab/release.json");

/** Headers as GitLab sends them; `id` names the event. */
function gitLabRequest(event: string, id: string) {
  return (body: Uint8Array): Record<string, string> => {
    const seconds = String(Math.floor(Date.now() / 1000));
    const signed = createHmac("sha256", KEY).update(`${id}.${seconds}.`).update(body);
    return {
      "content-type": "application/json",
      "user-agent": "GitLab/19.1.0",
      "idempotency-key": id,
      "x-gitlab-event": event,
      "x-gitlab-event-uuid": randomUUID(),
      "x-gitlab-token": "the token that nobody keeps",
      "webhook-id": id,
      "webhook-timestamp": seconds,
      "webhook-signature": `v1,${signed.digest("base64")}`,
    };
  };
}

function request(
  [event, trigger]: readonly [event: string, trigger: string],
  title: string,
  { body, task, id = randomUUID() }: { body: Uint8Array; task?: ExpectedTask; id?: string },
): PackageRequest {
  const headers = gitLabRequest(event, id);
  return {
    title,
    trigger,
    body,
    headers,
    ...(task === undefined ? { answer: "filtered" } : { answer: "accepted", tasks: [task] }),
  };
}

/** The same body with other values of its fields. */
function changed(body: Uint8Array, fields: object, attributes: object = {}): Uint8Array {
  const payload = JSON.parse(textOf(body));
  const object = payload.object_attributes;
  return bytesOf(JSON.stringify({
    ...payload,
    ...fields,
    ...(object === undefined ? {} : { object_attributes: { ...object, ...attributes } }),
  }));
}

const PUSH_OF = ["Push Hook", "gitlab-push"] as const;
const MERGE_REQUEST_OF = ["Merge Request Hook", "gitlab-merge-request"] as const;
const NOTE_OF = ["Note Hook", "gitlab-note"] as const;
const RELEASE_OF = ["Release Hook", "gitlab-release"] as const;

const PROJECT_URL = "https://gitlab.com/brightwater/harbour/tidepool";
const SHAS = "4f0c61d2b97a85e3d1c0b6a7f8e9d2c3b4a59687...e31f6c8a47d2f1b0c9a8e7d6c5b4a39281706f5e";
const PUSHED: ExpectedTask = {
  payload: textOf(PUSH),
  log: `ada-pereira pushed 2 commits to refs/heads/main of ${GITLAB_PROJECT}
${PROJECT_URL}/-/compare/${SHAS}
9be7a2d  Sample the tide gauge every ten seconds  (Ada Pereira)
e31f6c8  Print "$(hostname)" as it stands; it's only text  (Ada Pereira)
`,
  prompt: [`Project: ${GITLAB_PROJECT}\n`, "Pushed by: ada-pereira\n", SHAS],
};
const HOSTILE = changed(PUSH, { ref: "refs/heads/$(touch ref)\\n`id`", commits: [] });
const AGAIN = randomUUID();

/** GitLab, where Ada may write, and merge request and comment are as the events say. */
async function gitLabWithWriters() {
  const { object_attributes: { last_commit: { id: sha } } } = JSON.parse(textOf(MERGE_REQUEST));
  const { object_attributes: { note } } = JSON.parse(textOf(NOTE));
  const routes: readonly GitLabRoute[] = [
    {
      in: "project",
      method: "GET",
      path: /^\/merge_requests\/7$/,
      answer: () => Response.json({ iid: 7, sha }),
    },
    {
      in: "project",
      method: "GET",
      path: /^\/merge_requests\/7\/notes\/1244$/,
      answer: () => Response.json({ id: 1244, body: note }),
    },
  ];
  const fake = await fakeGitLab({ routes: () => routes });
  const token = { fromSecret: { store: "gitlab-api", key: "token" } };
  return Object.assign(fake, {
    manifests: [
      secretStore("gitlab-api", { token: GITLAB_TOKEN.token }),
      {
        kind: "Connection",
        metadata: { name: "tidepool" },
        spec: { gitlab: { project: GITLAB_PROJECT, api: fake.url, token } },
      },
    ],
  });
}

/** The package. */
export const gitlab: PackageCase = {
  name: "gitlab",
  secrets: { webhook_token: SIGNING_TOKEN },
  platform: gitLabWithWriters,
  requests: [
    {
      title: "the test of GitLab",
      trigger: "gitlab-push",
      body: bytesOf(JSON.stringify({
        object_kind: "access_token",
        object_attributes: { id: 1, name: "pat_for_webhook_event" },
        event_name: "expiring_access_token",
      })),
      headers: gitLabRequest("Resource Access Token Hook", randomUUID()),
      answer: { handshake: '{"status":"pong"}' },
    },
    request(PUSH_OF, "a push", { body: PUSH, task: PUSHED, id: AGAIN }),
    {
      title: "the same event again",
      trigger: "gitlab-push",
      body: PUSH,
      headers: gitLabRequest("Push Hook", AGAIN),
      answer: "duplicate",
    },
    request(PUSH_OF, "a push to a branch with a hostile name", {
      body: HOSTILE,
      task: {
        payload: textOf(HOSTILE),
        log: `ada-pereira pushed 2 commits to refs/heads/$(touch ref)\\n\`id\` of ${GITLAB_PROJECT}
${PROJECT_URL}/-/compare/${SHAS}
`,
        prompt: ["Ref: refs/heads/$(touch ref)\\n`id`\n"],
      },
    }),
    request(PUSH_OF, "a deleted branch", {
      body: changed(PUSH, { after: "0".repeat(40), checkout_sha: null, commits: [] }),
    }),
    request(MERGE_REQUEST_OF, "a merge request", {
      body: MERGE_REQUEST,
      task: {
        payload: textOf(MERGE_REQUEST),
        log:
          `ada-pereira opened merge request !7 of ${GITLAB_PROJECT}: Sample the tide gauge every ten seconds
${PROJECT_URL}/-/merge_requests/7
ten-seconds into main
`,
        prompt: ["Review merge request 7:", "Every minute was too coarse for the harbour.\n"],
      },
    }),
    request(MERGE_REQUEST_OF, "new commits in a merge request", {
      body: changed(MERGE_REQUEST, {}, { action: "update", oldrev: "1".repeat(40) }),
      task: {
        payload: textOf(changed(MERGE_REQUEST, {}, { action: "update", oldrev: "1".repeat(40) })),
        log:
          `ada-pereira pushed to merge request !7 of ${GITLAB_PROJECT}: Sample the tide gauge every ten seconds
${PROJECT_URL}/-/merge_requests/7
ten-seconds into main
`,
        prompt: ["From: ten-seconds at e31f6c8a47d2"],
      },
    }),
    request(MERGE_REQUEST_OF, "another title of a merge request", {
      body: changed(MERGE_REQUEST, {}, { action: "update" }),
    }),
    request(NOTE_OF, "a comment on a merge request", {
      body: NOTE,
      task: {
        payload: textOf(NOTE),
        log:
          `ada-pereira commented on merge request !7 of ${GITLAB_PROJECT}: Sample the tide gauge every ten seconds
${PROJECT_URL}/-/merge_requests/7#note_1244
> Does \`$(reboot)\` still stand for text?
> /svc no
`,
        prompt: ["on merge request 7.", "Does `$(reboot)` still stand for text?"],
      },
    }),
    request(NOTE_OF, "a comment of the user of a project access token", {
      body: changed(NOTE, { user: { id: 5, username: "project_15_bot_0a1b2c" } }),
    }),
    request(NOTE_OF, "a comment on a commit", {
      body: changed(NOTE, {}, { noteable_type: "Commit" }),
    }),
    request(RELEASE_OF, "a release", {
      body: RELEASE,
      task: {
        payload: textOf(RELEASE),
        log: `v1.4.0 of ${GITLAB_PROJECT} was released: Neap tide
${PROJECT_URL}/-/releases/v1.4.0
> Ten seconds instead of sixty.
`,
        prompt: [`Release: v1.4.0, ${PROJECT_URL}/-/releases/v1.4.0\n`],
      },
    }),
    request(RELEASE_OF, "an edited release", { body: changed(RELEASE, { action: "update" }) }),
  ],
};
