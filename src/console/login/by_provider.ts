/**
 * Logins at a provider: OpenID Connect, and GitHub, which speaks OAuth 2 alone. The browser goes there
 * and comes back with a code, which only this process can exchange (PKCE).
 *
 * @module
 */

import * as oauth from "oauth4webapi";
import type { WallClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { forgeIdentity } from "../../resources/person.ts";
import { CLOCK_SKEW_SECS } from "./by_proxy.ts";
import type { GitHubValues, OidcValues } from "./login_file.ts";
import { away, notBelieved, type ProviderFetch } from "./provider_fetch.ts";
import type { AskedWay, LoginSecrets } from "./ways.ts";

/** How long the description of a provider counts. */
const DESCRIPTION_MS = 10 * 60_000;

/** What every login at a provider needs. */
export interface ProviderHost {
  readonly ask: ProviderFetch;
  readonly clock: WallClock;
  /** The address to which the provider sends the browser back. */
  readonly callback: string;
}

/** The way by OpenID Connect. */
export function oidcWay(
  name: string,
  { issuer, clientId, secret }: OidcValues,
  host: ProviderHost,
): AskedWay {
  const client: oauth.Client = { client_id: clientId, [oauth.clockTolerance]: CLOCK_SKEW_SECS };
  const door = doorOf(host);
  let known: { readonly server: oauth.AuthorizationServer; readonly until: number } | undefined;
  const describe = async () => {
    const now = host.clock.now();
    if (known !== undefined && now < known.until) return known.server;
    const url = new URL(issuer);
    const answer = await oauth.discoveryRequest(url, { ...door, algorithm: "oidc" });
    const server = await oauth.processDiscoveryResponse(url, answer);
    known = { server, until: now + DESCRIPTION_MS };
    return server;
  };
  return {
    name,
    begin: (secrets) =>
      asProvider(async () => {
        const server = await describe();
        const parameters = { client_id: clientId, scope: "openid", nonce: secrets.nonce };
        return await authorizeUrl(server, parameters, { secrets, callback: host.callback });
      }),
    finish: (answer, secrets) =>
      asProvider(async () => {
        const server = await describe();
        const response = await exchange(server, { client, secret, answer, secrets }, host);
        const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
          expectedNonce: secrets.nonce,
          requireIdToken: true,
        });
        // A copy has no keys in the memory of the package: after a rotation, the new ones count.
        await oauth.validateApplicationLevelSignature({ ...server }, response, door);
        const sub = oauth.getValidatedIdTokenClaims(tokens)?.sub;
        if (sub === undefined || sub === "") throw notBelieved("no subject");
        return `oidc:${issuer}#${sub}`;
      }),
  };
}

/** The way by GitHub, whose users have a number that nobody else ever gets. */
export function gitHubWay(
  name: string,
  { clientId, secret, host: own }: GitHubValues,
  host: ProviderHost,
): AskedWay {
  const site = `https://${own ?? "github.com"}`;
  const api = own === undefined ? "https://api.github.com" : `${site}/api/v3`;
  const server: oauth.AuthorizationServer = {
    issuer: site,
    authorization_endpoint: `${site}/login/oauth/authorize`,
    token_endpoint: `${site}/login/oauth/access_token`,
    token_endpoint_auth_methods_supported: ["client_secret_post"],
  };
  const client: oauth.Client = { client_id: clientId };
  return {
    name,
    begin: (secrets) =>
      asProvider(() =>
        authorizeUrl(server, { client_id: clientId }, { secrets, callback: host.callback })
      ),
    finish: (answer, secrets) =>
      asProvider(async () => {
        // Its own address for the answers of this one server takes the place of `iss`.
        const alone = new URLSearchParams(answer);
        alone.delete("iss");
        const asked = { client, secret, answer: alone, secrets };
        const response = await exchange(server, asked, host);
        const { access_token: token } = await oauth.processAuthorizationCodeResponse(
          server,
          client,
          response,
        );
        const user = await host.ask(`${api}/user`, {
          headers: {
            accept: "application/vnd.github+json",
            authorization: `Bearer ${token}`,
            "user-agent": "svc-console",
          },
        });
        if (!user.ok) throw away(`GET /user: HTTP ${user.status}`);
        const { id } = await user.json() as { readonly id?: unknown };
        if (!Number.isSafeInteger(id)) throw notBelieved("GET /user has no number");
        return forgeIdentity("github", id as number, own);
      }),
  };
}

/** The options by which the package reaches a provider. */
function doorOf({ ask }: ProviderHost) {
  return {
    [oauth.customFetch]: (url: string, options: Parameters<ProviderFetch>[1]) => ask(url, options),
  };
}

async function authorizeUrl(
  server: oauth.AuthorizationServer,
  parameters: Readonly<Record<string, string>>,
  { secrets: { state, verifier }, callback }: {
    readonly secrets: LoginSecrets;
    readonly callback: string;
  },
): Promise<string> {
  const url = URL.parse(server.authorization_endpoint ?? "");
  if (url?.protocol !== "https:") throw away("no authorization_endpoint over https");
  const all = {
    ...parameters,
    response_type: "code",
    redirect_uri: callback,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [key, value] of Object.entries(all)) url.searchParams.set(key, value);
  return url.href;
}

/** Exchanges the code of an answer that is from this server, and to this login. */
async function exchange(
  server: oauth.AuthorizationServer,
  { client, secret, answer, secrets }: {
    readonly client: oauth.Client;
    readonly secret: string | undefined;
    readonly answer: URLSearchParams;
    readonly secrets: LoginSecrets;
  },
  host: ProviderHost,
): Promise<Response> {
  const checked = oauth.validateAuthResponse(server, client, answer, secrets.state);
  return await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authenticationOf(server, secret),
    checked,
    host.callback,
    secrets.verifier,
    doorOf(host),
  );
}

/** As the provider wants it; by default as the standard has it. */
function authenticationOf(server: oauth.AuthorizationServer, secret: string | undefined) {
  if (secret === undefined) return oauth.None();
  const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = server;
  return methods.includes("client_secret_basic")
    ? oauth.ClientSecretBasic(secret)
    : oauth.ClientSecretPost(secret);
}

/** Errors of the package as refusals: what a provider says that is not so, and what it does not say. */
async function asProvider<Value>(act: () => Promise<Value>): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (error instanceof oauth.AuthorizationResponseError) {
      throw notBelieved(`the provider answered ${error.error}`, error);
    }
    if (error instanceof oauth.ResponseBodyError && error.status < 500) {
      throw notBelieved(`the provider answered ${error.error}`, error);
    }
    if (error instanceof oauth.OperationProcessingError && IS_AWAY.has(error.code ?? "")) {
      throw away(error.message, error);
    }
    if (
      error instanceof oauth.OperationProcessingError ||
      error instanceof oauth.UnsupportedOperationError
    ) {
      throw notBelieved(error.message, error);
    }
    throw away(error instanceof Error ? error.message : String(error), error);
  }
}

/** Codes of answers that are none: an error page, text in place of JSON. */
const IS_AWAY: ReadonlySet<string> = new Set([
  oauth.RESPONSE_IS_NOT_CONFORM,
  oauth.RESPONSE_IS_NOT_JSON,
  oauth.PARSE_ERROR,
  oauth.HTTP_REQUEST_FORBIDDEN,
]);
