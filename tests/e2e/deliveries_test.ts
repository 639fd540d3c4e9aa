/**
 * Deliveries as an operator meets them: explained, sent again, tried before, and the rotation of
 * the secrets that sign them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { CASES } from "../signatures/platform_cases.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { programTest, slowTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const SECRET = "correct horse battery staple";
const SIGNED = { secret: { fromRef: "github" }, signatureHeader: "X-Hub-Signature-256" };
const MAIN = 'payload_ref == "refs/heads/main" && payload.forced == false';

async function prepared(daemon: TestDaemon, condition = MAIN): Promise<void> {
  await daemon.apply(
    secretStore("github", { webhook_secret: SECRET }),
    workflow("record", 'cat "$SVC_PAYLOAD_FILE"'),
    trigger("push", { condition, webhook: { ...SIGNED, recordRejected: true } }),
  );
}

async function push(daemon: TestDaemon, payload: unknown, secret = SECRET) {
  const body = JSON.stringify(payload);
  return await daemon.send("/webhook/push", { body, headers: githubHeaders(secret, body) });
}

const MAIN_PUSH = { ref: "refs/heads/main", forced: false };

programTest(
  "delivery explain names the part of the condition and the values it saw",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon);
    const { json } = await push(daemon, { ref: "refs/heads/topic", forced: false });
    const { stdout } = await daemon.svc(["delivery", "explain", String(json["delivery_id"])]);
    match(stdout, /passed with key "webhook_secret" of SecretStore "github"/);
    match(
      stdout,
      /payload_ref == "refs\/heads\/main" is false, where payload_ref is "refs\/heads\/topic"/,
    );
    match(stdout, /payload\.forced == false is true, where payload\.forced is false/);
  },
);

programTest(
  "delivery explain says what would make a refused signature pass",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon);
    equal((await push(daemon, MAIN_PUSH, `${SECRET}\n`)).status, 401);
    const [rejected] = await until("the record of the refusal", async () => {
      const found = await daemon.json("get", "deliveries", "--outcome", "rejected") as {
        id: string;
      }[];
      return found.length > 0 ? found : undefined;
    });
    const { stdout } = await daemon.svc(["delivery", "explain", rejected?.id ?? ""]);
    match(stdout, /would pass: .*line break|would pass: .*white ?space|would pass: .*newline/i);
    ok(!stdout.includes(SECRET), "no secret is shown");
  },
);

programTest(
  "a secret that is another one is told at once, by the first command",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon);
    await push(daemon, MAIN_PUSH);
    equal((await push(daemon, MAIN_PUSH, "quite another secret")).status, 401);
    // Nothing is waited for: the list holds what was refused before it was asked for.
    const [rejected] = await daemon.json("get", "deliveries") as { id: string; reason: string }[];
    match(
      rejected?.reason ?? "",
      /^the signature fits no key of SecretStore "github" \(another secret, or the body was changed on its way\)$/,
    );
    const { stdout } = await daemon.svc(["delivery", "explain", rejected?.id ?? ""]);
    match(
      stdout,
      /next: None of the usual mistakes explains it/,
    );
    match(
      stdout,
      /SecretStore "github" has webhook_secret \(last matched \d+m?s ago\)/,
    );
    match(stdout, /next: To change it: svc .*secret.* github webhook_secret/);
    ok(!stdout.includes(SECRET), "no secret is shown");
  },
);

programTest(
  "a wrong address at the platform is seen in svc status, with the one that was meant",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon);
    for (const path of ["/webhook/pushh", "/webhook/pushh", "/webhook/push/"]) {
      equal((await daemon.send(path, { body: "{}", headers: {} })).status, 404);
    }
    const status = await daemon.svc(["status"]);
    match(
      status.stdout,
      /no trigger: +POST \/webhook\/push\/ came once, did you mean \/webhook\/push\?/,
    );
    const found = await daemon.json("get", "deliveries", "--unknown") as Record<string, unknown>[];
    deepEqual(found.map(({ path, count, did_you_mean }) => [path, count, did_you_mean]), [
      ["/webhook/push/", 1, "/webhook/push"],
      ["/webhook/pushh", 2, "/webhook/push"],
    ]);
    const table = await daemon.svc(["get", "deliveries", "--unknown"]);
    match(table.stdout, /POST +\/webhook\/pushh +2 .*127\.0\.0\.1 +POST \/webhook\/push\n/);
    equal((await daemon.svc(["get", "tasks", "--unknown"])).code, 2);
    equal((await daemon.svc(["status", "--exit-status"])).code, 0);
  },
);

programTest(
  "delivery redeliver runs what is stored through the trigger of now",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon);
    const topic = { ref: "refs/heads/topic", forced: false };
    const { json } = await push(daemon, topic);
    equal(json["status"], "filtered");
    await daemon.apply(trigger("push", { condition: "true" }));
    const again = await daemon.svc(["delivery", "redeliver", String(json["delivery_id"])]);
    equal(again.code, 0, again.stderr);
    match(again.stdout, /accepted as delivery\/.*, task\//);
    const [task] = await daemon.settled();
    equal((await daemon.svc(["task", "logs", task?.id ?? ""])).stdout, JSON.stringify(topic));
    const span = await daemon.svc(["delivery", "redeliver", "--trigger", "push", "--since", "1h"]);
    equal(span.code, 0, span.stderr);
    equal((await daemon.settled()).length, 3);
    equal((await daemon.svc(["delivery", "redeliver", "--trigger", "push"])).code, 2);
  },
);

slowTest(
  "delivery redeliver takes every filter of get, and tells beforehand what matches",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon);
    const filtered = await push(daemon, { ref: "refs/heads/topic", forced: false });
    await push(daemon, MAIN_PUSH);
    await daemon.settled();
    const redeliver = async (...filters: readonly string[]) => {
      const { code, stdout, stderr } = await daemon.svc([
        "delivery",
        "redeliver",
        "--since",
        "1h",
        ...filters,
      ]);
      equal(code, 0, stderr);
      return stdout;
    };
    const id = String(filtered.json["delivery_id"]);
    const before = (await daemon.tasks()).length;
    equal(await redeliver("--reason", "CONDITION", "--dry-run"), `delivery/${id}\n`);
    equal(await redeliver("--status", "500", "--dry-run"), "");
    equal(await redeliver("--until", "2020-01-01T00:00:00Z"), "");
    equal(await redeliver("--min-duration", "1h"), "");
    const both = await redeliver("--key", "webhook_secret", "--remote", "127.0.0.1", "--dry-run");
    equal(both.trim().split("\n").length, 2, both);
    equal((await daemon.tasks()).length, before, "nothing was sent so far");
    match(await redeliver("--reason", "condition"), new RegExp(`^delivery/${id} filtered as `));

    using client = daemon.client();
    const everything = Array.fromAsync(client.stream("delivery.redeliver", { project: "default" }));
    equal(await everything.catch(({ code }) => code), "usage");
    const dry = await daemon.svc(["delivery", "redeliver", id, "--dry-run"]);
    equal(dry.code, 2);
  },
);

programTest(
  "a rejected delivery that was kept is checked anew when it is sent again",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon, "true");
    await daemon.apply(trigger("push", { condition: "true", webhook: SIGNED }));
    const rejected = (n: number) =>
      until(`refusal ${n}`, async () => {
        const found = await daemon.json("get", "deliveries", "--outcome", "rejected") as {
          id: string;
        }[];
        return found.length === n ? found[0]?.id : undefined;
      });
    await push(daemon, MAIN_PUSH, "the secret of tomorrow, long enough");
    const lost = await daemon.svc(["delivery", "redeliver", await rejected(1)]);
    equal(lost.code, 1);
    match(lost.stdout, /svc kept nothing of it: set .*recordRejected: true/);

    await prepared(daemon, "true");
    await push(daemon, MAIN_PUSH, "the secret of tomorrow, long enough");
    const id = await rejected(2);
    const still = await daemon.svc(["delivery", "redeliver", id]);
    equal(still.code, 1);
    match(still.stdout, /was rejected, and still is: /);
    equal((await daemon.tasks()).length, 0);

    const set = ["tool", "secret-rotate", "github", "tomorrow", "--value-file", "-", "--create"];
    const mended = await daemon.svc(set, { stdin: "the secret of tomorrow, long enough" });
    equal(mended.code, 0, mended.stderr);
    const again = await daemon.svc(["delivery", "redeliver", id]);
    equal(again.code, 0, again.stdout + again.stderr);
    match(again.stdout, /accepted as delivery\/.*, task\//);
    equal((await daemon.settled()).length, 1);
    // Those that are not asked for stay as they are.
    const span = ["--trigger", "push", "--since", "1h"];
    await daemon.svc(["delivery", "redeliver", ...span]);
    equal((await daemon.settled()).length, 2);
    const all = ["delivery", "redeliver", "--outcome", "rejected", ...span];
    const kept = await daemon.svc(all);
    match(kept.stdout, /accepted/, kept.stderr);
    equal((await daemon.settled()).length, 3);
  },
);

slowTest(
  "fifty rotations at once on different keys lose none, and the next request uses them",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon, "true");
    const keys = Array.from({ length: 50 }, (_, n) => `key-${n}`);
    const results: number[] = [];
    for (let at = 0; at < keys.length; at += 10) { // ten processes at a time
      const some = keys.slice(at, at + 10).map(async (key) => {
        const args = ["tool", "secret-rotate", "github", key, "--value-file", "-", "--create"];
        return (await daemon.svc(args, { stdin: `value of ${key}, long enough` })).code;
      });
      results.push(...await Promise.all(some));
    }
    deepEqual(results, new Array(50).fill(0));
    const store = await daemon.json("describe", "secretstore/github") as {
      spec: { data: Record<string, string> };
    };
    equal(Object.keys(store.spec.data).length, 51);
    equal((await push(daemon, MAIN_PUSH, "value of key-37, long enough")).status, 200);
    equal((await daemon.svc(["tool", "secret-rotate", "github", "nope", "--value", "x"])).code, 4);
    equal((await daemon.svc(["tool", "secret-rotate", "nope", "k", "--value", "x"])).code, 4);
  },
);

programTest(
  "describe secretstore says which keys still match, for which triggers",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon, "true");
    await push(daemon, MAIN_PUSH);
    const keys = await until("the use of the key", async () => {
      const { status } = await daemon.json("describe", "secretstore/github") as {
        status: { keys: Record<string, { matched: number; triggers: string[] }> };
      };
      return status.keys["webhook_secret"]?.matched === 1 ? status.keys : undefined;
    });
    deepEqual(keys["webhook_secret"]?.triggers, ["push"]);
  },
);

slowTest(
  "trigger test and apply --dry-run --against store and start nothing",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon);
    await push(daemon, MAIN_PUSH);
    await daemon.settled();
    const file = `${daemon.dataDir}/payload.json`;
    await Deno.writeTextFile(file, JSON.stringify(MAIN_PUSH));
    const signed = await daemon.svc(["trigger", "test", "push", "-f", file, "--sign"]);
    equal(signed.code, 0, signed.stdout + signed.stderr);
    match(
      signed.stdout,
      /key "webhook_secret" matched[\s\S]*starts workflow "record"[\s\S]*accepted/,
    );
    const unsigned = await daemon.svc(["trigger", "test", "push", "-f", file]);
    equal(unsigned.code, 1);
    match(unsigned.stdout, /401 unauthorized: the request has no header x-hub-signature-256/);
    const other = (filter: string) =>
      daemon.svc(["trigger", "test", "push", "--delivery", "latest", "--filter", filter]);
    const tried = await other('payload.ref == "refs/heads/none"');
    equal(tried.code, 1);
    match(
      tried.stdout,
      /payload.ref == "refs\/heads\/none" → false .*\n.*\nwould be: +filtered/,
    );
    const wrong = await other("payload.ref ==");
    match(wrong.stderr, /Does not compile at column/);
    equal((await daemon.tasks()).length, 1, "nothing was started");
    const proposed = JSON.stringify(trigger("push", { condition: "false" }));
    const against = await daemon.svc(["apply", "-f", "-", "--dry-run", "--against", "7d"], {
      stdin: proposed,
    });
    equal(against.code, 0, against.stderr);
    match(against.stdout, /1 stored deliveries examined\n {2}1 accepted → filtered/);
    const backtest = (...more: string[]) => daemon.svc(["trigger", "backtest", "push", ...more]);
    const changed = await backtest("--filter", 'payload.ref == "refs/heads/none"');
    equal(changed.code, 0, changed.stderr);
    match(
      changed.stdout,
      /^delivery\/\w{26} accepted → filtered \(the condition .*\)\n\n1 stored deliveries examined\n {2}1 accepted → filtered\n$/,
    );
    match((await backtest("--since", "1d")).stdout, /^\n1 stored .*\n {2}1 unchanged accepted\n$/);
    const lines = (await backtest("-o", "json")).stdout.trimEnd().split("\n");
    deepEqual(JSON.parse(lines[0] ?? ""), { total: 1 });
    deepEqual(JSON.parse(lines.at(-1) ?? ""), {
      done: true,
      examined: 1,
      counts: { "unchanged accepted": 1 },
    });
    const refused = await backtest("--filter", "payloda.ref == 1");
    equal(refused.code, 1);
    match(refused.stderr, /payloda.*did you mean "payload"\?/);
    equal((await daemon.tasks()).length, 1);
    equal((await push(daemon, MAIN_PUSH)).json["status"], "accepted", "nothing was applied");
  },
);

slowTest(
  "svc stats: minutes in which something happened, with their latencies",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepared(daemon);
    match((await daemon.svc(["stats"])).stdout, /^Nothing happened in the last 60 minutes\n$/);
    await push(daemon, MAIN_PUSH);
    await daemon.settled();
    const all = await daemon.svc(["stats", "--minutes", "10"]);
    equal(all.code, 0, all.stderr);
    match(all.stdout, /^MINUTE {2,}ACCEPTED {2}P50 {2,}P95 .*START95 {2}ENDED .*\n\d\d:\d\dZ .*\n/);
    const [, answers] = all.stdout.split("\n").map((line) => line.split(/ +/).slice(2, 6));
    ok(answers?.every((cell) => /^(?:\d+ms|\d+\.\ds)$/.test(cell)), all.stdout);
    match(all.stderr, /^counted since \d{4}-/);
    ok(all.stdout.split("\n").every((line) => line.length <= 80), all.stdout);
    const own = await daemon.svc(["stats", "--trigger", "push", "-o", "json"]);
    const { deliveries, step_secs } = JSON.parse(own.stdout);
    deepEqual([deliveries.accepted.length, step_secs], [60, 60]);
    equal((await daemon.svc(["stats", "--trigger", "pull"])).code, 4);
    equal((await daemon.svc(["stats", "--minutes", "1441"])).code, 2);
  },
);

slowTest(
  "published signatures that need neither clock nor URL verify from outside",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(workflow("record", "true"));
    const plain = CASES.filter(({ signs }) => signs.time === undefined && signs.url === undefined);
    ok(plain.length >= 8, `${plain.length}`);
    for (const [n, one] of plain.entries()) {
      const hmac = one.hmac === undefined ? {} : { hmac: one.hmac };
      await daemon.apply(
        secretStore(`keys-${n}`, { current: one.secret }),
        trigger(`hook-${n}`, {
          webhook: {
            secret: { fromRef: `keys-${n}` },
            signatureHeader: one.header,
            scheme: one.scheme,
            ...hmac,
          },
        }),
      );
      const send = async (body: Uint8Array) =>
        (await daemon.send(`/webhook/hook-${n}`, { body, headers: one.headers })).status;
      const isObject = new TextDecoder().decode(one.body).startsWith("{");
      equal(await send(one.body), isObject ? 200 : 400, one.name);
      const changed = new Uint8Array([...one.body, 0x20]);
      equal(await send(changed), one.signs.body === false ? (isObject ? 200 : 400) : 401, one.name);
    }
  },
);
