/**
 * The life of an installation on a machine with nothing but a base system: installed from a server,
 * made a service, tried as README says, brought up to date under a workflow that runs, and removed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { VERSION } from "../../src/base/version.ts";
import { makeKeys, packRelease, publicKeys, writeScript } from "../ci/small_release.ts";
import { boot, DIST, NOT_BOOTABLE } from "../helpers/boot.ts";
import { ROOT, slowTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** A version after this one, as long as this one. */
const NEXT = VERSION.replace(/\d+$/, (patch) => String((Number(patch) + 1) % 10));

/** The same program under the version after it: what is embedded in it is text. */
function asNext(program: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const next = program.slice();
  const [from, to] = [VERSION, NEXT].map((text) => new TextEncoder().encode(`VERSION="${text}"`));
  ok(from !== undefined && to !== undefined && from.length === to.length);
  let found = 0;
  for (let at = next.indexOf(from[0] ?? 0); at !== -1; at = next.indexOf(from[0] ?? 0, at + 1)) {
    if (!from.every((byte, n) => next[at + n] === byte)) continue;
    next.set(to, at);
    found++;
  }
  ok(found > 0, "the program holds its version as text");
  return next;
}

/** The lines under this heading of README, as somebody types them. */
async function readmeLines(heading: string): Promise<string> {
  const readme = await Deno.readTextFile(join(ROOT, "README.md"));
  const [, text = ""] =
    new RegExp(`^## ${heading}\\n[^]*?^\`\`\`sh\\n([^]*?)^\`\`\``, "m").exec(readme) ??
      [];
  ok(text !== "", heading);
  return text;
}

/** Serves a directory at 127.0.0.1:8000, in the Perl that every Debian has. */
const SERVER = `
use strict; use IO::Socket::INET;
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1:8000", Listen => 9, ReuseAddr => 1) or die;
while (my $client = $server->accept) {
  my ($path) = <$client> =~ m{^GET /([\\w./-]+)} or next;
  while (<$client>) { last if /^\\r?\\n$/ }
  if (open my $file, "<:raw", "releases/$path") {
    print $client "HTTP/1.0 200 OK\\r\\nContent-Length: ", -s $file, "\\r\\n\\r\\n";
    while (read $file, my $part, 1 << 20) { print $client $part }
  } else { print $client "HTTP/1.0 404 Not Found\\r\\n\\r\\n" }
  close $client;
}
`;

const URL_OF = "http://127.0.0.1:8000";
const GET = `wget -qO- ${URL_OF}/latest/download/install.sh | sh -s -- --base-url ${URL_OF}`;

/** All files, but for what the system itself writes meanwhile. */
const FILES =
  "find / -xdev ! -type d ! -path '/var/log/*' ! -path '/var/cache/*' ! -path '/var/tmp/*' " +
  "! -path '/var/lib/systemd/*' ! -path '/tmp/*' ! -path '/svc-test/*' ! -path '/etc/*-' " +
  "! -path '/etc/machine-id' ! -path '/etc/resolv.conf' ! -path '/var/lib/dbus/*' | sort";

/** A workflow that ends once somebody says so. */
const LONG =
  `{kind: Workflow, metadata: {name: long}, spec: {steps: [{id: wait, run: "touch /var/lib/svc/began; ` +
  `while [ ! -e /var/lib/svc/go ]; do sleep 0.2; done; echo went on"}]}}
---
{kind: Trigger, metadata: {name: long}, spec: {event: {source: webhook, webhook: {secret: {fromRef: hook}}}, action: {workflow: long, workspace: default}}}
`;

const LINES = [
  `${FILES} >before`,
  GET,
  "svc service install",
  "svc doctor --data-dir /var/lib/svc",
  "sh ./readme",
  // an update, under a workflow that runs
  "svc apply -f long && echo '{}' | svc trigger send long -f - && " +
  "while [ ! -e /var/lib/svc/began ]; do sleep 0.2; done",
  "rm releases/latest && ln -s next releases/latest && svc version --check",
  GET,
  "svc service status",
  "systemctl restart svcd && while ! svc status >/dev/null 2>&1; do sleep 0.2; done && " +
  "touch /var/lib/svc/go && svc task wait latest --timeout 60s",
  "svc get tasks -o json",
  // the end
  "svc service uninstall && wget -qO install.sh " +
  `${URL_OF}/latest/download/install.sh && sh install.sh --uninstall`,
  `${FILES} >after; diff before after`,
];

slowTest(
  "on a clean machine: installed, tried, updated under a workflow, and removed",
  async () => {
    await using dir = await tempDir();
    const program = await Deno.readFile(join(DIST, "svc"));
    const keys = await makeKeys(join(dir.path, "keys"));
    const releases = join(dir.path, "releases");
    for (
      const [name, version, bytes] of [["first", VERSION, program], [
        "next",
        NEXT,
        asNext(program),
      ]] as const
    ) {
      const directory = join(releases, name, "download");
      await packRelease(directory, { version, program: bytes, keys });
      await writeScript(join(directory, "install.sh"), { url: URL_OF, ...await publicKeys(keys) });
      await Deno.mkdir(join(releases, "download"), { recursive: true });
      await Deno.symlink(`../${name}/download`, join(releases, "download", `v${version}`));
    }
    await Deno.symlink("first", join(releases, "latest"));
    await Deno.remove(join(dir.path, "keys"), { recursive: true });
    await dir.write("server.pl", SERVER);
    await dir.write("readme", await readmeLines("See it work"));
    await dir.write("long", LONG);
    const prelude = "export SVC_DATA_DIR=/var/lib/svc HOME=/root\nperl server.pl &\nsleep 1";
    const results = [...await boot(dir.path, prelude, LINES)];
    const next = (code: number) => {
      const result = results.shift() ?? { line: "", code: -1, out: "" };
      equal(result.code, code, `${result.line}\n${result.out}`);
      return result.out;
    };

    next(0);
    match(
      next(0),
      new RegExp(`^Getting svc ${VERSION} .*\nsvc ${VERSION} is installed: /usr/local/bin/svc\n`),
    );
    match(next(0), /^svcd\.service runs, and starts by itself/);
    match(next(0), /0 failed/);
    match(next(0), /Hello world[^]*hello/);
    next(0);
    match(next(1), new RegExp(NEXT));
    match(
      next(0),
      new RegExp(`svc ${VERSION} -> ${NEXT}: [^]*The running daemon is still ${VERSION}`),
    );
    match(next(0), new RegExp(`restart it to run ${NEXT}`));
    next(0);
    const items = JSON.parse(next(0)) as { trigger: string; state: string }[];
    deepEqual(items.map(({ trigger, state }) => `${trigger} ${state}`).sort(), [
      "hello succeeded",
      "long succeeded",
    ]);
    match(next(0), /Its data stays[^]*svc .* is removed from \/usr\/local/);
    const left = next(1).split("\n").filter((line) => /^[<>]/.test(line));
    deepEqual(
      left.filter((line) => !line.startsWith("> /var/lib/svc/")),
      [],
      "only its data is left",
    );
  },
  {
    fileOnly: "it is about the machine, whatever the database",
    skip: NOT_BOOTABLE ?? missing("openssl", "ssh-keygen"),
  },
);
