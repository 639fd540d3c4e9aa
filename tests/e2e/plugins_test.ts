/**
 * Plugins, their policy, their audit and the roles over them, from outside: real scripts in a real
 * daemon. The examples of the docs are among them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { join } from "node:path";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { hookKind, type Manifest, secretStore, trigger, workflow } from "../helpers/manifests.ts";
import {
  longTest,
  NO_DATABASE,
  ONE_PROGRAM,
  programTest,
  ROOT,
  run,
  slowTest,
} from "../helpers/program.ts";
import { changeIn, rowsIn } from "../helpers/stored_rows.ts";
import { textsIn } from "../helpers/stored_texts.ts";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { processesWith, until } from "../helpers/until.ts";

const EXAMPLES = join(ROOT, "docs/examples/plugins");
const SECRET = "8f742231b10e8888abcd99yyyzzz85a5";
const JSON_TYPE = { "content-type": "application/json" };

async function write(daemon: TestDaemon, path: string, text: string): Promise<void> {
  await Deno.writeTextFile(join(daemon.dataDir, path), text, { mode: 0o700 });
}

async function policy(daemon: TestDaemon, text: string): Promise<void> {
  const path = join(daemon.dataDir, "plugin-policy.yaml");
  await Deno.writeTextFile(path, text);
  await Deno.chmod(path, 0o600);
}

const ALLOW = "mode: allowlist\nallowed_command_prefixes: [scripts/]\nmax_timeout_secs: 60\n";

function interceptor(command: string, more: Record<string, unknown> = {}) {
  return { name: "check", type: "interceptor", phase: "webhook.authenticate", command, ...more };
}

function transformer(name: string, command: string) {
  return { name, type: "transformer", phase: "webhook.transform", command };
}

/** A daemon whose trigger `hook` uses these plugins; scripts by name. */
async function withPlugins(
  daemon: TestDaemon,
  scripts: Record<string, string>,
  ...plugins: Record<string, unknown>[]
): Promise<void> {
  await policy(daemon, ALLOW);
  for (const [name, text] of Object.entries(scripts)) {
    await write(daemon, `scripts/${name}`, `#!/bin/sh\n${text}\n`);
  }
  await daemon.apply(
    hookKind(...plugins),
    workflow("record", 'cat "$SVC_PAYLOAD_FILE"'),
    trigger("hook", { webhook: { crdRef: "Hook" } }),
  );
}

interface Row {
  readonly action: string;
  readonly plugin_name: string;
  readonly result: string;
  readonly stderr: string;
}

async function executions(daemon: TestDaemon): Promise<Row[]> {
  const rows = await daemon.json("get", "audit", "--limit", "100000") as Row[];
  return rows.filter(({ action }) => action === "execute").toReversed();
}

/** The policy and the scripts of docs/examples/plugins, as its page has a user put them. */
async function copyExamples(daemon: TestDaemon): Promise<void> {
  await Deno.copyFile(
    join(EXAMPLES, "plugin-policy.yaml"),
    join(daemon.dataDir, "plugin-policy.yaml"),
  );
  for await (const { name } of Deno.readDir(join(EXAMPLES, "scripts"))) {
    await Deno.copyFile(join(EXAMPLES, "scripts", name), join(daemon.dataDir, "scripts", name));
    await Deno.chmod(join(daemon.dataDir, "scripts", name), 0o700);
  }
}

programTest(
  "the example of docs/plugins.md authenticates and transforms",
  async (program) => {
    await using daemon = await startDaemon(program);
    await copyExamples(daemon);
    await daemon.apply(
      secretStore("chat", { signing_secret: SECRET, access_token: "token-of-the-beginning" }),
    );
    const applied = await daemon.svc(["apply", "-f", join(EXAMPLES, "chat.yaml")]);
    equal(applied.code, 0, applied.stderr);
    const body = '{"event":{"user":"U1\\n","text":"a\\nb"}}';
    const send = async (headers: Record<string, string>) =>
      (await daemon.send("/webhook/chat", { body, headers: { ...JSON_TYPE, ...headers } })).status;
    const now = String(Math.floor(Date.now() / 1000));
    const signed = (time: string) =>
      `v0=${createHmac("sha256", SECRET).update(`v0:${time}:${body}`).digest("hex")}`;
    const headers = { "x-chat-timestamp": now, "x-chat-signature": signed(now) };
    for (const script of ["scripts/verify-v0.sh", "scripts/verify-with-svc.sh"]) {
      const definition = await Deno.readTextFile(join(EXAMPLES, "chat.yaml"));
      const changed = definition.replace("scripts/verify-v0.sh", script);
      equal((await daemon.svc(["apply", "-f", "-"], { stdin: changed })).code, 0);
      equal(await send(headers), 200, script);
      equal(await send({ ...headers, "x-chat-signature": signed(`${now}0`) }), 401, script);
      equal(await send({ "x-chat-timestamp": now }), 401, script);
      const old = String(Number(now) - 301);
      equal(await send({ "x-chat-timestamp": old, "x-chat-signature": signed(old) }), 401, script);
    }
    const tasks = await daemon.settled();
    equal(tasks.length, 2);
    equal((await daemon.svc(["task", "logs", tasks[0]?.id ?? ""])).stdout, "a message from U1\n");
  },
  { skip: missing("openssl") },
);

programTest("what docs/plugins.md says to try works", async (program) => {
  await using daemon = await startDaemon(program);
  await copyExamples(daemon);
  equal((await daemon.svc(["apply", "-f", join(EXAMPLES, "chat.yaml")])).code, 0);
  await using empty = await tempDir();
  const page = await Deno.readTextFile(join(ROOT, "docs/plugins.md"));
  const script = /^```sh\n(svc secret set chat [\s\S]*?)^```$/m.exec(page)?.[1] ?? "exit 1";
  const { code, stdout, stderr } = await run(
    "/bin/sh",
    ["-euc", script.replace("http://127.0.0.1:19090", daemon.url)],
    {
      cwd: empty.path,
      env: {
        SVC_DATA_DIR: daemon.dataDir,
        PATH: `${daemon.dataDir}/bin:${Deno.env.get("PATH")}`,
      },
      stdin: SECRET,
    },
  );
  equal(code, 0, stdout + stderr);
  match(stdout, /"status":"accepted"[\s\S]*a message from ann\n$/);
}, { fileOnly: NO_DATABASE, skip: missing("curl", "openssl") });

longTest("the cron plugin of docs/plugins.md refreshes its token", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await copyExamples(daemon);
  await daemon.apply(
    secretStore("chat", { signing_secret: SECRET, access_token: "token-of-the-beginning" }),
  );
  const definition = (await Deno.readTextFile(join(EXAMPLES, "chat.yaml")))
    .replace("*/30 * * * *", "* * * * *");
  equal((await daemon.svc(["apply", "-f", "-"], { stdin: definition })).code, 0);
  await until("the refreshed token", async () => {
    const store = await daemon.json("describe", "secretstore/chat") as {
      spec: { data: Record<string, string> };
    };
    return store.spec.data["access_token"]?.startsWith("renewed-") ? true : undefined;
  }, 90_000);
});

programTest(
  "an interceptor sees the exact bytes, or the request is refused",
  async (program) => {
    await using daemon = await startDaemon(program);
    const digest =
      'sum=$(sha256sum < "$WEBHOOK_BODY_FILE"); [ "${sum%% *}" = "$WEBHOOK_HEADER_X_SUM" ]';
    const variable =
      'sum=$(printf %s "$WEBHOOK_BODY" | sha256sum); [ "${sum%% *}" = "$WEBHOOK_HEADER_X_SUM" ]';
    const stdin = 'sum=$(sha256sum); [ "${sum%% *}" = "$WEBHOOK_HEADER_X_SUM" ]';
    const text = (n: number) =>
      new TextEncoder().encode(JSON.stringify({ pad: "ä".repeat(n / 2) }));
    const withNul = new TextEncoder().encode('{"a":"\0"}');
    const invalid = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]);
    const cases = [
      {
        script: digest,
        input: "file",
        bodies: [text(100_000), text(131_059), text(1_000_000)],
        status: 200,
      },
      {
        script: stdin,
        input: "stdin",
        bodies: [text(100_000), text(131_059), text(1_000_000)],
        status: 200,
      },
      { script: digest, input: "file", bodies: [withNul, invalid], status: 400 }, // passed, then no JSON
      { script: variable, input: "env", bodies: [text(100_000)], status: 200 },
      {
        script: variable,
        input: "env",
        bodies: [text(131_059), text(1_000_000), withNul, invalid],
        status: 401,
      },
    ];
    for (const { script, input, bodies, status } of cases) {
      await withPlugins(daemon, { "check.sh": script }, interceptor("scripts/check.sh", { input }));
      for (const body of bodies) {
        const sum = createHash("sha256").update(body).digest("hex");
        const answer = await daemon.send("/webhook/hook", {
          body,
          headers: { ...JSON_TYPE, "x-sum": sum },
        });
        equal(answer.status, status, `${input}, ${body.length} bytes`);
      }
    }
  },
);

slowTest(
  "a plugin that misbehaves gets the answer and the row it deserves, and leaves nobody",
  async (program) => {
    await using daemon = await startDaemon(program);
    const mark = `svc-test-${crypto.randomUUID()}`;
    const sleeper = `sleep 300 # ${mark}`;
    const cases = [
      { name: "exit 3", script: "echo why >&2; exit 3", result: "rejected", stderr: /^why\n$/ },
      {
        name: "TERM trapped",
        script: `trap '' TERM; while :; do sleep 0.2; done`,
        result: "timeout",
        stderr: /^$/,
      },
      {
        name: "forks",
        script: `sh -c '${sleeper}' & sh -c '${sleeper}'`,
        result: "timeout",
        stderr: /^$/,
      },
      {
        name: "setsid",
        script: `setsid sh -c '${sleeper}' & sleep 300`,
        result: "timeout",
        stderr: /^$/,
      },
      {
        name: "prints",
        script: "yes >&2 & yes | head -c 200000000; wait",
        result: "timeout",
        stderr: /^(y\n)+y?$/,
      },
      { name: "killed", script: "kill -KILL $$", result: "rejected", stderr: /^(Killed\n)?$/ },
    ];
    for (const { name, script, result, stderr } of cases) {
      await withPlugins(
        daemon,
        { "check.sh": script },
        // A plugin that is to end by itself has the time it needs.
        interceptor("scripts/check.sh", { timeout: result === "timeout" ? 1 : 60 }),
      );
      const before = (await executions(daemon)).length;
      const answer = await daemon.send("/webhook/hook", { body: "{}", headers: JSON_TYPE });
      equal(answer.status, 401, name);
      equal(answer.text.includes("why"), false);
      const rows = await until("its end", async () => { // which the sender does not wait for
        const rows = (await executions(daemon)).slice(before);
        return rows.some((row) => row.result === "running") ? undefined : rows;
      });
      deepEqual(rows.map((row) => row.result), [result], name);
      match(rows[0]?.stderr ?? "", stderr, name);
      ok((rows[0]?.stderr.length ?? 0) <= 8192, name);
    }
    await Deno.remove(join(daemon.dataDir, "scripts/check.sh"));
    equal((await daemon.send("/webhook/hook", { body: "{}", headers: JSON_TYPE })).status, 401);
    deepEqual(await processesWith(mark), []);
    equal((await daemon.tasks()).length, 0);
  },
);

slowTest(
  "a transformer's object is what filter and steps see; anything else is 502",
  async (program) => {
    await using daemon = await startDaemon(program);
    const scripts = {
      "first.sh": 'printf \'{"from":"%s","n":9007199254740993}\' "$(cat | wc -c | tr -d " ")"',
      "second.sh": "cat; true",
      "list.sh": "printf '[1]'",
      "nothing.sh": "true",
      "broken.sh": "printf '{\"a\":1}'; exit 1",
      "two.sh": "printf '{} {}'",
    };
    await withPlugins(
      daemon,
      { ...scripts, "pass.sh": "exit 0" },
      interceptor("scripts/pass.sh"),
      transformer("first", "scripts/first.sh"),
      transformer("second", "scripts/second.sh"),
    );
    await daemon.apply(
      trigger("hook", { webhook: { crdRef: "Hook" }, condition: "payload.n == 9007199254740993" }),
    );
    const send = () => daemon.send("/webhook/hook", { body: '{"x":1}', headers: JSON_TYPE });
    equal((await send()).json["status"], "accepted");
    const [task] = await daemon.settled();
    equal(
      (await daemon.svc(["task", "logs", task?.id ?? ""])).stdout,
      '{"from":"7","n":9007199254740993}',
    );
    for (const bad of ["list", "nothing", "broken", "two"]) {
      await daemon.apply(
        hookKind(interceptor("scripts/pass.sh"), transformer(bad, `scripts/${bad}.sh`)),
      );
      equal((await send()).status, 502, bad);
    }
    equal((await daemon.tasks()).length, 1);
  },
);

programTest("tightening the policy stops the next run, without a restart", async (program) => {
  await using daemon = await startDaemon(program);
  await withPlugins(daemon, { "check.sh": "exit 0" }, interceptor("scripts/check.sh"));
  const send = async () =>
    (await daemon.send("/webhook/hook", { body: "{}", headers: JSON_TYPE })).status;
  equal(await send(), 200);
  const script = join(daemon.dataDir, "scripts/check.sh");
  const closed: [string, () => Promise<void>, () => Promise<void>][] = [
    ["deny", () => policy(daemon, "mode: deny\n"), () => policy(daemon, ALLOW)],
    ["empty list", () => policy(daemon, "mode: allowlist\n"), () => policy(daemon, ALLOW)],
    ["typo", () => policy(daemon, ALLOW + "enforce: true\n"), () => policy(daemon, ALLOW)],
    ["broken", () => policy(daemon, "mode: [\n"), () => policy(daemon, ALLOW)],
    [
      "world-writable",
      () => Deno.chmod(join(daemon.dataDir, "plugin-policy.yaml"), 0o666),
      () => policy(daemon, ALLOW),
    ],
    ["symlink out", async () => {
      await Deno.rename(script, `${script}.real`);
      await Deno.symlink("/bin/true", script);
    }, async () => {
      await Deno.remove(script);
      await Deno.rename(`${script}.real`, script);
    }],
  ];
  for (const [name, close, open] of closed) {
    await close();
    equal(await send(), 401, name);
    await open();
    equal(await send(), 200, `after ${name}`);
  }
  const rows = await executions(daemon);
  equal(rows.filter(({ result }) => result === "denied").length, closed.length);
}, { fileOnly: NO_DATABASE });

slowTest(
  "only an admin applies plugins, in any spelling; for others the whole file is refused",
  async (program) => {
    await using daemon = await startDaemon(program);
    await policy(daemon, ALLOW);
    await write(daemon, "control-plane/uds-policy.yaml", "max_role: operator\n");
    const json = JSON.stringify(hookKind(interceptor("scripts/x.sh")));
    const block = `kind: CustomResourceDefinition
metadata: {name: hooks.example.com}
spec:
  kind: Hook
  plural: hooks
  group: example.com
  versions: [{name: v1, schema: {type: object}}]
`;
    const plugin =
      "{name: a, type: interceptor, phase: webhook.authenticate, command: scripts/x.sh}";
    const spellings = [
      json,
      `\uFEFF${json}`,
      `${block}  plugins: [${plugin}]\n`,
      `${block}  "plugins": [${plugin}]\n`,
      `${block}  ? plugins\n  : [${plugin}]\n`,
      `${block}  plugins: [&p ${plugin}]\n`,
      `${block}  hooks: {onCreate: scripts/x.sh}\n`,
      `${block}  hooks: {on_create: {command: scripts/x.sh}}\n`,
      `${block}  plugins: [${plugin}]\n`.replaceAll("\n", "\r\n"),
      `kind: Project\nmetadata: {name: first}\n---\n${json}`,
    ];
    for (const stdin of spellings) {
      const { code, stderr } = await daemon.svc(["apply", "-f", "-"], { stdin });
      equal(code, 5, `${stdin}\n${stderr}`);
    }
    deepEqual(await daemon.json("get", "crd"), []);
    const projects = await daemon.json("get", "projects") as Manifest[];
    deepEqual(projects.map(({ metadata }) => metadata.name), ["default"]);
    const rows = await daemon.json("get", "audit") as { result: string; role: string }[];
    deepEqual(
      new Set(rows.map(({ result, role }) => `${result} ${role}`)),
      new Set(["denied operator"]),
    );
    await daemon.apply(secretStore("s", { key: "a value of some length" }));
    const shown = await daemon.json("describe", "secretstore/s") as {
      spec: { data: { key: string } };
    };
    equal(shown.spec.data.key, "***");
    for (const text of ["max_role: root\n", "maxrole: admin\n", "[", ""]) {
      await write(daemon, "control-plane/uds-policy.yaml", text);
      equal(
        (await daemon.svc(["apply", "-f", "-"], { stdin: "kind: Project\nmetadata: {name: p}\n" }))
          .code,
        5,
        text,
      );
    }
    const { degraded } = await daemon.json("status") as { degraded: string[] };
    equal(degraded.length, 1);
  },
  { fileOnly: NO_DATABASE },
);

slowTest(
  "a token works where the socket is capped, until it is revoked",
  async (program) => {
    await using daemon = await startDaemon(program);
    await policy(daemon, ALLOW);
    await write(daemon, "scripts/x.sh", "#!/bin/sh\n");
    const made = await daemon.svc(["token", "create", "--role", "admin", "--name", "ops"]);
    const token = made.stdout.trim();
    match(token, /^svct_[0-9a-f]{64}$/);
    await write(daemon, "control-plane/uds-policy.yaml", "max_role: read_only\n");
    const apply = (SVC_TOKEN: string) =>
      daemon.svc(["apply", "-f", "-"], {
        stdin: JSON.stringify(hookKind(interceptor("scripts/x.sh"))),
        env: { SVC_TOKEN },
      });
    equal((await apply("")).code, 5);
    equal((await apply(token)).code, 0);
    equal((await apply(`${token}0`)).code, 5);
    const [listed] = await daemon.json("token", "list") as { id: string }[];
    const revoked = await daemon.svc(["token", "revoke", listed?.id ?? ""], {
      env: { SVC_TOKEN: token },
    });
    equal(revoked.code, 0, revoked.stderr);
    equal((await apply(token)).code, 5);
    const stored = await textsIn(daemon.dataDir);
    deepEqual(stored.filter(([, text]) => text.includes(token)), [], "only its hash is stored");
  },
);

slowTest(
  "instances are checked against the schema, listed by every name, and run hooks",
  async (program) => {
    await using daemon = await startDaemon(program);
    await policy(daemon, ALLOW);
    await write(
      daemon,
      "scripts/note.sh",
      '#!/bin/sh\necho "$RESOURCE_ACTION $RESOURCE_KIND/$RESOURCE_NAME $(cat "$RESOURCE_SPEC_FILE")" >> "$SVC_DATA_DIR/notes"\n',
    );
    await write(daemon, "scripts/fail.sh", "#!/bin/sh\nexit 7\n");
    const definition = hookKind();
    const schema = {
      type: "object",
      required: ["size"],
      properties: { size: { type: "integer" } },
    };
    await daemon.apply({
      ...definition,
      spec: {
        ...definition.spec,
        shortNames: ["hk"],
        versions: [{ name: "v1", schema }],
        hooks: {
          onCreate: "scripts/note.sh",
          on_update: { command: "scripts/note.sh", timeout: 5 },
          onDelete: "scripts/fail.sh",
        },
      },
    });
    const instance = (size: unknown) =>
      `apiVersion: example.com/v1\nkind: Hook\nmetadata: {name: one}\nspec:\n  size: ${size}\n`;
    const bad = await daemon.svc(["apply", "-f", "-"], { stdin: instance("big") });
    equal(bad.code, 1);
    match(bad.stderr, /<stdin>:5:3: spec\.size: Expected an integer/);
    await daemon.svc(["apply", "-f", "-", "--dry-run"], { stdin: instance(1) });
    for (const size of [1, 1, 2]) {
      equal(
        (await daemon.svc(["apply", "-f", "-"], { stdin: instance(size) })).code,
        0,
      );
    }
    equal(
      await Deno.readTextFile(join(daemon.dataDir, "notes")),
      'create Hook/one {"size":1}\nupdate Hook/one {"size":2}\n',
    );
    for (const word of ["hook", "hooks", "hk", "Hook"]) {
      deepEqual((await daemon.svc(["get", word, "-o", "name"])).stdout, "hook/one\n", word);
    }
    equal((await daemon.svc(["delete", "crd/hooks.example.com"])).code, 1, "it has an instance");
    const deleted = await daemon.svc(["delete", "hook/one"]);
    equal(deleted.code, 1);
    match(deleted.stderr, /hook failed: .*exit code 7/);
    deepEqual(await daemon.json("get", "hooks"), []);
  },
);

slowTest(
  "the audit can be read with SQL, and tells when it was changed",
  async (program) => {
    await using daemon = await startDaemon(program);
    await withPlugins(daemon, { "check.sh": "exit 0" }, interceptor("scripts/check.sh"));
    for (let n = 0; n < 3; n++) {
      await daemon.send("/webhook/hook", {
        body: "{}",
        headers: JSON_TYPE,
      });
    }
    equal((await daemon.svc(["audit", "verify"])).stdout, "4 rows, unchanged\n");
    const rows = await rowsIn(
      daemon.dataDir,
      "SELECT created_at, action, crd_kind, plugin_name, command, result FROM plugin_audit ORDER BY created_at DESC LIMIT 10",
    );
    deepEqual(
      rows.map(({ action, crd_kind, plugin_name, command, result }) =>
        [action, crd_kind, plugin_name, command, result].join(" ")
      ),
      [
        ...new Array(3).fill("execute Hook check scripts/check.sh ok"),
        "apply Hook check scripts/check.sh allowed",
      ],
    );
    const faults: [string, RegExp][] = [
      ["UPDATE plugin_audit SET command = 'true' WHERE action = 'apply'", /was changed/],
      ["DELETE FROM plugin_audit WHERE id = (SELECT max(id) FROM plugin_audit)", /was removed/],
      [
        "DELETE FROM plugin_audit_chain WHERE position = (SELECT max(position) FROM plugin_audit_chain)",
        /last links are missing/,
      ],
    ];
    for (const [sql, says] of faults) {
      await changeIn(daemon.dataDir, sql);
      const { code, stdout } = await daemon.svc(["audit", "verify"]);
      equal(code, 1, sql);
      match(stdout, says, sql);
    }
  },
);

longTest(
  "1,000 requests at once to a slow interceptor: nothing dies, every run has its row",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM, { descriptors: 1024 });
    await withPlugins(
      daemon,
      { "check.sh": "sleep 0.2" },
      interceptor("scripts/check.sh", { timeout: 10 }),
    );
    const before = (await executions(daemon)).length;
    // Beyond what its descriptors allow, the daemon closes connections: those senders try again.
    const requests = Promise.allSettled(
      Array.from(
        { length: 1000 },
        () => daemon.send("/webhook/hook", { body: "{}", headers: JSON_TYPE }),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    let over = false;
    requests.then(() => over = true);
    await until("an answer of /healthz", async () => {
      const answer = await daemon.send("/healthz", { method: "GET" }).catch(() => undefined);
      return answer?.status === 200 ? true : undefined;
    });
    equal(over, false, "it is answered while they wait");
    const answers = (await requests).map((one) =>
      one.status === "fulfilled" ? one.value.status : 0
    );
    const passed = answers.filter((status) => status === 200).length;
    deepEqual(answers.filter((status) => ![200, 503, 0].includes(status)), []);
    ok(passed >= 300, `only ${passed} of 1,000 were let in`);
    const rows = (await executions(daemon)).slice(before);
    equal(rows.filter(({ result }) => result === "ok").length, rows.length);
    ok(rows.length >= passed, `${rows.length} rows for ${passed} answers`);
  },
);

programTest(
  "the control plane answers over TLS to clients with a token only",
  async (program) => {
    await using dir = await tempDir();
    const [cert, key] = [join(dir.path, "localhost.crt"), join(dir.path, "localhost.key")];
    await makePair(dir.path, "localhost");
    const tls = ["--control-tls-cert", cert, "--control-tls-key", key];
    await using daemon = await startDaemon(program, {
      args: ["--control-bind", "127.0.0.1:0", ...tls],
    });
    const token = (await daemon.svc(["token", "create", "--role", "read_only"])).stdout.trim();
    const from = (SVC_TOKEN: string, ...args: string[]) =>
      daemon.svc(["--server", daemon.controlUrl, "--ca-file", cert, ...args], {
        env: { SVC_TOKEN },
      });
    equal((await from(token, "status")).code, 0);
    equal((await from(token, "delete", "workspace/default")).code, 5);
    equal((await from("svct_wrong", "status")).code, 5);
    equal((await from("", "status")).code, 2, "no token at all");
  },
  { fileOnly: NO_DATABASE, skip: NO_OPENSSL },
);

slowTest("delivery explain and apply --against tell what plugins did", async (program) => {
  await using daemon = await startDaemon(program);
  await withPlugins(
    daemon,
    { check: '[ ! -e "$(dirname "$0")/closed" ]', flat: `echo '{"prio":3}'` },
    interceptor("scripts/check"),
    transformer("flat", "scripts/flat"),
  );
  const webhook = { crdRef: "Hook" };
  await daemon.apply(trigger("hook", { webhook, condition: "payload.prio < 3" }));
  const send = () => daemon.send("/webhook/hook", { body: '{"deep":{}}', headers: JSON_TYPE });
  const { json } = await send();
  equal(json["status"], "filtered");
  const explain = async (id: unknown) =>
    (await daemon.svc(["delivery", "explain", String(id)])).stdout;
  const filtered = await explain(json["delivery_id"]);
  match(filtered, /^authentication: passed by the interceptors of its trigger$/m);
  match(filtered, /^ {2}not evaluated: the condition sees the output of the transformer "flat"/m);
  ok(!filtered.includes("payload.prio < 3 is"), filtered);

  await write(daemon, "scripts/closed", ""); // as when the signed time is over
  equal((await send()).status, 401);
  const refused = await until("the record of the refusal", async () => {
    const found = await daemon.json("get", "deliveries", "--outcome", "rejected");
    return (found as { id: string }[])[0]?.id;
  });
  const told = await explain(refused);
  match(told, /^next: The interceptor "check" checks the sender, not a signature: see svc get/m);
  ok(!told.includes("recordRejected"), told);

  const proposed = trigger("hook", { webhook, condition: "payload.prio == 3" });
  const { stdout } = await daemon.svc(["apply", "-f", "-", "--dry-run", "--against", "1h"], {
    stdin: JSON.stringify(proposed),
  });
  match(stdout, /1 stored deliveries examined\n {2}1 filtered → accepted\n/);
});
