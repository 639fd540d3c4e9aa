/**
 * Logins by what a proxy says of each request: signed, or in a header that only the proxy can have sent.
 *
 * @module
 */

import * as jose from "jose";
import { equalSecrets } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import type { AssertionValues, HeaderValues } from "./login_file.ts";
import { away, notBelieved, type ProviderFetch } from "./provider_fetch.ts";
import type { ToldWay } from "./ways.ts";

/** How far the clock of a proxy or a provider may be off. */
export const CLOCK_SKEW_SECS = 60;
/** Between two looks for a key that is not known yet, and how long the known ones count. */
const KEYS = { cooldownDuration: 1000, cacheMaxAge: 10 * 60_000 };

/** The way by an assertion that a proxy signs: it trusts no network. */
export function assertionWay(
  name: string,
  { header, issuer, audience, jwks, algorithms = ["RS256", "ES256"] }: AssertionValues,
  ask: ProviderFetch,
): ToldWay {
  const keys = jose.createRemoteJWKSet(new URL(jwks), {
    ...KEYS,
    [jose.customFetch]: (url, options) => ask(url, options),
  });
  return {
    name,
    async read(headers) {
      const text = headers.get(header);
      if (text === null) {
        throw new AppError("unauthorized", `The proxy sent no ${header}: log in there first`);
      }
      try {
        const { payload: { sub } } = await jose.jwtVerify(text, keys, {
          issuer,
          audience,
          algorithms: [...algorithms],
          clockTolerance: CLOCK_SKEW_SECS,
          requiredClaims: ["sub", "exp"],
        });
        return `oidc:${issuer}#${sub}`;
      } catch (error) {
        if (error instanceof AppError) throw error;
        // Errors of the signature have codes; without keys nobody knows whether it is one.
        if (error instanceof jose.errors.JWKSTimeout || isUnreadable(error)) {
          throw away(`keys of ${issuer}`, error);
        }
        throw notBelieved(error instanceof Error ? error.message : "", error);
      }
    },
  };
}

function isUnreadable(error: unknown): boolean {
  if (error instanceof jose.errors.JWKSInvalid) return true;
  return error instanceof jose.errors.JOSEError && error.code === "ERR_JOSE_GENERIC";
}

/** The way by a header of a proxy. Where the console listens has to keep everybody else away. */
export function headerWay(
  name: string,
  { header, secretHeader, secret }: HeaderValues,
): ToldWay {
  return {
    name,
    read(headers) {
      if (secretHeader !== undefined || secret !== undefined) {
        const sent = headers.get(secretHeader ?? "") ?? "";
        if (secret === undefined || !equalSecrets(sent, secret)) {
          return Promise.reject(notBelieved("the secret of the proxy is missing or wrong"));
        }
      }
      const user = headers.get(header) ?? "";
      if (user === "") {
        const message = `The proxy sent no ${header}: log in there first`;
        return Promise.reject(new AppError("unauthorized", message));
      }
      // Two headers come as one, with a comma between: one of them is not of the proxy.
      if (/[,\s]/.test(user)) return Promise.reject(notBelieved(`more than one name in ${header}`));
      return Promise.resolve(`header:${user}`);
    },
  };
}
