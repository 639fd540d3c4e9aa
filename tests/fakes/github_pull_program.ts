/**
 * The fake GitHub with a repository, an issue and checks, as a program for `make demo ARGS=--pull`:
 * writes its URL to standard output and serves until its standard input ends. `POST /demo/comment`
 * writes a comment on the issue, `GET /demo/clone` says where the repository lies, and `GET /demo/pull`
 * shows the pull request as text. The checks run on every commit of a pull request, and read one file.
 *
 * @module
 */

import type { FakeGitHubWithGit } from "./github_git.ts";
import { fakeGitHubWithGit } from "./github_git.ts";
import { type Route, TOKEN } from "./github.ts";
import type { FakePull } from "./github_pulls.ts";

const REPOSITORY = "brightwater/tidepool";
const ISSUE = 41;
const ADA = { login: "ada-pereira", id: 77 };

const FILES = {
  "README.md": "# Tidepool\n\nSamples the tide gauge every 60 seconds.\n",
  "gauge.conf": "interval=60\n",
  "src/gauge.py":
    'INTERVAL = 60\n\n\ndef pause():\n    """Seconds until the next sample."""\n    return INTERVAL\n',
  ".gitignore": "loot\n",
};

/** Conclusion of the checks by commit. */
const checked = new Map<string, "success" | "failure">();

/** The pull request as text. */
async function pageOf({ pulls, git, issues }: FakeGitHubWithGit): Promise<string> {
  const [pull] = pulls.pulls;
  if (pull === undefined) return "There is no pull request yet.\n";
  const range = `refs/heads/${pull.base}..${pull.head.sha}`;
  const commits = await git.run(REPOSITORY, "log", "--reverse", "--format=%H %an: %s", range);
  const stat = await git.run(REPOSITORY, "diff", "--stat=76", `${pull.base}...${pull.head.sha}`);
  const lines = commits.split("\n").map((line) => {
    const [sha = "", ...rest] = line.split(" ");
    return `  ${sha.slice(0, 7)} ${rest.join(" ")}  [checks: ${checked.get(sha) ?? "running"}]\n`;
  });
  const { title, body } = pull.issue;
  const text = (body ?? "").replaceAll(/<!--[^]*?-->/g, "").trim();
  const answers = issues.comments.filter(({ user }) => user.login === TOKEN.login).map(({ body }) =>
    `${TOKEN.login}: ${body.replaceAll(/<!--[^]*?-->/g, "").trim()}\n`
  );
  return `${REPOSITORY}#${pull.number}  ${title}  (${
    pull.draft ? "draft" : "ready"
  }, by ${pull.user.login})
${pull.head.branch} -> ${pull.base}

${text}

${lines.join("")}${stat}
${answers.join("")}`;
}

/** Runs the checks of commits that are new, and tells the webhooks. */
async function runChecks(fake: FakeGitHubWithGit, { head, number }: FakePull): Promise<void> {
  const { sha, branch } = head;
  if (checked.has(sha)) return;
  const file = await fake.git.run(REPOSITORY, "show", `${sha}:gauge.conf`);
  const conclusion = /^interval=[0-9]+$/m.test(file) ? "success" : "failure";
  checked.set(sha, conclusion);
  const payload = {
    action: "completed",
    check_suite: {
      head_branch: branch,
      head_sha: sha,
      status: "completed",
      conclusion,
      pull_requests: [{ number, head: { ref: branch, sha }, base: { repo: { id: 1 } } }],
    },
    repository: { id: 1, full_name: REPOSITORY },
    sender: { login: TOKEN.login, id: TOKEN.id, type: "User" },
  };
  await fake.hooks.send(REPOSITORY, { event: "check_suite", payload: JSON.stringify(payload) });
}

const demoRoutes = (demo: () => FakeGitHubWithGit): readonly Route[] => [
  {
    method: "POST",
    path: /^\/demo\/comment$/,
    async answer({ body }) {
      await demo().issues.comment({
        repository: REPOSITORY,
        issue: ISSUE,
        user: ADA,
        body: String(body["body"]),
        association: "MEMBER",
      });
      const tries = demo().hooks.tries.filter(({ event }) => event === "issue_comment");
      const [last] = tries.slice(-1);
      return new Response(
        `GitHub sent the event and was answered ${last?.status_code}: ${last?.answer}\n`,
      );
    },
  },
  {
    method: "GET",
    path: /^\/demo\/clone$/,
    answer: () => new Response(demo().git.directory(REPOSITORY)),
  },
  {
    method: "GET",
    path: /^\/demo\/pull$/,
    answer: async () => new Response(await pageOf(demo())),
  },
];

const fake: FakeGitHubWithGit = await fakeGitHubWithGit({
  repositories: [{
    full_name: REPOSITORY,
    permissions: { [TOKEN.login]: "admin", [ADA.login]: "write" },
  }],
  routes: () => demoRoutes(() => fake),
});
await fake.git.commit(REPOSITORY, "main", FILES);
fake.issues.issues.push({
  repository: REPOSITORY,
  number: ISSUE,
  title: "Sample the tide gauge every ten seconds",
  body: "Every minute is too coarse for the harbour.",
  user: ADA,
});
console.log(fake.url);
const timer = setInterval(() => {
  for (const pull of fake.pulls.pulls) void runChecks(fake, pull);
}, 200);
for await (const _chunk of Deno.stdin.readable) { /* until the program that started it ends */ }
clearInterval(timer);
await fake[Symbol.asyncDispose]();
