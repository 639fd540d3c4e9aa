/**
 * A real provider of OpenID Connect: `oidc-provider` over TLS in the process of the test. It logs in by
 * its own pages, on which the subject is whatever name one types.
 *
 * @module
 */

import { createServer } from "node:https";
import { Provider } from "oidc-provider";
import * as jose from "jose";
import type { Page } from "playwright-core";
import { makePair } from "../helpers/certificate.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { SECRET } from "./team_rig.ts";

/** The only client that it knows. */
export const CLIENT = { id: "svc", secret: SECRET };

/** A provider that is away once it is disposed of. */
export interface RealProvider extends AsyncDisposable {
  /** Such as `https://127.0.0.1:4711`. */
  readonly issuer: string;
  /** File of its certificate, which signs itself. */
  readonly certFile: string;
}

/** Logs in on its pages. */
export async function logInAtProvider(page: Page, name: string): Promise<void> {
  await page.getByPlaceholder("Enter any login").fill(name);
  await page.getByPlaceholder("and password").fill("x");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

/** Starts one whose client may come back to `callback`. */
export async function startProvider(port: number, callback: string): Promise<RealProvider> {
  await using opening = new AsyncDisposableStack();
  const dir = opening.use(await tempDir());
  const cert = await makePair(dir.path, "provider");
  const key = await Deno.readTextFile(`${dir.path}/provider.key`);
  const issuer = `https://127.0.0.1:${port}`;
  const { privateKey } = await jose.generateKeyPair("RS256", { extractable: true });
  const provider = new Provider(issuer, {
    clients: [{
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      redirect_uris: [callback],
    }],
    jwks: { keys: [{ ...await jose.exportJWK(privateKey), kid: "a", alg: "RS256", use: "sig" }] },
    findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub }) }),
    cookies: { keys: [crypto.randomUUID()] },
    ttl: { Interaction: 600, Session: 3600, Grant: 3600, AccessToken: 600, IdToken: 600 },
  });
  const answer = provider.callback();
  const server = createServer({ cert, key }, (request, response) => {
    request.headers.host ??= new URL(issuer).host; // Deno leaves it out of a request by HTTP/2
    answer(request, response);
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(port, "127.0.0.1", resolve);
  await listening;
  opening.defer(async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    server.closeAllConnections();
    await closed;
  });
  const open = opening.move();
  return {
    issuer,
    certFile: `${dir.path}/provider.crt`,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
