/**
 * `svc trigger send`, `test` and `fire` as somebody uses them who has a body in a file and no
 * platform at hand: what they say is what happens, and nobody sees a secret who may not.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, ONE_PROGRAM, programTest, slowTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";

const SECRET = "correct horse battery staple";
const PUSH = '{"ref":"refs/heads/main"}';
const GITHUB = { secret: { fromRef: "keys" }, signatureHeader: "X-Hub-Signature-256" };

/** A daemon with a trigger `hook` and a body in a file. */
async function prepared(daemon: TestDaemon, webhook: unknown, condition = "true"): Promise<string> {
  await daemon.apply(
    secretStore("keys", { old: `${SECRET} once`, current: SECRET }),
    workflow("record", "true"),
    trigger("hook", { condition, webhook: webhook as Record<string, unknown> }),
  );
  const file = `${daemon.dataDir}/body.json`;
  await Deno.writeTextFile(file, PUSH);
  return file;
}

programTest(
  "trigger send signs, posts and prints the task",
  async (program) => {
    await using daemon = await startDaemon(program);
    const file = await prepared(daemon, GITHUB, 'headers["x-github-event"] == "push"');
    const sent = await daemon.svc(["trigger", "send", "hook", "-f", file, "--event", "push"]);
    match(
      sent.stdout,
      /^POST http:\/\/127\.0\.0\.1:\d+\/webhook\/hook, signed with key "current"\n/,
    );
    match(sent.stdout, /\n200 accepted: task\/[0-9A-Z]{26}\n$/);
    deepEqual([sent.code, sent.stderr], [0, ""]);
    const other = await daemon.svc(["trigger", "send", "hook", "-f", file]);
    equal(other.code, 1);
    match(other.stdout, /\n200 filtered\nnext: svc delivery explain [0-9A-Z]{26}\n$/);
    match(other.stderr, /reads the header x-github-event.*--header "X-GitHub-Event: VALUE"/);
    const old = ["trigger", "send", "hook", "-f", file, "--event", "push", "--key", "old"];
    match((await daemon.svc(old)).stdout, /signed with key "old"\n200 accepted/);
    ok(!sent.stdout.includes(SECRET));
  },
);

programTest("what trigger send --curl prints is accepted", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const file = await prepared(daemon, GITHUB, 'headers["x-github-event"] == "push"');
  const send = ["trigger", "send", "hook", "-f", file, "--event", "push"];
  const { stdout: line } = await daemon.svc([...send, "--curl"]);
  match(line, /^curl .*-H 'X-GitHub-Event: push'.*--data-binary @/);
  const shell = await new Deno.Command("/bin/sh", { args: ["-c", `${line.trim()} -s`] }).output();
  match(new TextDecoder().decode(shell.stdout), /"status":"accepted"/);
  ok(!line.includes(SECRET));
}, { fileOnly: NO_DATABASE, skip: missing("curl") });

slowTest(
  "trigger send serves every scheme that it can sign, and says why of the others",
  async (program) => {
    await using daemon = await startDaemon(program);
    const send = () => daemon.svc(["trigger", "send", "hook", "-f", `${daemon.dataDir}/body.json`]);
    const url = "https://hooks.example.com/h";
    for (
      const webhook of [
        { secret: { fromRef: "keys" } },
        { secret: { fromRef: "keys" }, scheme: "bearer" },
        { secret: { fromRef: "keys" }, scheme: "slack" },
        { secret: { fromRef: "keys" }, scheme: "twilio", publicUrl: url },
        { allowUnsigned: true },
      ]
    ) {
      await prepared(daemon, webhook);
      const { code, stdout, stderr } = await send();
      // A bearer token has no blanks.
      if ("scheme" in webhook && webhook.scheme === "bearer") {
        deepEqual([code, stdout], [1, ""]);
        match(stderr, /has characters that bearer tokens cannot have/);
      } else equal(code, 0, JSON.stringify(webhook) + stdout + stderr);
    }
    await prepared(daemon, { secret: { fromRef: "keys" }, scheme: "discord" });
    const discord = await send();
    deepEqual([discord.code, discord.stdout], [1, ""]);
    match(discord.stderr, /Cannot sign: Discord signs with a private key that only Discord has/);
    const nightly = {
      kind: "Trigger",
      metadata: { name: "nightly" },
      spec: {
        event: { source: "cron", cron: { schedule: "0 3 * * *" } },
        action: { workflow: "record", workspace: "default" },
      },
    };
    await daemon.apply(nightly);
    const cron = await daemon.svc(["trigger", "send", "nightly"]);
    equal(cron.code, 1);
    match(cron.stderr, /takes no requests, its source is cron: svc trigger fire nightly/);
  },
  { fileOnly: NO_DATABASE },
);

slowTest(
  "an operator sends signed requests, and sees neither signature nor secret",
  async (program) => {
    await using daemon = await startDaemon(program);
    const file = await prepared(daemon, { secret: { fromRef: "token" }, scheme: "bearer" });
    await daemon.apply(secretStore("token", { token: "t0ken-that-nobody-sees" }));
    await Deno.writeTextFile(
      `${daemon.dataDir}/control-plane/uds-policy.yaml`,
      "max_role: operator\n",
    );
    const sent = await daemon.svc(["trigger", "send", "hook", "-f", file]);
    deepEqual([sent.code, sent.stderr], [0, ""]);
    const tried = await daemon.svc(["trigger", "test", "hook", "-f", file, "--sign"]);
    equal(tried.code, 0, tried.stderr);
    ok(!(sent.stdout + tried.stdout).includes("t0ken"));
    for (const more of [["--curl"], ["--url", "http://127.0.0.1:1/"]]) {
      const { code, stdout, stderr } = await daemon.svc([
        "trigger",
        "send",
        "hook",
        "-f",
        file,
        ...more,
      ]);
      deepEqual([code, stdout], [5, ""], stderr);
    }
  },
  { fileOnly: NO_DATABASE },
);

programTest(
  "trigger fire gives a condition the headers it reads, or names them",
  async (program) => {
    await using daemon = await startDaemon(program);
    const file = await prepared(daemon, GITHUB, 'headers["x-github-event"] == "push"');
    const without = await daemon.svc(["trigger", "fire", "hook", "-f", file]);
    equal(without.code, 1);
    match(without.stderr, /add --header "X-GitHub-Event: VALUE"/);
    const fired = ["trigger", "fire", "hook", "-f", file, "--header", "X-GitHub-Event: push"];
    const { code, stdout } = await daemon.svc(fired);
    match(stdout, /^accepted: task\//);
    equal(code, 0);
  },
);

programTest(
  "trigger test takes what a platform would send, and what is stored",
  async (program) => {
    await using daemon = await startDaemon(program);
    const file = await prepared(daemon, GITHUB, 'headers["x-github-event"] == "push"');
    const made = ["trigger", "test", "hook", "--platform", "github", "--event", "push"];
    equal((await daemon.svc(made)).code, 0);
    const line = await daemon.svc(["trigger", "test", "hook", "--platform", "line"]);
    match(line.stdout, /would be: +rejected/);
    await daemon.svc(["trigger", "send", "hook", "-f", file, "--event", "push"]);
    const [delivery] = await daemon.json("get", "deliveries") as { id: string }[];
    const again = await daemon.svc(["trigger", "test", "hook", "--delivery", delivery?.id ?? ""]);
    match(again.stdout, /key "current" matched when it arrived[^]*would be: +accepted/);
    for (const wrong of [[], ["--delivery", "X", "--sign"], ["-f", file, "--event", "push"]]) {
      equal((await daemon.svc(["trigger", "test", "hook", ...wrong])).code, 2);
    }
    equal((await daemon.tasks()).length, 1);
  },
);

programTest(
  "trigger send reaches a daemon whose certificate is made for another name",
  async () => {
    await using dir = await tempDir();
    const [cert, key] = [`${dir.path}/tls.crt`, `${dir.path}/tls.key`];
    await makePair(dir.path, "tls", "DNS:hooks.example.com");
    const args = ["--webhook-tls-cert", cert, "--webhook-tls-key", key];
    await using daemon = await startDaemon(ONE_PROGRAM, { args });
    const file = await prepared(daemon, GITHUB);
    const send = (...more: string[]) =>
      daemon.svc(["trigger", "send", "hook", "-f", file, ...more]);
    const sent = await send();
    match(sent.stdout, /^POST https:\/\/127\.0\.0\.1:\d+\/webhook\/hook, .*\n200 accepted: task\//);
    deepEqual([sent.code, sent.stderr], [0, ""]);
    // An address that is named is another matter: nothing but a valid certificate is trusted.
    const named = await send("--url", `${daemon.url}/webhook/hook`);
    equal(named.code, 1);
    match(named.stderr, /No secure connection to .*certificate/is);
    const [row] = await daemon.json("get", "control-audit") as Record<string, unknown>[];
    deepEqual([row?.["operation"], row?.["result"]], ["trigger.send", "failed"]);
  },
  { fileOnly: NO_DATABASE, skip: NO_OPENSSL },
);
