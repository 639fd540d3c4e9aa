/**
 * Requests of GitHub for its package.
 *
 * @module
 */

import { createHmac, randomUUID } from "node:crypto";
import { fakeGitHub, TOKEN } from "../fakes/github.ts";
import { signGithub } from "../helpers/github.ts";
import { secretStore } from "../helpers/manifests.ts";
import {
  bytesOf,
  type ExpectedTask,
  fixture,
  type PackageCase,
  type PackageRequest,
  textOf,
} from "./package_case.ts";

const SECRET = "It's a Secret to Everybody";

const PUSH = fixture("github/push.json");
const PULL_REQUEST = fixture("github/pull_request.json");
const ISSUE_COMMENT = fixture("github/issue_comment.json");
const RELEASE = fixture("github/release.json");

/** Headers as GitHub sends them; `id` names the delivery. */
export function githubRequest(event: string, id: string, type = "application/json") {
  return (body: Uint8Array): Record<string, string> => ({
    "accept": "*/*",
    "content-type": type,
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-github-delivery": id,
    "x-github-event": event,
    "x-github-hook-id": "401562837",
    "x-github-hook-installation-target-id": "648201357",
    "x-github-hook-installation-target-type": "repository",
    "x-hub-signature": `sha1=${createHmac("sha1", SECRET).update(body).digest("hex")}`,
    "x-hub-signature-256": signGithub(SECRET, body),
  });
}

/** One request; every delivery has its own id unless one is given. */
function request(
  [event, trigger]: readonly [event: string, trigger: string],
  title: string,
  rest: { body: Uint8Array; task?: ExpectedTask; id?: string; type?: string },
): PackageRequest {
  return {
    title,
    trigger,
    body: rest.body,
    headers: githubRequest(event, rest.id ?? randomUUID(), rest.type),
    ...(rest.task === undefined
      ? { answer: "filtered" }
      : { answer: "accepted", tasks: [rest.task] }),
  };
}

/** The same body with other values of its top-level fields. */
function changed(body: Uint8Array, fields: Record<string, unknown>): Uint8Array {
  return bytesOf(JSON.stringify({ ...JSON.parse(textOf(body)), ...fields }));
}

const push = ["push", "github-push"] as const;
const pullRequest = ["pull_request", "github-pull-request"] as const;
const comment = ["issue_comment", "github-issue-comment"] as const;
const release = ["release", "github-release"] as const;

const PUSHED: ExpectedTask = {
  payload: textOf(PUSH),
  log: `ada-pereira pushed 2 commits to refs/heads/main of brightwater/tidepool
https://github.com/brightwater/tidepool/compare/4f0c61d2b97a...e31f6c8a47d2
9be7a2d  Sample the tide gauge every ten seconds  (Ada Pereira)
e31f6c8  Print "$(hostname)" as it stands; it's only text  (Ada Pereira)
`,
  prompt: [
    "Repository: brightwater/tidepool\nRef: refs/heads/main\nPushed by: ada-pereira\n",
    '"message":"Sample the tide gauge every ten seconds\\n\\nThe old interval missed',
  ],
};

const form = bytesOf(`payload=${encodeURIComponent(textOf(PUSH))}`);
const hostileRef = changed(PUSH, { ref: "refs/heads/$(touch ref)\\n`id`", commits: [] });
const updated = changed(PULL_REQUEST, {
  action: "synchronize",
  before: "4f0c61d2b97a35e8140c6be2d5973fa0168e4b7d",
  after: "c2f7309be1d84a65f0937c2b8de6154af0b3d971",
});
const bot = changed(ISSUE_COMMENT, { sender: { login: "ci[bot]", type: "Bot" } });
/** What Gitea and Forgejo send: no `sender.type`, and other fields of a push. */
const giteaPush = (more: Record<string, unknown> = {}) =>
  changed(PUSH, {
    forced: undefined,
    deleted: undefined,
    compare: undefined,
    compare_url: "http://git.example/brightwater/tidepool/compare/4f0c61d2b97a...e31f6c8a47d2",
    pusher: { id: 1, login: "ada", full_name: "", username: "ada" },
    sender: { id: 1, login: "ada" },
    commits: [],
    total_commits: 0,
    ...more,
  });
const { author_association: _none, ...giteaBody } = JSON.parse(textOf(ISSUE_COMMENT)).comment;
const giteaComment = changed(ISSUE_COMMENT, {
  sender: { id: 1, login: "ada" },
  comment: giteaBody,
  issue: { ...JSON.parse(textOf(ISSUE_COMMENT)).issue, pull_request: null },
  is_pull: false,
});
const giteaPullRequest = changed(PULL_REQUEST, {
  action: "synchronized",
  sender: { id: 1, login: "bo-lindqvist" },
  commit_id: "",
  requested_reviewer: null,
  review: null,
  pull_request: {
    ...JSON.parse(textOf(PULL_REQUEST)).pull_request,
    draft: undefined,
    commits: undefined,
  },
});
const bare = changed(RELEASE, {
  release: {
    ...JSON.parse(textOf(RELEASE)).release,
    name: null,
    body: null,
    assets: [],
    prerelease: true,
  },
});
const pullRequestLog = (did: string) =>
  `bo-lindqvist ${did} pull request #42 of brightwater/tidepool: Warn before the tide gate closes; see "$(touch tide)" & \`id\`
https://github.com/brightwater/tidepool/pull/42
brightwater:gate-warning into main: commits 3, files 2, lines +41 -7
`;
const pullRequestPrompt = [
  "Review pull request 42: ",
  "From: brightwater:gate-warning at c2f7309be1d84a65f0937c2b8de6154af0b3d971\nInto: main\n",
  'Title: Warn before the tide gate closes; see "$(touch tide)" & `id`',
  "The gate now warns **ten minutes** ahead.\r\n\r\nCloses #17",
];

const again = randomUUID();

/** GitHub with what the requests are about, where those who sent them may write. */
export function githubWithWriters(logins = ["ada-pereira", "bo-lindqvist", "ada"]) {
  const full_name = "brightwater/tidepool";
  const permissions = Object.fromEntries(logins.map((login) => [login, "write" as const]));
  const fake = fakeGitHub({ repositories: [{ full_name, permissions }] });
  const { id, body, user } = JSON.parse(textOf(ISSUE_COMMENT)).comment;
  const at = "2026-01-01T00:00:00Z";
  const place = { repository: full_name, issue: 17 };
  fake.issues.comments.push({ ...place, id, body, user, created_at: at, updated_at: at });
  const { number, pull_request: { head: { sha }, title } } = JSON.parse(textOf(PULL_REQUEST));
  const pull = { sha, commits: [sha] };
  fake.issues.issues.push({ repository: full_name, number, title, body: "", user, pull });
  const token = { fromSecret: { store: "github-api", key: "token" } };
  return Object.assign(fake, {
    manifests: [
      secretStore("github-api", { token: TOKEN.token }),
      {
        kind: "Connection",
        metadata: { name: "tidepool" },
        spec: { github: { repository: full_name, api: fake.url, token } },
      },
    ],
  });
}

/** The package. */
export const github: PackageCase = {
  name: "github",
  secrets: { webhook_secret: SECRET },
  platform: githubWithWriters,
  requests: [
    request(push, "a push", { body: PUSH, task: PUSHED, id: again }),
    {
      title: "the same delivery again",
      trigger: "github-push",
      body: PUSH,
      headers: githubRequest("push", again),
      answer: "duplicate",
    },
    request(push, "a push, sent as a form", {
      body: form,
      task: PUSHED,
      type: "application/x-www-form-urlencoded",
    }),
    request(push, "a push to a branch with a hostile name", {
      body: hostileRef,
      task: {
        payload: textOf(hostileRef),
        log:
          `ada-pereira pushed 0 commits to refs/heads/$(touch ref)\\n\`id\` of brightwater/tidepool
https://github.com/brightwater/tidepool/compare/4f0c61d2b97a...e31f6c8a47d2
`,
        prompt: ["Ref: refs/heads/$(touch ref)\\n`id`\n"],
      },
    }),
    request(push, "a push at Gitea", {
      body: giteaPush(),
      task: {
        payload: textOf(giteaPush()),
        log: `ada pushed 0 commits to refs/heads/main of brightwater/tidepool
http://git.example/brightwater/tidepool/compare/4f0c61d2b97a...e31f6c8a47d2
`,
        prompt: ["Pushed by: ada\nChanges: http://git.example/brightwater/tidepool/compare/"],
      },
    }),
    request(push, "a deleted branch at Gitea", {
      body: giteaPush({ after: "0000000000000000000000000000000000000000" }),
    }),
    request(push, "a deleted branch", { body: changed(PUSH, { deleted: true, commits: [] }) }),
    request(["pull_request", "github-push"], "another event", { body: PULL_REQUEST }),
    request(push, "another event that says it is a push", { body: PULL_REQUEST }),
    {
      title: "a push sent again as another event",
      trigger: "github-push",
      body: PUSH,
      headers: githubRequest("release", randomUUID()),
      answer: "duplicate",
    },
    {
      title: "GitHub's handshake",
      trigger: "github-release",
      body: bytesOf('{"zen":"Keep it logically awesome.","hook_id":401562837}'),
      headers: githubRequest("ping", randomUUID()),
      answer: { handshake: '{"status":"pong"}' },
    },
    request(pullRequest, "an opened pull request", {
      body: PULL_REQUEST,
      task: {
        payload: textOf(PULL_REQUEST),
        log: pullRequestLog("opened"),
        prompt: pullRequestPrompt,
      },
    }),
    request(pullRequest, "a pull request with new commits", {
      body: updated,
      task: {
        payload: textOf(updated),
        log: pullRequestLog("pushed to"),
        prompt: pullRequestPrompt,
      },
    }),
    request(pullRequest, "a pull request with new commits at Gitea", {
      body: giteaPullRequest,
      task: {
        payload: textOf(giteaPullRequest),
        log: pullRequestLog("pushed to").replace("commits 3", "commits ?"),
        prompt: pullRequestPrompt,
      },
    }),
    request(pullRequest, "a closed pull request", {
      body: changed(PULL_REQUEST, { action: "closed" }),
    }),
    request(pullRequest, "a push that says it is a pull request", { body: PUSH }),
    request(comment, "a comment", {
      body: ISSUE_COMMENT,
      task: {
        payload: textOf(ISSUE_COMMENT),
        log:
          `ada-pereira commented on issue #17 of brightwater/tidepool: The tide gate closes without a warning
https://github.com/brightwater/tidepool/issues/17#issuecomment-2724619350
> The gauge said **2.4 m** 🌊 when it closed.
> 
> > closes without a warning
> 
> It said so in the log; \`$(touch gate)\` and \\n; "quotes", too.
`,
        prompt: [
          "https://github.com/brightwater/tidepool/issues/17#issuecomment-2724619350",
          "Yesterday at 17:20 the gate closed",
          "Author: ada-pereira (MEMBER)\n\nThe gauge said **2.4 m** 🌊 when it closed.\r\n",
        ],
      },
    }),
    request(comment, "a comment at Gitea, where nobody is said to be a bot", {
      body: giteaComment,
      task: {
        payload: textOf(giteaComment),
        log:
          `ada-pereira commented on issue #17 of brightwater/tidepool: The tide gate closes without a warning
https://github.com/brightwater/tidepool/issues/17#issuecomment-2724619350
> The gauge said **2.4 m** 🌊 when it closed.
> 
> > closes without a warning
> 
> It said so in the log; \`$(touch gate)\` and \\n; "quotes", too.
`,
        prompt: ["Author: ada-pereira (association not told)\n\nThe gauge said"],
      },
    }),
    request(comment, "a comment of a bot", { body: bot }),
    request(comment, "an edited comment", { body: changed(ISSUE_COMMENT, { action: "edited" }) }),
    request(comment, "an issue that says it is a comment", {
      body: changed(ISSUE_COMMENT, { comment: undefined }),
    }),
    request(release, "a release", {
      body: RELEASE,
      task: {
        payload: textOf(RELEASE),
        log: `ada-pereira released v1.4.0 of brightwater/tidepool: Spring tide
https://github.com/brightwater/tidepool/releases/tag/v1.4.0
> ## What is new
> 
> - The gate warns ten minutes ahead
> - \`$(touch release)\` is only text
tidepool-linux-x64.tar.gz  18350221 bytes
SHA256SUMS  198 bytes
`,
        prompt: [
          "Release: v1.4.0, https://github.com/brightwater/tidepool/releases/tag/v1.4.0\n",
          "Name: Spring tide\n\n## What is new\r\n",
        ],
      },
    }),
    request(release, "a pre-release with neither name nor notes", {
      body: bare,
      task: {
        payload: textOf(bare),
        log: `ada-pereira released v1.4.0 of brightwater/tidepool (pre-release)
https://github.com/brightwater/tidepool/releases/tag/v1.4.0
`,
        prompt: ["Name: \n"],
      },
    }),
    request(release, "a release that was only created", {
      body: changed(RELEASE, { action: "created" }),
    }),
  ],
};
