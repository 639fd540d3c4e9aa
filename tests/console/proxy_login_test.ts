/**
 * Logins by what a proxy says: a signed assertion, whoever sends it, and a header that only it can send.
 *
 * @module
 */

import { rejects, strictEqual as equal } from "node:assert/strict";
import * as jose from "jose";
import { assertionWay, headerWay } from "../../src/console/login/by_proxy.ts";
import { away, type ProviderFetch } from "../../src/console/login/provider_fetch.ts";

const ISSUER = "https://team.example";
const VALUES = { header: "x-jwt", issuer: ISSUER, audience: "svc", jwks: `${ISSUER}/keys` };
const NOW = Math.floor(Date.now() / 1000);

/** A key pair of a proxy, and its public half as the proxy shows it. */
async function makeKey(kid: string, alg = "RS256") {
  const { publicKey, privateKey } = await jose.generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, shown: { ...await jose.exportJWK(publicKey), kid, alg } };
}

type Key = Awaited<ReturnType<typeof makeKey>>;

const [KEY, NEXT, STRANGE] = await Promise.all([makeKey("a"), makeKey("b"), makeKey("a")]);

async function sign(key: Key, claims: Record<string, unknown> = {}): Promise<string> {
  const all = { iss: ISSUER, aud: "svc", sub: "u-1", iat: NOW, exp: NOW + 300, ...claims };
  const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return await new jose.SignJWT(kept).setProtectedHeader({ alg: key.alg, kid: key.kid })
    .sign(key.privateKey);
}

/** A proxy that shows these keys, until they are changed. */
function proxyWith(...first: Key[]) {
  const proxy = {
    keys: first,
    asked: 0,
    answer: undefined as Response | Error | undefined,
    ask: (url: string) => {
      proxy.asked++;
      equal(url, VALUES.jwks);
      if (proxy.answer instanceof Error) return Promise.reject(proxy.answer);
      const keys = { keys: proxy.keys.map(({ shown }) => shown) };
      return Promise.resolve(proxy.answer?.clone() ?? Response.json(keys));
    },
  };
  return proxy;
}

const read = (ask: ProviderFetch, text: string | undefined, values = VALUES) =>
  assertionWay("p", values, ask).read(new Headers(text === undefined ? {} : { "X-JWT": text }));

Deno.test("a signed assertion is who it says: issuer and subject", async () => {
  const { ask } = proxyWith(KEY);
  equal(await read(ask, await sign(KEY)), `oidc:${ISSUER}#u-1`);
  equal(await read(ask, await sign(KEY, { aud: ["x", "svc"] })), `oidc:${ISSUER}#u-1`);
  equal(
    await read(ask, await sign(KEY, { exp: NOW - 50 })),
    `oidc:${ISSUER}#u-1`,
    "within a minute",
  );
  equal(
    await read(ask, await sign(KEY, { nbf: NOW + 50 })),
    `oidc:${ISSUER}#u-1`,
    "within a minute",
  );
});

const unsigned = (alg: string, kid = "a") => {
  const part = (value: unknown) => jose.base64url.encode(JSON.stringify(value));
  const claims = { iss: ISSUER, aud: "svc", sub: "u-1", exp: NOW + 300 };
  return `${part({ alg, kid })}.${part(claims)}.`;
};

const LIES: Readonly<Record<string, () => Promise<string> | string>> = {
  "nothing of a JWT": () => "x",
  "alg none": () => unsigned("none"),
  "no signature": () => unsigned("RS256"),
  "another key of the same name": () => sign(STRANGE),
  "a key that the proxy does not show": () => sign(NEXT),
  "a foreign audience": () => sign(KEY, { aud: "other" }),
  "no audience": () => sign(KEY, { aud: undefined }),
  "another issuer": () => sign(KEY, { iss: "https://evil.example" }),
  "no subject": () => sign(KEY, { sub: undefined }),
  "no end": () => sign(KEY, { exp: undefined }),
  "over for more than a minute": () => sign(KEY, { exp: NOW - 70 }),
  "valid in more than a minute": () => sign(KEY, { nbf: NOW + 70 }),
  "two of them": async () => `${await sign(KEY)}, ${await sign(KEY)}`,
  "HMAC with the public key": async () =>
    await new jose.SignJWT({ iss: ISSUER, aud: "svc", sub: "u-1", exp: NOW + 300 })
      .setProtectedHeader({ alg: "HS256", kid: "a" })
      .sign(new TextEncoder().encode(JSON.stringify(KEY.shown))),
};

for (const [what, make] of Object.entries(LIES)) {
  Deno.test(`an assertion is not believed: ${what}`, async () => {
    await rejects(read(proxyWith(KEY).ask, await make()), { code: "unauthorized" });
  });
}

Deno.test("an algorithm that the file does not name is not believed, however good the key", async () => {
  const key = await makeKey("e", "ES256");
  const { ask } = proxyWith(key);
  equal(await read(ask, await sign(key)), `oidc:${ISSUER}#u-1`);
  const only = { ...VALUES, algorithms: ["RS256" as const] };
  await rejects(read(ask, await sign(key), only), { code: "unauthorized" });
});

Deno.test("without an assertion, the person is told to log in at the proxy", async () => {
  await rejects(read(proxyWith(KEY).ask, undefined), {
    code: "unauthorized",
    message: /The proxy sent no x-jwt: log in there first/,
  });
});

Deno.test("a proxy whose keys cannot be had is away, and the next login asks again", async () => {
  const proxy = proxyWith(KEY);
  const way = assertionWay("p", VALUES, proxy.ask);
  const headers = new Headers({ "x-jwt": await sign(KEY) });
  for (
    const answer of [
      away("it does not answer"),
      new Response("Bad gateway", { status: 502 }),
      new Response("<html>", { status: 200 }),
      Response.json({ keys: "none" }),
    ]
  ) {
    proxy.answer = answer;
    await rejects(way.read(headers), { code: "unreachable" });
  }
  proxy.answer = undefined;
  equal(await way.read(headers), `oidc:${ISSUER}#u-1`);
  proxy.answer = away("it does not answer");
  equal(await way.read(headers), `oidc:${ISSUER}#u-1`, "a known key counts on");
});

Deno.test("a header of a proxy is one name, and comes with the secret where there is one", async () => {
  const open = headerWay("p", { header: "X-User" });
  const secret = "s3cret-of-the-proxy";
  const shut = headerWay("p", { header: "X-User", secretHeader: "X-S", secretFile: "f", secret });
  equal(await open.read(new Headers({ "x-user": "ada" })), "header:ada");
  equal(await shut.read(new Headers({ "x-user": "ada", "x-s": secret })), "header:ada");
  const twice = new Headers({ "x-user": "ada" });
  twice.append("x-user", "bob");
  for (
    const headers of [
      new Headers(),
      new Headers({ "x-user": "" }),
      twice,
      new Headers({ "x-user": "ada bob" }),
    ]
  ) {
    await rejects(open.read(headers), { code: "unauthorized" });
  }
  for (
    const sent of [undefined, "", "x", `${secret}x`, secret.toUpperCase(), `${secret}, ${secret}`]
  ) {
    const headers = new Headers({
      "x-user": "ada",
      ...(sent === undefined ? {} : { "x-s": sent }),
    });
    await rejects(shut.read(headers), { code: "unauthorized" }, sent);
  }
  const lost = headerWay("p", { header: "X-User", secretHeader: "X-S" });
  await rejects(lost.read(new Headers({ "x-user": "ada", "x-s": "" })), { code: "unauthorized" });
});

Deno.test("a proxy that changes its key is believed with the new one a moment later", async () => {
  const proxy = proxyWith(KEY);
  const way = assertionWay("p", VALUES, proxy.ask);
  equal(await way.read(new Headers({ "x-jwt": await sign(KEY) })), `oidc:${ISSUER}#u-1`);
  proxy.keys = [NEXT];
  const next = new Headers({ "x-jwt": await sign(NEXT) });
  // Not at once: a stranger who sends names of keys would have the proxy asked for each.
  await rejects(way.read(next), { code: "unauthorized" });
  equal(proxy.asked, 1);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  equal(await way.read(next), `oidc:${ISSUER}#u-1`);
  equal(proxy.asked, 2);
});
