/**
 * The file of `svc console serve --login`: what it takes, and that each mistake names its field.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, throws } from "node:assert/strict";
import { readLoginFile } from "../../src/console/login/login_file.ts";
import { makeWays } from "../../src/console/login/make_ways.ts";
import { providerFetch } from "../../src/console/login/provider_fetch.ts";
import { systemClock } from "../../src/base/clock.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const OIDC = "oidc: {issuer: 'https://id.example', clientId: svc}";
const ASSERTION =
  "assertion: {header: x-a, issuer: 'https://id.example', audience: svc, jwks: 'https://id.example/k'}";

async function reading(
  text: string,
): Promise<{ read: () => ReturnType<typeof readLoginFile> } & AsyncDisposable> {
  const dir = await tempDir();
  await Deno.writeTextFile(`${dir.path}/secret`, "s3cret-of-the-proxy\n");
  await Deno.writeTextFile(`${dir.path}/short`, "short\n");
  await Deno.writeTextFile(`${dir.path}/login.yaml`, text);
  return {
    read: () => readLoginFile(`${dir.path}/login.yaml`),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

const WRONG: readonly (readonly [text: string, says: RegExp])[] = [
  ["", /Missing field "login"/],
  ["login: []", /login.yaml:1:\d+: login: Expected a list of ways to log in, found an empty list/],
  ["login: x", /1:1: login: Expected a list/],
  ["logins: []", /Unknown field "logins"|logins: /],
  ["login: [{name: a}]", /login\.0: Expected one of assertion, header, oidc, github, found 0/],
  [`login: [{name: a, ${OIDC}, ${ASSERTION}}]`, /login\.0: Expected one of .*, found 2/],
  [`login: [{${OIDC}}]`, /login\.0: Missing field "name"/],
  [`login: [{name: 'A b', ${OIDC}}]`, /login\.0\.name: Expected a name of a to z/],
  [`login: [{name: a, ${OIDC}}, {name: a, ${ASSERTION}}]`, /login\.1\.name: There is another "a"/],
  ["login: [{name: a, oidc: {clientId: x}}]", /login\.0\.oidc: Missing field "issuer"/],
  [
    "login: [{name: a, oidc: {issuer: 'http://id.example', clientId: x}}]",
    /login\.0\.oidc\.issuer: Expected an address that begins with https:/,
  ],
  [
    "login: [{name: a, oidc: {issuer: 'https://id.example', clientId: x, secret: s}}]",
    /login\.0\.oidc\.secret: /,
  ],
  [
    "login: [{name: a, assertion: {header: x, issuer: 'https://i', audience: a, jwks: 'https://i/k', algorithms: [none]}}]",
    /login\.0\.assertion\.algorithms\.0: Expected one of RS256, /,
  ],
  [
    "login: [{name: a, assertion: {header: x, issuer: 'https://i', audience: a, jwks: 'https://i/k', algorithms: [HS256]}}]",
    /algorithms\.0: Expected one of RS256, /,
  ],
  [
    "login: [{name: a, assertion: {header: x, issuer: 'https://i', jwks: 'https://i/k'}}]",
    /login\.0\.assertion: Missing field "audience"/,
  ],
  ["login: [{name: a, header: {header: 'x y'}}]", /login\.0\.header\.header: Expected the name of/],
  [
    "login: [{name: a, header: {header: x, secretHeader: y}}]",
    /login\.0\.header: secretHeader and secretFile go together/,
  ],
  [
    "login: [{name: a, header: {header: x, secretHeader: X, secretFile: secret}}]",
    /login\.0\.header\.secretHeader: This is the header of the name/,
  ],
  [
    "login: [{name: a, github: {clientId: x}}]",
    /login\.0\.github: Missing field "clientSecretFile"/,
  ],
  [
    "login: [{name: a, github: {clientId: x, clientSecretFile: nowhere}}]",
    /Cannot read ".*\/nowhere": /,
  ],
  [
    "login: [{name: a, github: {clientId: x, clientSecretFile: short}}]",
    /"\S+\/short" holds no secret of 8 to 1000 characters/,
  ],
  [`login: [{name: a, ${OIDC}}]\n---\nlogin: []`, /This is one document/],
  [`login: [{name: a, ${OIDC}}]\nlogin: []`, /Duplicate key/],
];

for (const [text, says] of WRONG) {
  Deno.test(`a file of logins that is not valid says what: ${JSON.stringify(text)}`, async () => {
    await using file = await reading(text);
    throws(file.read, (error: Error) => {
      match(error.message, says);
      return !error.message.includes("s3cret");
    });
  });
}

Deno.test("a file of logins is read with the secrets beside it, without the end of their line", async () => {
  await using file = await reading(`login:
  - name: google
    oidc: {issuer: https://accounts.google.com, clientId: x, clientSecretFile: secret}
  - name: proxy
    header: {header: X-User, secretHeader: X-Secret, secretFile: secret}
`);
  const [google, proxy] = file.read();
  deepEqual([google?.oidc?.secret, proxy?.header?.secret], Array(2).fill("s3cret-of-the-proxy"));
});

Deno.test("a header is believed only where nobody but the proxy can send one", async () => {
  await using open = await reading("login: [{name: p, header: {header: X-User}}]");
  await using shut = await reading(
    "login: [{name: p, header: {header: X-User, secretHeader: X-S, secretFile: secret}}]",
  );
  const host = { ask: providerFetch(systemClock), clock: systemClock, origin: "https://x.example" };
  const made = (file: typeof open, on: Parameters<typeof makeWays>[1]["on"]) => () =>
    makeWays(file.read(), { ...host, on });
  for (const hostname of ["0.0.0.0", "::", "::1", "10.0.0.1", "localhost", "127.0.0.2"]) {
    for (const file of [open, shut]) {
      throws(
        made(file, { hostname, port: 1 }),
        /believes a header: with it, --bind takes unix:PATH/,
      );
    }
  }
  throws(made(open, { hostname: "127.0.0.1", port: 1 }), /add secretHeader and secretFile to it/);
  for (const file of [open, shut]) deepEqual(made(file, { path: "/run/x" })().length, 1);
  deepEqual(made(shut, { hostname: "127.0.0.1", port: 1 })().length, 1);
});
