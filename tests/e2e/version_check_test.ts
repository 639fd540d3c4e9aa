/**
 * `svc version --check` from outside: one request, and only when it is told to.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { VERSION } from "../../src/base/version.ts";
import { NO_DATABASE, programTest, runSvc } from "../helpers/program.ts";

/** A place of releases, of which `version` is the newest, and how often it was asked. */
function startReleases(version: string) {
  const asked: string[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ url, method }) => {
      const { pathname, origin } = new URL(url);
      asked.push(`${method} ${pathname}`);
      if (pathname.startsWith("/html/")) {
        return new Response("<html>", {
          headers: { "content-type": "text/html" },
        });
      }
      if (!pathname.startsWith("/releases/")) return new Response("", { status: 404 });
      return Response.redirect(`${origin}/releases/download/v${version}/SHA256SUMS`);
    },
  );
  return {
    asked,
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

programTest("svc version --check: a newer version, and none", async (program) => {
  await using newer = startReleases("99.1.2");
  const check = (url: string, ...args: string[]) =>
    runSvc(program, ["version", "--check", "--url", url, ...args]);
  const found = await check(`${newer.url}/releases`);
  deepEqual([found.code, found.stderr], [1, ""]);
  match(
    found.stdout,
    new RegExp(`^svc ${VERSION} \\(Deno .*\\nsvc 99\\.1\\.2 is out: get it from `),
  );
  deepEqual(newer.asked, ["GET /releases/latest/download/SHA256SUMS"]);
  const json = await check(`${newer.url}/releases/`, "-o", "json");
  const { version, newest, newer: isNewer, update } = JSON.parse(json.stdout);
  deepEqual([json.code, version, newest, isNewer], [1, VERSION, "99.1.2", true]);
  match(update, /\/releases\/tag\/v99\.1\.2/);
  await using same = startReleases(VERSION);
  const none = await check(`${same.url}/releases`);
  deepEqual([none.code, none.stdout.split("\n")[1]], [0, "There is no newer one"]);
}, { fileOnly: NO_DATABASE });

programTest("svc version --check: what keeps it from an answer", async (program) => {
  await using releases = startReleases("99.1.2");
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await runSvc(program, ["version", ...args]);
    equal(stdout, "");
    return `${code} ${stderr}`;
  };
  const at = (url: string) => refused("--check", "--url", url);
  match(
    await refused("--check"),
    /^2 error: svc does not know where its releases are: give the address with --url\n$/,
  );
  match(await refused("--url", releases.url), /^2 error: --url requires --check/);
  match(await at("ftp://x/releases"), /^2 error: "ftp:\/\/x\/releases" is not a release address/);
  match(await at(`${releases.url}/none`), /^3 error: There is no release at http.*none: give/);
  match(
    await at(`${releases.url}/html`),
    /^3 error: .*\(HTTP 200, text\/html\): see whether a proxy/,
  );
  match(await at("http://no-such-host.invalid/releases"), /^3 error: The name of .* is not known/);
  await releases[Symbol.asyncDispose]();
  match(await at(`${releases.url}/releases`), /^3 error: Nothing listens at 127\.0\.0\.1:\d+\n$/);
  equal((await runSvc(program, ["version"])).code, 0);
}, { fileOnly: NO_DATABASE });
