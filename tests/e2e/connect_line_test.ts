/**
 * `svc connect line` from outside: with the program, against a stand-in for LINE that really tries
 * the webhook.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeLine, fakeLine, LINE_TOKEN } from "../fakes/line.ts";
import { LINE_SECRET } from "../fakes/line_channel.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { NO_DATABASE, ONE_PROGRAM, programTest, type RunResult } from "../helpers/program.ts";

const PUBLIC = "https://hooks.example.com";

function connect(
  daemon: TestDaemon,
  line: FakeLine,
  { token = LINE_TOKEN, secret = LINE_SECRET, url = PUBLIC, args = [] }: {
    token?: string;
    secret?: string;
    url?: string;
    args?: readonly string[];
  } = {},
): Promise<RunResult> {
  const given = token === "" ? [] : ["--token", "env", "--channel-secret", "env"];
  return daemon.svc(["connect", "line", "--api", line.url, "--url", url, ...given, ...args], {
    env: { LINE_TOKEN: token, LINE_CHANNEL_SECRET: secret },
  });
}

programTest(
  "one command from a token to LINE that comes through, and back",
  async (_program, t) => {
    await using line = fakeLine();
    await using daemon = await startDaemon(ONE_PROGRAM);
    line.channel.reach = (endpoint) => endpoint.replace(PUBLIC, daemon.url);

    await t.step("everything is made, and the switches are named", async () => {
      const made = await connect(daemon, line);
      equal(made.code, 0, made.stderr);
      equal(line.channel.webhook.endpoint, `${PUBLIC}/webhook/line`);
      match(made.stderr, /channel access token of Brightwater\n/);
      match(made.stderr, /note: "Use webhook" is off: switch it on/);
      match(made.stderr, /note: "Webhook redelivery"/);
      match(made.stdout, /connection\/line: line is connected: write to the account\n$/);
      ok(!`${made.stdout}${made.stderr}`.includes(LINE_TOKEN));
    });

    await t.step("run again, it changes nothing and needs no token", async () => {
      line.channel.webhook.active = true;
      const before = line.channel.calls.length;
      const again = await connect(daemon, line, { token: "" });
      equal(again.code, 0, again.stderr);
      match(again.stdout, /line is connected, nothing had to be changed\n$/);
      ok(!again.stderr.includes("note:"), again.stderr);
      deepEqual(line.channel.calls.slice(before), [
        "GET /v2/bot/info",
        "GET /v2/bot/channel/webhook/endpoint",
        "POST /v2/bot/channel/webhook/test",
      ]);
    });

    await t.step("a webhook changed by hand is corrected", async () => {
      line.channel.webhook.endpoint = "https://elsewhere.example.com/";
      const mended = await connect(daemon, line, { token: "" });
      match(mended.stderr, /webhook configured: https:\/\/hooks\.example\.com\/webhook\/line\n/);
      equal(line.channel.webhook.endpoint, `${PUBLIC}/webhook/line`);
    });

    await t.step("and back", async () => {
      const left = await daemon.svc(["disconnect", "line", "--yes"]);
      equal(left.code, 0, left.stderr);
      match(left.stdout, /connection\/line deleted\nsecretstore\/line-tokens deleted\n/);
      match(left.stderr, /you also switch off Use webhook/);
    });
  },
);

/** What is wrong on the way, and what is said. */
const WRONG: Readonly<Record<string, [(line: FakeLine, url: string) => void, RegExp]>> = {
  "another channel secret": [
    (line) => line.channel.secret = "another secret",
    /LINE signs with another channel secret \(LINE says ERROR_STATUS_CODE: 401\)/,
  ],
  "a path that is not passed on": [
    (line, url) => line.channel.reach = () => `${url}/elsewhere/line`,
    /The proxy does not pass on \/webhook\/, or changes it/,
  ],
  "nobody there": [
    (line) => line.channel.reach = () => "http://127.0.0.1:9/",
    /LINE could not connect: check the name/,
  ],
};

for (const [name, [spoil, said]] of Object.entries(WRONG)) {
  programTest(`svc connect line says what is wrong: ${name}`, async () => {
    await using line = fakeLine();
    await using daemon = await startDaemon(ONE_PROGRAM);
    line.channel.reach = (endpoint) => endpoint.replace(PUBLIC, daemon.url);
    spoil(line, daemon.url);
    const made = await connect(daemon, line);
    equal(made.code, 1, made.stderr);
    match(made.stdout, said);
  }, { fileOnly: NO_DATABASE });
}

programTest(
  "svc connect line makes nothing with a token that LINE refuses, or without https",
  async () => {
    await using line = fakeLine();
    await using daemon = await startDaemon(ONE_PROGRAM);
    const refused = await connect(daemon, line, { token: "wrong" });
    equal(refused.code, 1);
    match(refused.stderr, /LINE refuses the channel access token \(Authentication failed/);
    const open = await connect(daemon, line, { url: "http://hooks.example.com" });
    equal(open.code, 2);
    match(open.stderr, /LINE posts to https:\/\/ addresses/);
    deepEqual(await daemon.json("get", "connections"), []);
  },
  { fileOnly: NO_DATABASE },
);
