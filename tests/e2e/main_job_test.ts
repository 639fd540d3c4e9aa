/**
 * The main job from outside: a signed webhook arrives, is checked, filtered,
 * stored and answered, and its workflow runs on exactly the bytes that were sent.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { basename, dirname, join } from "node:path";
import { ONLY_NODE, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders, withOneByteChanged } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, programTest, ROOT, run, slowTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const SECRET = "a secret of 32 bytes, or so it is";
const ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const PUSH = await Deno.readFile(join(ROOT, "tests/fixtures/github/push.json"));

/** Keeps what a step gets as `$SVC_PAYLOAD_FILE`, under the id of the delivery. */
const RECORD = workflow("record", 'cp "$SVC_PAYLOAD_FILE" "$SVC_DELIVERY_ID.json"');

async function sendSigned(
  daemon: TestDaemon,
  name: string,
  body: string | Uint8Array,
  event?: string,
) {
  return await daemon.send(`/webhook/${name}`, {
    headers: githubHeaders(SECRET, body, event),
    body,
  });
}

programTest("integrations/github: a push prints who pushed what", async (program) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(secretStore("github", { webhook_secret: SECRET }));
  const applied = await daemon.svc(["apply", "-f", join(ROOT, "integrations/github")]);
  equal(applied.code, 0);
  match(applied.stdout, /^trigger\/github-push created$/m);
  match(applied.stdout, /^workflow\/github-push created$/m);

  const answer = await sendSigned(daemon, "github-push", PUSH, "push");
  deepEqual([answer.status, answer.json["status"]], [200, "accepted"]);
  const id = String(answer.json["task_id"]);
  const logs = await daemon.svc(["task", "logs", id, "--follow"]);
  deepEqual(logs, {
    code: 0,
    stdout: [
      "ada-pereira pushed 2 commits to refs/heads/main of brightwater/tidepool",
      "https://github.com/brightwater/tidepool/compare/4f0c61d2b97a...e31f6c8a47d2",
      "9be7a2d  Sample the tide gauge every ten seconds  (Ada Pereira)",
      `e31f6c8  Print "$(hostname)" as it stands; it's only text  (Ada Pereira)`,
      "",
    ].join("\n"),
    stderr: "",
  });

  const [task, ...others] = await daemon.tasks();
  equal(others.length, 0);
  deepEqual(
    { ...task, created_at: "", started_at: "", finished_at: "", steps: task?.steps.length },
    {
      id,
      project: "default",
      trigger: "github-push",
      workflow: "github-push",
      workspace: "default",
      state: "succeeded",
      reason: "",
      delivery_id: answer.json["delivery_id"],
      parent_id: null,
      retry_of: null,
      created_at: "",
      started_at: "",
      finished_at: "",
      restarts: 0,
      steps: 2,
      ...(program.onPostgres === true ? { node: ONLY_NODE } : {}),
    },
  );

  const changed = await daemon.send("/webhook/github-push", {
    headers: githubHeaders(SECRET, PUSH, "push"),
    body: withOneByteChanged(PUSH),
  });
  equal(changed.status, 401);
  equal((await daemon.tasks()).length, 1);
});

programTest("integrations/github: an event other than a push starts nothing", async (program) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(secretStore("github", { webhook_secret: SECRET }));
  equal((await daemon.svc(["apply", "-f", join(ROOT, "integrations/github")])).code, 0);
  const ping = '{"zen":"Keep it logically awesome.","hook_id":401562837}';
  const pong = await sendSigned(daemon, "github-push", ping, "ping");
  deepEqual([pong.status, pong.json], [200, { status: "pong" }]);
  const unsigned = { headers: { "x-github-event": "ping" }, body: ping };
  equal((await daemon.send("/webhook/github-push", unsigned)).status, 401);
  const deleted = { ...JSON.parse(new TextDecoder().decode(PUSH)), deleted: true, commits: [] };
  for (
    const body of [deleted, { action: "opened", number: 1 }, { zen: "Design for failure." }, {}]
  ) {
    const { status, json } = await sendSigned(daemon, "github-push", JSON.stringify(body), "push");
    deepEqual([status, json["status"]], [200, "filtered"], JSON.stringify(body).slice(0, 60));
  }
  deepEqual(await daemon.tasks(), []);
});

programTest("POST /webhook/{trigger}: what a signed delivery comes to", async (program, t) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(
    RECORD,
    secretStore("github", {
      old: "the secret before this one, long enough",
      webhook_secret: SECRET,
    }),
    trigger("plain"),
    trigger("another"),
    trigger("true", { condition: 'payload_action == "opened" && payload.n > 9007199254740992' }),
    trigger("false", { condition: 'payload_action == "closed"' }),
    trigger("missing-field", { condition: 'payload_nothing == "x"' }),
    trigger("wrong-type", { condition: "payload_action > 3" }),
    trigger("not-boolean", { condition: "payload_action" }),
    trigger("suspended", { suspend: true }),
    trigger("no-workflow", { workflow: "nowhere" }),
    trigger("unsigned", { webhook: { allowUnsigned: true } }),
    trigger("default-header", { webhook: { secret: { fromRef: "github" } } }),
    trigger("shop-only", { project: "shop", webhook: { allowUnsigned: true } }),
  );
  const body = '{"action":"opened","n":9007199254740993}';

  await t.step("accepted: 200, the ids, and one task of the trigger that was named", async () => {
    const { status, headers, json } = await sendSigned(daemon, "plain", body);
    deepEqual([status, headers.get("content-type")], [200, "application/json"]);
    deepEqual(Object.keys(json), ["status", "trigger", "delivery_id", "task_id"]);
    deepEqual([json["status"], json["trigger"]], ["accepted", "plain"]);
    match(String(json["delivery_id"]), ID);
    match(String(json["task_id"]), ID);
    const tasks = await daemon.tasks();
    deepEqual(
      tasks.map((task) => [task.id, task.trigger, task.delivery_id]),
      [[json["task_id"], "plain", json["delivery_id"]]],
    );
  });

  await t.step("filtered: 200 and no task, and the record says why", async () => {
    const before = (await daemon.tasks()).length;
    for (const name of ["false", "missing-field", "wrong-type", "not-boolean"]) {
      const { status, json } = await sendSigned(daemon, name, body);
      equal(status, 200, name);
      deepEqual(json, { status: "filtered", trigger: name, delivery_id: json["delivery_id"] });
      const record = await daemon.json("get", "delivery", String(json["delivery_id"])) as {
        outcome: string;
        reason: string;
        task_id: null;
      };
      deepEqual([record.outcome, record.task_id], ["filtered", null], name);
      ok(record.reason.length > 10, name);
    }
    equal((await daemon.tasks()).length, before);
  });

  await t.step("suspended: 200 skipped with a reason, and no task", async () => {
    const before = (await daemon.tasks()).length;
    const { status, json } = await sendSigned(daemon, "suspended", body);
    deepEqual([status, json["status"], typeof json["reason"]], [200, "skipped", "string"]);
    equal((await daemon.tasks()).length, before);
  });

  await t.step("a true condition sees whole numbers with all their digits", async () => {
    const smaller = body.replace("993", "992");
    equal((await sendSigned(daemon, "true", body)).json["status"], "accepted");
    equal((await sendSigned(daemon, "true", smaller)).json["status"], "filtered");
  });

  await t.step(
    "a workflow that does not exist: accepted, and the failed task says so",
    async () => {
      const { status, json } = await sendSigned(daemon, "no-workflow", body);
      deepEqual([status, json["status"]], [200, "accepted"]);
      const task = (await daemon.tasks()).find(({ id }) => id === json["task_id"]);
      equal(task?.state, "failed");
      match(task?.reason ?? "", /Workflow "nowhere"/);
    },
  );

  await t.step("every value of the SecretStore is tried", async () => {
    const headers = githubHeaders("the secret before this one, long enough", body);
    equal((await daemon.send("/webhook/plain", { headers, body })).status, 200);
  });

  await t.step("the header of a trigger that names none is X-Webhook-Signature", async () => {
    const signed = githubHeaders(SECRET, body);
    const headers = { "x-webhook-signature": signed["x-hub-signature-256"] ?? "" };
    equal((await daemon.send("/webhook/default-header", { headers, body })).status, 200);
    equal((await daemon.send("/webhook/default-header", { headers: signed, body })).status, 401);
  });

  await t.step("allowUnsigned, without content type, in a project of its own", async () => {
    equal((await daemon.send("/webhook/unsigned", { body })).json["status"], "accepted");
    equal((await daemon.send("/webhook/default/unsigned", { body })).json["status"], "accepted");
    equal((await daemon.send("/webhook/shop/shop-only", { body })).json["status"], "accepted");
    equal((await daemon.send("/webhook/shop-only", { body })).status, 404);
  });

  await t.step("GET /healthz and /readyz: 200", async () => {
    equal((await daemon.send("/healthz", { method: "GET" })).status, 200);
    equal((await daemon.send("/readyz", { method: "GET" })).status, 200);
  });

  await daemon.settled();
});

programTest("$SVC_PAYLOAD_FILE holds the bytes that were sent", async (program) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(RECORD, secretStore("github", { webhook_secret: SECRET }), trigger("plain"));
  const bodies = [
    PUSH,
    "{}",
    ' \r\n\t{ "a" : 1 }\r\n\n',
    '{"big":12345678901234567890,"real":1.0,"exponent":1e3,"zero":-0}',
    '{"escaped":"\\u00e9\\ud83d\\ude00\\/\\u0000","plain":"é😀"}',
    '{"twice":1,"twice":2,"__proto__":{"a":1}}',
    `{"long":"${"0123456789abcdef".repeat(65_536)}"}`,
    `{"deep":${"[".repeat(500)}${"]".repeat(500)}}`,
    '{"shell":"$(touch /tmp/never) `id` \'; exit 1 #"}',
  ];
  await expectBytesKept(daemon, bodies.map((body) => new TextEncoder().encode(asText(body))));
});

/** Sends each, signed; waits for its task; compares what its step got. */
async function expectBytesKept(daemon: TestDaemon, bodies: readonly Uint8Array[]) {
  const answers = await Promise.all(bodies.map((body) => sendSigned(daemon, "plain", body)));
  deepEqual(
    answers.map(({ status, json }) => [status, json["status"]]),
    bodies.map(() => [200, "accepted"]),
  );
  const tasks = await daemon.settled();
  deepEqual(tasks.map(({ state, reason }) => [state, reason]), bodies.map(() => ["succeeded", ""]));
  for (const [index, body] of bodies.entries()) {
    const name = `${answers[index]?.json["delivery_id"]}.json`;
    const kept = await Deno.readFile(join(daemon.workspace, name));
    ok(
      equalBytes(kept, body),
      `sent ${asText(body).slice(0, 80)}, kept ${asText(kept).slice(0, 80)}`,
    );
  }
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function asText(body: string | Uint8Array): string {
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}

// GitHub's own examples are read where they are and never copied into the project.
const EXAMPLES = `${Deno.env.get("SVC_SHARED") ?? ""}/payloads/github`;
const examples = await listExamples();
const skip = examples.length > 0 ? undefined : "$SVC_SHARED has no payloads/github";

async function listExamples(): Promise<{ name: string; body: Uint8Array }[]> {
  const found: { name: string; body: Uint8Array }[] = [];
  try {
    for await (const folder of Deno.readDir(EXAMPLES)) {
      for await (const { name } of Deno.readDir(join(EXAMPLES, folder.name))) {
        const path = join(EXAMPLES, folder.name, name);
        found.push({ name: join(folder.name, name), body: await Deno.readFile(path) });
      }
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return found.sort((a, b) => a.name < b.name ? -1 : 1);
}

programTest(
  "every example of GitHub's, signed, is accepted, and its step gets its bytes",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(RECORD, secretStore("github", { webhook_secret: SECRET }), trigger("plain"));
    const events = examples.filter(({ name }) => dirname(name) !== "ping"); // a handshake by its body
    await expectBytesKept(daemon, events.map(({ body }) => body));
  },
  { skip },
);

programTest("every example of GitHub's, one byte changed, is answered 401", async (program) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(RECORD, secretStore("github", { webhook_secret: SECRET }), trigger("plain"));
  for (const { name, body } of examples) {
    const headers = githubHeaders(SECRET, body, basename(dirname(name)));
    const changed = await daemon.send("/webhook/plain", {
      headers,
      body: withOneByteChanged(body),
    });
    equal(changed.status, 401, name);
  }
  deepEqual(await daemon.tasks(), []);
}, { fileOnly: NO_DATABASE, skip });

const ITS_OWN = "the demo makes a data directory of its own";

const DEMOS: readonly { args: string[]; shows: RegExp[]; skip?: string | undefined }[] = [
  {
    args: [],
    shows: [/^\$ svc apply -f integrations\/github$/m, /^< 200 /m, /succeeded/, /^< 401 /m],
  },
  {
    args: ["--github"],
    shows: [
      /^\$ svc connect github /m,
      /:rocket: by svc-bot/,
      /^svc-bot \(edited\): Looked at it/m,
    ],
  },
  {
    args: ["--agent"],
    shows: [
      /^▸ Bash: env >loot/m,
      /^svc-bot: gauge\.conf has interval=10 now\./m,
      /^ {2}fix +evil\.example:443 +0 +1 /m,
      /^\+interval=10$/m,
      /^ +6 POST \/v1\/messages with the key$/m,
      /^\$ grep -ac "\$key" .*\n0$/m,
    ],
    skip: missing("git") ?? NO_SANDBOX,
  },
  {
    args: ["--wait"],
    shows: [
      /^Round 2\. CI has said: interval=10s is red$/m,
      /^tasks: +0 running, 0 pending, 1 waiting$/m,
      /^error: .* not among those who may answer: ada$/m,
      /: step "approve": approved, and the task goes on$/m,
      /^Deployed, as ada has approved\.$/m,
    ],
  },
  {
    args: ["--pull"],
    shows: [
      /^queued as outbox\/\w+: svc\/fix-41 → main, 3 files, \+3 −3$/m,
      /\(draft, by svc-bot\)/,
      /\[checks: failure\]\n.*\[checks: success\]/,
      /^[0-9A-Z]+ +github-push +sent/m,
      /^\$ grep -ac "\$token" loot.*\n0$/m,
    ],
    skip: missing("git"),
  },
];

for (const { args, shows, skip } of DEMOS) {
  const name = [".ci/demo", ...args].join(" ");
  const test = args.length === 0 ? programTest : slowTest;
  test(`${name} passes and leaves nothing behind`, async (program) => {
    const wrapper = program.name === "source" ? join(ROOT, ".ci/svc") : program.command;
    const env = { SVC_PROGRAM: wrapper, SVC_DENO: Deno.execPath() };
    const demo = await run(join(ROOT, ".ci/demo"), args, { env, withinMs: 120_000 });
    equal(demo.code, 0, demo.stdout + demo.stderr);
    for (const line of shows) match(demo.stdout, line);
    const [place = ""] = /\/tmp\/svc-demo\.\w+/.exec(demo.stdout) ?? [];
    await Deno.stat(place).then(
      () => ok(false, `${place} is still there`),
      (error) => ok(error instanceof Deno.errors.NotFound),
    );
  }, { fileOnly: ITS_OWN, skip });
}

slowTest(".ci/demo --agent says what it lacks, and how to get it", async () => {
  await using bin = await tempDir();
  for (const folder of (Deno.env.get("PATH") ?? "").split(":").reverse()) {
    for await (const { name } of readFolder(folder)) {
      await Deno.remove(join(bin.path, name)).catch(() => {});
      if (name !== "bwrap") await Deno.symlink(join(folder, name), join(bin.path, name));
    }
  }
  const env = { PATH: bin.path, SVC_DENO: Deno.execPath() };
  const { code, stdout, stderr } = await run(join(ROOT, ".ci/demo"), ["--agent"], { env });
  equal(code, 1, stdout + stderr);
  match(stderr, /^demo: this machine cannot make the sandbox: bubblewrap is not installed$/m);
  match(stderr, /^To have it: \S+/m);
  ok(!stderr.includes("FAILED"), stderr);
}, { fileOnly: ITS_OWN, skip: missing("git") });

async function* readFolder(path: string): AsyncGenerator<Deno.DirEntry> {
  try {
    yield* Deno.readDir(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

programTest(".ci/demo fails loudly, naming the step, when a step does", async () => {
  const demo = await run(join(ROOT, ".ci/demo"), [], { env: { SVC_PROGRAM: "/bin/false" } });
  equal(demo.code, 1);
  match(demo.stderr, /^demo: FAILED at "The program": exit code 1 of: svc version$/m);
}, { fileOnly: ITS_OWN });
