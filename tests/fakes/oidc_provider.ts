/**
 * A provider of OpenID Connect without a network, which a test can have lie.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import * as jose from "jose";
import type { ProviderFetch } from "../../src/console/login/provider_fetch.ts";

/** Its issuer. */
export const ISSUER = "https://id.example";

/** A key pair, and its public half as the provider shows it. */
export async function makeKey(kid: string) {
  const { publicKey, privateKey } = await jose.generateKeyPair("RS256", { extractable: true });
  const shown = { ...await jose.exportJWK(publicKey), kid, alg: "RS256", use: "sig" };
  return { kid, privateKey, shown };
}

/** One of {@linkcode makeKey}. */
export type ProviderKey = Awaited<ReturnType<typeof makeKey>>;

/** What it says differently from an honest provider. */
export interface Lies {
  readonly discovery?: Record<string, unknown>;
  /** Claims of the ID token; `undefined` leaves one out. */
  readonly claims?: Record<string, unknown>;
  /** The whole ID token. */
  readonly idToken?: string;
  readonly tokens?: Record<string, unknown>;
  /** The answer to any request to this path. */
  readonly at?: Readonly<Record<string, () => Response | Promise<Response>>>;
}

/** A provider that gives a code for each request to its authorization endpoint. */
export class FakeProvider {
  lies: Lies = {};
  /** Signs with the first and shows all. */
  keys: ProviderKey[];
  readonly asked: string[] = [];
  #code = { text: "", nonce: "", challenge: "", redirect: "" };

  constructor(...keys: ProviderKey[]) {
    this.keys = keys;
  }

  /** Logs somebody in at the address to which the browser was sent; gives the query of the way back. */
  authorize(to: string, more: Record<string, string> = {}): URLSearchParams {
    const { origin, pathname, searchParams } = new URL(to);
    equal(origin + pathname, `${ISSUER}/authorize`);
    equal(searchParams.get("code_challenge_method"), "S256");
    equal(searchParams.get("response_type"), "code");
    const get = (name: string) => searchParams.get(name) ?? "";
    this.#code = {
      text: crypto.randomUUID(),
      nonce: get("nonce"),
      challenge: get("code_challenge"),
      redirect: get("redirect_uri"),
    };
    return new URLSearchParams({
      code: this.#code.text,
      state: get("state"),
      iss: ISSUER,
      ...more,
    });
  }

  /** Answers what the console asks. */
  readonly ask: ProviderFetch = async (url, { headers, body }) => {
    const { origin, pathname } = new URL(url);
    equal(origin, ISSUER);
    this.asked.push(pathname);
    const lie = this.lies.at?.[pathname];
    if (lie !== undefined) return await lie();
    if (pathname === "/.well-known/openid-configuration") return Response.json(this.#description());
    if (pathname === "/keys") return Response.json({ keys: this.keys.map(({ shown }) => shown) });
    equal(pathname, "/token");
    return await this.#tokens(new URLSearchParams(String(body)), new Headers(headers));
  };

  #description(): Record<string, unknown> {
    return {
      issuer: ISSUER,
      authorization_endpoint: `${ISSUER}/authorize`,
      token_endpoint: `${ISSUER}/token`,
      jwks_uri: `${ISSUER}/keys`,
      authorization_response_iss_parameter_supported: true,
      id_token_signing_alg_values_supported: ["RS256"],
      ...this.lies.discovery,
    };
  }

  async #tokens(form: URLSearchParams, headers: Headers): Promise<Response> {
    const { text, nonce, challenge, redirect } = this.#code;
    this.#code = { ...this.#code, text: "" };
    equal(
      headers.get("authorization"),
      `Basic ${btoa("svc:s3cret-of-svc".replaceAll("-", "%2D"))}`,
    );
    const hash = await crypto.subtle.digest(
      "SHA-256",
      new TextEncoder().encode(form.get("code_verifier") ?? ""),
    );
    const isGood = text !== "" && form.get("code") === text &&
      form.get("redirect_uri") === redirect &&
      jose.base64url.encode(new Uint8Array(hash)) === challenge;
    if (!isGood) return Response.json({ error: "invalid_grant" }, { status: 400 });
    return Response.json({
      access_token: "at",
      token_type: "bearer",
      id_token: this.lies.idToken ?? await this.#idToken(nonce),
      ...this.lies.tokens,
    });
  }

  async #idToken(nonce: string): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: ISSUER, aud: "svc", sub: "1155", nonce, iat: now, exp: now + 300 };
    const all = Object.entries({ ...claims, ...this.lies.claims });
    const [key] = this.keys;
    if (key === undefined) throw new Error("no key");
    return await new jose.SignJWT(
      Object.fromEntries(all.filter(([, value]) => value !== undefined)),
    )
      .setProtectedHeader({ alg: "RS256", kid: key.kid }).sign(key.privateKey);
  }
}
