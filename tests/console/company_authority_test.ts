/**
 * A login provider whose certificate is signed by an authority of its own: `DENO_CERT` names that one, and
 * without it the log says so.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import { makeSignedPair, NO_OPENSSL } from "../helpers/certificate.ts";
import { NO_DATABASE, type Program, programTest, runSvc } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { serveTeamConsole } from "../rigs/served_console.ts";
import { teamRig } from "../rigs/team_rig.ts";

programTest(
  "a login provider with a certificate of a company counts once DENO_CERT names the authority",
  async (program) => {
    await using dir = await tempDir();
    await makeSignedPair(dir.path, "company");
    const ca = `${dir.path}/company-ca.crt`;
    await using provider = serveProvider({
      cert: await Deno.readTextFile(`${dir.path}/company.crt`),
      key: await Deno.readTextFile(`${dir.path}/company.key`),
    });
    const { issuer } = provider;
    const login = `login: [{name: id, oidc: {issuer: "${issuer}", clientId: svc}}]`;
    await using rig = await teamRig(program, { login });
    const away = await rig.served.get("/login");
    equal(away.status, 503);
    match(away.body, /The login provider does not answer as it should/);
    const { host } = new URL(issuer);
    match(rig.served.stderr, new RegExp(`${host}: .*UnknownIssuer: name the file .* in DENO_CERT`));

    const { env } = rig.served;
    const options = { login: rig.served.login, env: { ...env, DENO_CERT: ca } };
    await using trusting = await serveTeamConsole(program, options);
    const asked = await trusting.get("/login");
    equal(asked.status, 302, trusting.stderr);
    match(asked.headers.get("location") ?? "", new RegExp(`^${issuer}/auth\\?`));

    const url = `${issuer}/releases`;
    match(await versionCheck(program, url), /: name the file of the authority .* in DENO_CERT\n$/);
    equal(await versionCheck(program, url, ca), "asked");
    const none = await versionCheck(program, url, `${dir.path}/none.crt`);
    match(none, /opening CA file: No such file .*: that is the file in DENO_CERT\n$/);
  },
  { fileOnly: NO_DATABASE, skip: NO_OPENSSL },
);

/** What a command says that asks a server; `asked` where it got an answer. */
async function versionCheck(program: Program, url: string, ca?: string): Promise<string> {
  const env: Record<string, string> = ca === undefined ? {} : { DENO_CERT: ca };
  const { stderr } = await runSvc(program, ["version", "--check", "--url", url], { env });
  return /does not say which release is the newest/.test(stderr) ? "asked" : stderr;
}

/** Serves the description of a provider. */
function serveProvider(pair: { readonly cert: string; readonly key: string }) {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, ...pair },
    ({ url }) => {
      const { origin } = new URL(url);
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/auth`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/jwks`,
      });
    },
  );
  const issuer = `https://127.0.0.1:${server.addr.port}`;
  return { issuer, [Symbol.asyncDispose]: () => server.shutdown() };
}
