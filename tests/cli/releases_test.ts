/**
 * Which release is the newest, by what a server answers, and how a program is brought up to it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { howToUpdate, isNewer, newestVersion, sumsAddress } from "../../src/cli/releases.ts";

const RELEASES = "https://example.org/OWNER/svc/releases";
const SUM = "0".repeat(64);

/** What is made of an answer. */
function newest(status: number, text = "", headers: Record<string, string> = {}): string {
  return newestVersion(RELEASES, { status, text, headers: new Headers(headers) });
}

Deno.test("the newest release: where GitHub sends on to, and what a plain server has", () => {
  equal(sumsAddress(`${RELEASES}/`), `${RELEASES}/latest/download/SHA256SUMS`);
  equal(newest(302, "", { location: `${RELEASES}/download/v0.10.2/SHA256SUMS` }), "0.10.2");
  equal(newest(200, `${SUM}  svc-0.3.0-linux-x64.tar.gz\n${SUM}  svc_0.3.0_amd64.deb\n`), "0.3.0");
});

Deno.test("an answer that says no release: one sentence with what to do", () => {
  throws(
    () => newest(404),
    /There is no release at https:\/\/example\.org\/OWNER\/svc\/releases: give/,
  );
  const html = { "content-type": "text/html; charset=utf-8" };
  const page = "<html>svc-0.3.0-linux-x64 is blocked here</html>";
  throws(() => newest(200, page, html), /\(HTTP 200, text\/html\): see whether a proxy answers/);
  throws(() => newest(302, "", { location: "https://login.example.net/" }), /\(HTTP 302\): see/);
  // an answer that is not a redirection names no other address
  throws(() => newest(200, "", { location: `${RELEASES}/download/v9.9.9/SHA256SUMS` }), /HTTP 200/);
  throws(() => newest(502), /HTTP 502/);
});

Deno.test("which of two versions is newer goes by numbers", () => {
  const newer = [["0.10.0", "0.9.9"], ["1.0.0", "0.99.0"], ["0.2.1", "0.2.0"]] as const;
  for (const [one, other] of newer) {
    deepEqual([isNewer(one, other), isNewer(other, one), isNewer(one, one)], [true, false, false]);
  }
});

Deno.test("how to update follows from how it was installed", () => {
  const of = (channel: string | undefined, prefix = "/usr/local") =>
    howToUpdate({ channel, prefix, releases: RELEASES }, "0.3.0");
  equal(
    of("install.sh", "/home/ada/my tools"),
    `curl -fsSL ${RELEASES}/latest/download/install.sh | sh -s -- --prefix '/home/ada/my tools'`,
  );
  match(of("deb"), /releases\/tag\/v0\.3\.0, and: sudo apt-get install \.\/svc_0\.3\.0_/);
  match(of("rpm"), /sudo dnf install/);
  equal(of("homebrew"), "brew upgrade svc");
  const ways = ["install.sh", "deb", "rpm", "npm", "homebrew", "aur", "container", undefined].map((
    one,
  ) => of(one));
  equal(new Set(ways).size, ways.length);
  equal(of("something new"), of(undefined));
});
