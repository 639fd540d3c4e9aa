/**
 * Calls of GitLab's API against a server that speaks it: pages, and every way in which a call fails,
 * told apart by what the caller may do next.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { callGitLab, listAll } from "../../../src/connections/gitlab/gitlab_client.ts";
import type { RestFailure } from "../../../src/connections/api/rest.ts";
import {
  BOT,
  type FakeGitLab,
  fakeGitLab,
  GITLAB_PROJECT,
  GITLAB_TOKEN,
  type GitLabOptions,
  invalid,
  problem,
} from "../../fakes/gitlab.ts";
import { gitLabAccess } from "../../rigs/gitlab_project.ts";
import { missing, skippable } from "../../helpers/requirements.ts";

const PROJECT = `/projects/${encodeURIComponent(GITLAB_PROJECT)}`;

type Method = "GET" | "POST";

/** The failure of a call of a fake. */
async function failure(
  answer: Response | undefined,
  { method = "GET", options = {}, token }: {
    method?: Method;
    options?: GitLabOptions;
    token?: string;
  } = {},
): Promise<RestFailure> {
  await using fake = await fakeGitLab(options);
  if (answer !== undefined) fake.interfere = () => answer;
  const body = method === "POST" ? { body: { title: "x" } } : {};
  const result = await callGitLab(gitLabAccess(fake, token), {
    method,
    path: `${PROJECT}/issues`,
    ...body,
  });
  ok(!result.ok, "the call went well");
  return result;
}

Deno.test(skippable("the token goes in the header that GitLab reads", missing("git")), async () => {
  await using fake = await fakeGitLab();
  const answer = await callGitLab(gitLabAccess(fake), { path: "/user" });
  ok(answer.ok);
  deepEqual(answer.data, {
    ...fake.state.shownUser(BOT.id),
    bot: false,
    email: "svc-bot@x.example",
  });
});

Deno.test(
  skippable(
    "a list is read page after page, also where the server names itself otherwise",
    missing("git"),
  ),
  async () => {
    await using fake = await fakeGitLab();
    for (let n = 0; n < 65; n++) fake.threads.openIssue(GITLAB_PROJECT, { author: BOT });
    fake.interfere = (_call, carryOut) =>
      carryOut().then((answer) => {
        const link = answer.headers.get("link")?.replace(/http:..[^/]+/, "https://git.example");
        if (link !== undefined) answer.headers.set("link", link);
        return answer;
      });
    const found = await Array.fromAsync(
      listAll(gitLabAccess(fake), `${PROJECT}/issues?per_page=30`),
    );
    equal(found.length, 65);
    equal(fake.calls.length, 3);
  },
);

Deno.test(skippable("the next page never leads out of the API", missing("git")), async () => {
  await using fake = await fakeGitLab();
  for (const link of ["https://evil.example/", "/login", "/api/v3/x", "/api/v4/../../login"]) {
    fake.interfere = () => Response.json([], { headers: { link: `<${link}>; rel="next"` } });
    const answer = await callGitLab(gitLabAccess(fake), { path: PROJECT });
    ok(answer.ok && answer.next === undefined, link);
  }
});

Deno.test(
  skippable("a redirect is not followed, and names what to do", missing("git")),
  async () => {
    let asked = 0;
    await using elsewhere = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      () => (asked++, Response.json([])),
    );
    const location = `http://127.0.0.1:${elsewhere.addr.port}/api/v4/user`;
    const failed = await failure(new Response(null, { status: 302, headers: { location } }));
    match(failed.message, /has moved: the project was renamed or transferred, write its new path/);
    equal(asked, 0);
  },
);

Deno.test(
  skippable("a project that has moved is told for reading and for writing", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    const project = fake.state.projectAt(GITLAB_PROJECT);
    ok(project !== undefined);
    project.earlier.push("brightwater/old");
    for (const method of ["GET", "POST"] as const) {
      const path = "/projects/brightwater%2Fold/issues";
      const answer = await callGitLab(gitLabAccess(fake), { method, path });
      ok(!answer.ok);
      deepEqual([answer.kind, answer.status], ["refused", method === "GET" ? 302 : 405]);
      match(answer.message, /was renamed or transferred, write its new path/);
    }
  },
);

const READS = { token: "glpat-reads", user: BOT.id, scopes: ["read_api"] };
const LITTLE = { token: "glpat-little", user: BOT.id, scopes: ["read_user"] };
const ENDED = { token: "glpat-ended", user: BOT.id, ended: "expired" } as const;
const OTHER = { token: "glpat-other", user: BOT.id, of: "brightwater/other" };
const tokens = [GITLAB_TOKEN, READS, LITTLE, ENDED, OTHER];

for (
  const [name, given, status, said] of [
    [
      "a wrong token",
      { token: "glpat-wrong" },
      401,
      /127.*refuses the token \(401 Unauthorized\): it is wrong/,
    ],
    ["a token that has expired", { token: ENDED.token }, 401, /invalid_token; Token is expired/],
    [
      "a missing scope",
      { token: READS.token, method: "POST" as Method },
      403,
      /insufficient_scope.*: the token needs the scope api$/,
    ],
    [
      "a missing scope of several",
      { token: LITTLE.token },
      403,
      /: the token needs the scope api or read_api$/,
    ],
    ["a token of another project", { token: OTHER.token }, 404, /does not exist, was renamed, or/],
    [
      "a role that is too low",
      { answer: problem(403, "Forbidden") },
      403,
      /\(403 Forbidden\): .*Developer to answer and push, Maintainer for webhooks/,
    ],
    [
      "what is not valid",
      { answer: invalid("title", "can't be blank") },
      400,
      /refused with status 400 \(title can't be blank\)/,
    ],
    [
      "what is there already",
      { answer: Response.json({ message: ["Another open one exists: !3"] }, { status: 409 }) },
      409,
      /409 \(Another open one exists: !3\)/,
    ],
    [
      "an answer of another server",
      { answer: new Response("<html>Sign in</html>", { status: 422 }) },
      422,
      /refused with status 422$/,
    ],
  ] satisfies [string, { answer?: Response; token?: string; method?: Method }, number, RegExp][]
) {
  Deno.test(skippable(`${name} is refused for good, in a sentence`, missing("git")), async () => {
    const { answer, ...how } = { answer: undefined, ...given };
    const failed = await failure(answer, { ...how, options: { tokens } });
    deepEqual([failed.kind, failed.status], ["refused", status]);
    match(failed.message, said);
    ok(!/glpat/.test(failed.message));
  });
}

Deno.test(
  skippable("the words of an error are short, in one line, whatever their form", missing("git")),
  async () => {
    const deep = { a: { b: { c: { d: { e: "x" } } } } };
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`field${n}`, ["bad"]]));
    for (
      const message of [deep, many, ["a\nb".repeat(10_000)], 7, null, [[["x"]]], { "": [null, {}] }]
    ) {
      const { message: text } = await failure(Response.json({ message }, { status: 400 }));
      ok(text.length < 400 && !text.includes("\n"), text);
    }
  },
);

Deno.test(skippable("a rate says for how long to wait", missing("git")), async () => {
  const reset = String(Math.ceil(Date.now() / 1000) + 300);
  for (
    const [headers, least, most] of [
      [{ "retry-after": "17" }, 17, 17],
      [{ "ratelimit-remaining": "0", "ratelimit-reset": reset }, 290, 302],
      [{ "retry-after": "999999" }, 3600, 3600],
      [{ "ratelimit-reset": "999999999999" }, 3600, 3600],
      [{ "ratelimit-reset": "soon" }, 60, 60],
      [{}, 60, 60],
    ] satisfies [Record<string, string>, number, number][]
  ) {
    const answer = new Response("Retry later\n", { status: 429, headers });
    const { kind, retryAfterSecs = 0 } = await failure(answer, { method: "POST" });
    equal(kind, "limited");
    ok(least <= retryAfterSecs && retryAfterSecs <= most, `${retryAfterSecs}`);
  }
});

Deno.test(
  skippable("a refusal for want of a right is no limit of the rate", missing("git")),
  async () => {
    const answer = Response.json({ message: "403 Forbidden - rate limit" }, { status: 403 });
    equal((await failure(answer)).kind, "refused");
  },
);

Deno.test(
  skippable(
    "a request that may have been carried out is distinguished from one that was not",
    missing("git"),
  ),
  async () => {
    equal((await failure(problem(502, "Bad Gateway"))).kind, "unavailable");
    equal((await failure(problem(502, "Bad Gateway"), { method: "POST" })).kind, "lost");
  },
);

Deno.test(skippable("an answer without an end is cut, and refused", missing("git")), async () => {
  await using fake = await fakeGitLab();
  let sent = 0;
  fake.interfere = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(0x20));
        },
      }),
    );
  const answer = await callGitLab(gitLabAccess(fake as FakeGitLab), { path: "/user" });
  ok(!answer.ok);
  deepEqual([answer.kind, answer.message.endsWith("is too long")], ["refused", true]);
  ok(sent < 64 * 1024 * 1024, `${sent}`);
});
