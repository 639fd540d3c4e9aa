/**
 * Logins at a provider: one that is honest, away, slow, lies, or changes its keys.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import * as jose from "jose";
import { gitHubWay, oidcWay } from "../../src/console/login/by_provider.ts";
import { away, providerFetch } from "../../src/console/login/provider_fetch.ts";
import { FakeProvider, ISSUER, type Lies, makeKey } from "../fakes/oidc_provider.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const VALUES = { issuer: ISSUER, clientId: "svc", secret: "s3cret-of-svc" };
const CALLBACK = "https://svc.example.com/login/id/callback";
const [KEY, NEXT, STRANGE] = await Promise.all(["a", "b", "a"].map(makeKey)) as [
  Awaited<ReturnType<typeof makeKey>>,
  Awaited<ReturnType<typeof makeKey>>,
  Awaited<ReturnType<typeof makeKey>>,
];
const SECRETS = { state: "s".repeat(64), nonce: "n".repeat(64), verifier: "v".repeat(64) };
const NOW = Math.floor(Date.now() / 1000);

/** A provider, and a way to log in at it. */
function madeWith(lies: Lies = {}) {
  const provider = new FakeProvider(KEY);
  provider.lies = lies;
  const clock = new ManualClock();
  const way = oidcWay("id", VALUES, { ask: provider.ask, clock, callback: CALLBACK });
  const logIn = async (more: Record<string, string> = {}, secrets = SECRETS) =>
    await way.finish(provider.authorize(await way.begin(SECRETS), more), secrets);
  return { provider, way, clock, logIn };
}

Deno.test("a login by OpenID Connect is issuer and subject, by two requests once the provider is known", async () => {
  const { provider, way, clock, logIn } = madeWith();
  equal(await logIn(), `oidc:${ISSUER}#1155`);
  deepEqual(provider.asked, ["/.well-known/openid-configuration", "/token", "/keys"]);
  equal(await logIn(), `oidc:${ISSUER}#1155`);
  deepEqual(provider.asked.slice(3), ["/token", "/keys"]);
  clock.time += 10 * 60_000;
  const to = new URL(await way.begin(SECRETS));
  equal(provider.asked.at(-1), "/.well-known/openid-configuration", "described anew");
  deepEqual(Object.fromEntries(to.searchParams), {
    client_id: "svc",
    scope: "openid",
    nonce: SECRETS.nonce,
    response_type: "code",
    redirect_uri: CALLBACK,
    state: SECRETS.state,
    code_challenge: to.searchParams.get("code_challenge"),
    code_challenge_method: "S256",
  });
});

Deno.test("clocks may be off by a minute", async () => {
  equal(await madeWith({ claims: { exp: NOW - 50 } }).logIn(), `oidc:${ISSUER}#1155`);
  equal(
    await madeWith({ claims: { iat: NOW + 50, nbf: NOW + 50 } }).logIn(),
    `oidc:${ISSUER}#1155`,
  );
});

Deno.test("a provider that changes its keys is believed with the new ones at once", async () => {
  const { provider, logIn } = madeWith();
  await logIn();
  provider.keys = [NEXT];
  equal(await logIn(), `oidc:${ISSUER}#1155`);
  provider.keys = [STRANGE, KEY];
  await rejects(logIn(), { code: "unauthorized" }, "two keys of one name");
});

const unsigned = (alg: string) => {
  const part = (value: unknown) => jose.base64url.encode(JSON.stringify(value));
  const claims = {
    iss: ISSUER,
    aud: "svc",
    sub: "1155",
    nonce: SECRETS.nonce,
    iat: NOW,
    exp: NOW + 300,
  };
  return `${part({ alg, kid: "a" })}.${part(claims)}.`;
};
const lying = await new jose.SignJWT({ nonce: SECRETS.nonce })
  .setProtectedHeader({ alg: "RS256", kid: "a" }).setIssuer(ISSUER).setAudience("svc")
  .setSubject("admin").setIssuedAt().setExpirationTime("5m").sign(STRANGE.privateKey);

const LIES: Readonly<Record<string, Lies>> = {
  "another issuer": { claims: { iss: "https://evil.example" } },
  "a foreign audience": { claims: { aud: "other" } },
  "two audiences, for another": { claims: { aud: ["svc", "other"], azp: "other" } },
  "another nonce": { claims: { nonce: "x" } },
  "no nonce": { claims: { nonce: undefined } },
  "no subject": { claims: { sub: undefined } },
  "an empty subject": { claims: { sub: "" } },
  "a subject that is a number": { claims: { sub: 1155 } },
  "over for more than a minute": { claims: { exp: NOW - 70 } },
  "no end": { claims: { exp: undefined } },
  "not valid for more than a minute": { claims: { nbf: NOW + 70 } },
  "alg none": { idToken: unsigned("none") },
  "alg none, which it says it has": {
    idToken: unsigned("none"),
    discovery: { id_token_signing_alg_values_supported: ["none", "RS256"] },
  },
  "no signature": { idToken: unsigned("RS256") },
  "a signature of another key": { idToken: lying },
  "no ID token": { tokens: { id_token: undefined } },
  "an ID token that is none": { idToken: "x" },
};

for (const [what, lies] of Object.entries(LIES)) {
  Deno.test(`a provider is not believed that gives ${what}`, async () => {
    await rejects(madeWith(lies).logIn(), { code: "unauthorized" });
  });
}

Deno.test("an answer of another login, or of another provider, is not believed", async () => {
  const other = { ...SECRETS, state: "x".repeat(64) };
  await rejects(madeWith().logIn({}, other), { code: "unauthorized" }, "state");
  await rejects(madeWith().logIn({}, { ...SECRETS, verifier: "w".repeat(64) }), {
    code: "unauthorized",
  });
  await rejects(madeWith().logIn({}, { ...SECRETS, nonce: "m".repeat(64) }), {
    code: "unauthorized",
  });
  await rejects(madeWith().logIn({ iss: "https://evil.example" }), { code: "unauthorized" }, "iss");
  const { provider, way } = madeWith();
  const answer = provider.authorize(await way.begin(SECRETS));
  answer.delete("iss");
  await rejects(way.finish(answer, SECRETS), { code: "unauthorized" }, "no iss, which it promises");
  await rejects(madeWith().logIn({ error: "access_denied" }), { code: "unauthorized" }, "denied");
  await rejects(madeWith().logIn({ code: "another" }), { code: "unauthorized" }, "code");
});

const html = (status: number) => () =>
  new Response("<html>", { status, headers: { "content-type": "text/html" } });
const AWAY: Readonly<Record<string, () => Response | Promise<Response>>> = {
  "no answer": () => Promise.reject(away("timeout")),
  "an error page": html(502),
  "a page": html(200),
  "no JSON": () => new Response("x", { headers: { "content-type": "application/json" } }),
  "a redirect": () =>
    new Response(null, { status: 302, headers: { location: "https://evil.example" } }),
  "an error": () => Response.json({ error: "server_error" }, { status: 500 }),
};

for (const path of ["/.well-known/openid-configuration", "/token", "/keys"]) {
  for (const [what, answer] of Object.entries(AWAY)) {
    Deno.test(`a provider is away that gives ${what} at ${path}, and the next login works`, async () => {
      const { provider, logIn } = madeWith({ at: { [path]: answer } });
      await rejects(logIn(), { code: "unreachable" });
      provider.lies = {};
      equal(await logIn(), `oidc:${ISSUER}#1155`);
    });
  }
}

Deno.test("a description of another issuer, or without https, is not used", async () => {
  for (
    const discovery of [
      { issuer: "https://evil.example" },
      { authorization_endpoint: "http://id.example/authorize" },
      { authorization_endpoint: undefined },
      { token_endpoint: "http://id.example/token" },
      { jwks_uri: "http://id.example/keys" },
    ]
  ) {
    const code = await madeWith({ discovery }).logIn().then(() => "in", (error) => error.code);
    match(code, /^(unauthorized|unreachable)$/, JSON.stringify(discovery));
  }
});

Deno.test("a provider that is slow is given up, and no redirect of it is followed", async () => {
  using server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const clock = new ManualClock();
  const asking = providerFetch(clock)(`http://127.0.0.1:${server.addr.port}/`, {});
  using _connection = await server.accept();
  const refused = rejects(asking, { code: "unreachable" });
  await clock.advance(10_000);
  await refused;
});

/** GitHub, which knows one user by this answer. */
function gitHub(user: () => Response, token: () => Response) {
  const asked: string[] = [];
  const ask = (url: string, { headers }: { headers?: unknown }) => {
    asked.push(url);
    if (url.endsWith("/login/oauth/access_token")) return Promise.resolve(token());
    equal(new Headers(headers as HeadersInit).get("authorization"), "Bearer gho_x");
    return Promise.resolve(user());
  };
  return { asked, ask };
}

const TOKEN = () => Response.json({ access_token: "gho_x", token_type: "bearer", scope: "" });

async function gitHubLogin(
  user: () => Response,
  { token = TOKEN, host, answer = {} }: {
    token?: () => Response;
    host?: string;
    answer?: Record<string, string>;
  } = {},
): Promise<string> {
  const { ask, asked } = gitHub(user, token);
  const values = { clientId: "svc", clientSecretFile: "f", secret: "s3cret-of-svc" };
  const way = gitHubWay("github", host === undefined ? values : { ...values, host }, {
    ask,
    clock: new ManualClock(),
    callback: CALLBACK,
  });
  const to = new URL(await way.begin(SECRETS));
  equal(to.origin + to.pathname, `https://${host ?? "github.com"}/login/oauth/authorize`);
  const back = new URLSearchParams({ code: "c", state: SECRETS.state, ...answer });
  const identity = await way.finish(back, SECRETS);
  const api = host === undefined ? "https://api.github.com/user" : `https://${host}/api/v3/user`;
  equal(asked.at(-1), api);
  return identity;
}

Deno.test("a login at GitHub is the number of the user, never the login", async () => {
  const octocat = () => Response.json({ login: "octocat", id: 583231 });
  equal(await gitHubLogin(octocat), "github:583231");
  equal(await gitHubLogin(octocat, { host: "git.example.com" }), "github:git.example.com/583231");
  equal(await gitHubLogin(octocat, { answer: { iss: "https://github.com/x" } }), "github:583231");
  for (const id of ["583231", null, 1.5, 2 ** 60, undefined]) {
    await rejects(gitHubLogin(() => Response.json({ login: "octocat", id })), {
      code: "unauthorized",
    });
  }
  await rejects(gitHubLogin(octocat, { answer: { state: "x" } }), { code: "unauthorized" });
  // GitHub says so with status 200.
  const token = () => Response.json({ error: "bad_verification_code" });
  const refused = await gitHubLogin(octocat, { token }).then(() => "in", (error) => error.code);
  match(refused, /^un(authorized|reachable)$/);
  await rejects(gitHubLogin(() => new Response("x", { status: 502 })), { code: "unreachable" });
  await rejects(gitHubLogin(() => new Response("x")), { code: "unreachable" });
});
