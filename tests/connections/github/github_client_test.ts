/**
 * Calls of GitHub's API against a server that speaks it: pages, and every way in which a call fails,
 * told apart by what the caller may do next.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import type { ApiAccess } from "../../../src/connections/api/api_call.ts";
import { callGitHub, listAll } from "../../../src/connections/github/github_client.ts";
import type { RestFailure } from "../../../src/connections/api/rest.ts";
import {
  type FakeGitHub,
  fakeGitHub,
  type FakeOptions,
  problem,
  TOKEN,
} from "../../fakes/github.ts";

const HOOKS = "/repos/brightwater/tidepool/hooks";

function access({ url }: Pick<FakeGitHub, "url">, token: string = TOKEN.token): ApiAccess {
  return { api: url, token: () => token, clock: systemClock };
}

/** The failure of a call of a fake. */
async function failure(
  answer: Response | undefined,
  { method = "GET", options = {} }: { method?: "GET" | "POST"; options?: FakeOptions } = {},
): Promise<RestFailure> {
  await using fake = fakeGitHub(options);
  if (answer !== undefined) fake.interfere = () => answer;
  const config = { url: "https://svc.invalid/", content_type: "json", insecure_ssl: "0" };
  const body = method === "POST" ? { body: { name: "web", config } } : {};
  const result = await callGitHub(access(fake), { method, path: HOOKS, ...body });
  ok(!result.ok, "the call went well");
  return result;
}

Deno.test("a call gives the JSON of its answer, with long numbers whole", async () => {
  await using fake = fakeGitHub();
  fake.interfere = () => new Response('{"id":900719925474099312}');
  const answer = await callGitHub(access(fake), { path: "/user" });
  ok(answer.ok);
  equal(JSON.stringify(answer.data), '{"id":900719925474099312}');
});

Deno.test("a list is read page after page, also where the server names itself otherwise", async () => {
  await using fake = fakeGitHub({ base: "/api/v1" });
  for (let n = 0; n < 65; n++) {
    await callGitHub(access(fake), {
      method: "POST",
      path: HOOKS,
      body: {
        config: { url: `http://127.0.0.1:65535/${n}`, content_type: "json", insecure_ssl: "0" },
      },
    });
  }
  fake.interfere = (_call, carryOut) =>
    carryOut().then((answer) => {
      const link = answer.headers.get("link")?.replace(/http:..[^/]+/, "https://git.example");
      if (link !== undefined) answer.headers.set("link", link);
      return answer;
    });
  const found = await Array.fromAsync(listAll(access(fake), `${HOOKS}?per_page=30`));
  equal(found.length, 65);
});

Deno.test("the next page never leads out of the API", async () => {
  await using fake = fakeGitHub({ base: "/api/v1" });
  for (const link of ["https://evil.example/", "/login", "/api/v2/x", "/api/v1/../../login"]) {
    fake.interfere = () => Response.json([], { headers: { link: `<${link}>; rel="next"` } });
    const answer = await callGitHub(access(fake), { path: HOOKS });
    ok(answer.ok && answer.next === undefined, link);
  }
});

for (
  const [name, answer, status, said] of [
    [
      "a wrong token",
      problem(401, "Bad credentials"),
      401,
      /Bad credentials.*expired or was revoked/,
    ],
    [
      "a missing right",
      problem(403, "Resource not accessible", {
        "x-accepted-github-permissions": "issues=write; pull_requests=write",
      }),
      403,
      /needs the permission issues=write or pull_requests=write/,
    ],
    [
      "a missing scope",
      problem(403, "Must have admin rights", {
        "x-accepted-oauth-scopes": "admin:repo_hook",
        "x-oauth-scopes": "",
      }),
      403,
      /one of the scopes admin:repo_hook, and has none/,
    ],
    [
      "single sign-on",
      problem(403, "Protected", { "x-github-sso": "required; url=x" }),
      403,
      /sign-on/,
    ],
    [
      "what is not there",
      problem(404, "Not Found"),
      404,
      /repos\/brightwater\/tidepool\/hooks.*does not exist/,
    ],
    ["what was renamed", problem(301, "Moved Permanently", { location: "/x" }), 301, /renamed/],
    ["what is gone", problem(410, "Issues are disabled"), 410, /gone \(Issues are disabled\)/],
    [
      "what is not valid",
      problem(422, "Validation Failed", {}, [{ message: "Hook already exists" }]),
      422,
      /Hook already exists/,
    ],
  ] satisfies [string, Response, number, RegExp][]
) {
  Deno.test(`${name} is refused for good, in a sentence`, async () => {
    const failed = await failure(answer, { method: "POST" });
    deepEqual([failed.kind, failed.status], ["refused", status]);
    match(failed.message, said);
  });
}

Deno.test("a rate says for how long to wait", async () => {
  const reset = String(Math.ceil(Date.now() / 1000) + 300);
  for (
    const [answer, least, most] of [
      [problem(429, "Slow down", { "retry-after": "17" }), 17, 17],
      [problem(403, "You have exceeded a secondary rate limit", { "retry-after": "30" }), 30, 30],
      [
        problem(403, "API rate limit exceeded", {
          "x-ratelimit-remaining": "0",
          "x-ratelimit-reset": reset,
        }),
        290,
        302,
      ],
      [problem(429, "Slow down", { "retry-after": "999999" }), 3600, 3600],
      [
        problem(403, "API rate limit exceeded", {
          "x-ratelimit-remaining": "0",
          "x-ratelimit-reset": "999999999999",
        }),
        3600,
        3600,
      ],
      [problem(403, "You have exceeded a secondary rate limit"), 60, 60],
      [problem(429, ""), 60, 60],
    ] satisfies [Response, number, number][]
  ) {
    const { kind, retryAfterSecs = 0 } = await failure(answer, { method: "POST" });
    equal(kind, "limited");
    ok(least <= retryAfterSecs && retryAfterSecs <= most, `${retryAfterSecs}`);
  }
});

Deno.test("a request that may have been carried out is distinguished from one that was not", async () => {
  equal((await failure(problem(502, "Bad Gateway"))).kind, "unavailable");
  equal((await failure(problem(502, "Bad Gateway"), { method: "POST" })).kind, "lost");
  const closed = await callGitHub(access({ url: "http://127.0.0.1:65535" }), {
    method: "POST",
    path: "/x",
  });
  ok(!closed.ok);
  deepEqual([closed.kind, closed.fault], ["unavailable", "refused"]);
  const unknown = await callGitHub(access({ url: "http://no.such.invalid" }), { path: "/x" });
  ok(!unknown.ok);
  deepEqual([unknown.kind, unknown.fault], ["unavailable", "dns"]);
});

Deno.test("an answer that never comes is given up, and may have arrived", async () => {
  const { port, [Symbol.asyncDispose]: end } = silentServer();
  await using _server = { [Symbol.asyncDispose]: end };
  const stop = new AbortController();
  const asked = callGitHub(
    { ...access({ url: `http://127.0.0.1:${port}` }), signal: stop.signal },
    { method: "POST", path: "/x", body: {} },
  );
  stop.abort();
  const answer = await asked;
  ok(!answer.ok);
  deepEqual([answer.kind, answer.fault], ["lost", "stopped"]);
});

Deno.test("no sentence holds the token", async () => {
  await using fake = fakeGitHub();
  const answer = await callGitHub(access(fake, "ghp_secretsecret"), { path: "/user" });
  ok(!answer.ok && answer.status === 401);
  ok(!JSON.stringify(answer).includes("ghp_secretsecret"));
});

/** Takes connections and says nothing. */
function silentServer(): { port: number } & AsyncDisposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const one of listener) open.push(one);
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      for (const one of open) one.close();
    },
  };
}
