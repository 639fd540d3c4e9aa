/**
 * The fake GitHub as a program, for `make demo ARGS=--github`: writes its URL to standard output
 * and serves until its standard input ends. `POST /demo/comment` writes a comment on pull request
 * 7, and `GET /demo/pull` shows that pull request as text.
 *
 * @module
 */

import { type FakeGitHub, fakeGitHub, type Route, TOKEN } from "./github.ts";

const REPOSITORY = "brightwater/tidepool";
const PULL = 7;
const SHA = "9be7a2d05c41f386e31f6c8a47d24f0c61d2b97a";
const ADA = { login: "ada-pereira", id: 77 };

/** The page of the pull request as text. */
function pageOf({ issues }: FakeGitHub): string {
  const emoji = (to: string) =>
    issues.reactions.filter((one) => one.to === to)
      .map(({ user, content }) => `\n  :${content}: by ${user.login}`).join("");
  const comments = issues.comments.map(({ id, user, body, created_at, updated_at }) => {
    const edited = created_at === updated_at ? "" : " (edited)";
    const text = body.replaceAll(/<!--[^]*?-->/g, "").trim();
    return `${user.login}${edited}: ${text}${emoji(`issues/comments/${id}`)}\n`;
  });
  const statuses = issues.statuses.map(({ sha, context, state, description }) =>
    `status of ${sha.slice(0, 7)}: ${context} ${state}${
      description === null ? "" : `, ${description}`
    }\n`
  );
  return `${REPOSITORY}#${PULL}  Sample the tide gauge every ten seconds\n\n${
    [...comments, ...statuses].join("")
  }`;
}

const demoRoutes = (demo: () => FakeGitHub): readonly Route[] => [
  {
    method: "POST",
    path: /^\/demo\/comment$/,
    async answer({ body }) {
      const text = String(body["body"]);
      await demo().issues.comment({
        repository: REPOSITORY,
        issue: PULL,
        user: ADA,
        body: text,
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
    path: /^\/demo\/pull$/,
    answer: () => new Response(pageOf(demo())),
  },
];

const fake: FakeGitHub = fakeGitHub({
  repositories: [{
    full_name: REPOSITORY,
    permissions: { [TOKEN.login]: "admin", [ADA.login]: "write" },
  }],
  routes: () => demoRoutes(() => fake),
});
fake.issues.issues.push({
  repository: REPOSITORY,
  number: PULL,
  title: "Sample the tide gauge every ten seconds",
  body: "Every minute was too coarse for the harbour.",
  user: ADA,
  pull: { sha: SHA, commits: [SHA] },
});
console.log(fake.url);
for await (const _chunk of Deno.stdin.readable) { /* until the program that started it ends */ }
await fake[Symbol.asyncDispose]();
