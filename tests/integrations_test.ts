/**
 * Every integration package from outside: installed into a real daemon, every trigger gets
 * requests as its platform sends them, and the answer, the task, its payload and its log are looked
 * at. A package or a trigger without such a request fails here.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { basename, join } from "node:path";
import { embed, EMBEDDED } from "../integrations/embed.ts";
import { startDaemon, type TestDaemon } from "./helpers/daemon.ts";
import { signGithub, withOneByteChanged } from "./helpers/github.ts";
import type { Manifest } from "./helpers/manifests.ts";
import { longTest, ONE_PROGRAM, programTest, ROOT, run, slowTest } from "./helpers/program.ts";
import { missing } from "./helpers/requirements.ts";
import { tempDir } from "./helpers/temp_dir.ts";
import { until } from "./helpers/until.ts";
import { AGENT_PACKAGES } from "./rigs/real_agents.ts";
import { github, githubRequest, githubWithWriters } from "./integrations/github.ts";
import {
  bytesOf,
  type ExpectedTask,
  type PackageCase,
  type PackageRequest,
  signLine,
  signSlack,
  textOf,
} from "./integrations/package_case.ts";
import { PACKAGES } from "./integrations/packages.ts";
import { refusedBySlackCrd, slack, slackCrdRequests } from "./integrations/slack.ts";

const DIRECTORY = join(ROOT, "integrations");

/** Names in a directory, folders with a slash behind. */
function listDirectory(path: string): string[] {
  return [...Deno.readDirSync(path)].map(({ name, isDirectory }) => isDirectory ? `${name}/` : name)
    .toSorted();
}

/** Packages of platforms; those of agents have tests/integrations/agent_packages_test.ts. */
const PACKAGE_NAMES = listDirectory(DIRECTORY).filter((name) => name.endsWith("/"))
  .map((name) => name.slice(0, -1))
  .filter((one) => AGENT_PACKAGES.every(({ name }) => name !== one));

/** Every manifest of every package, those of folders below included. */
function listManifests(folder = ""): string[] {
  return listDirectory(join(DIRECTORY, folder)).flatMap((name) =>
    name.endsWith("/")
      ? listManifests(join(folder, name))
      : name.endsWith(".yaml")
      ? [join(folder, name)]
      : []
  );
}

function readPackageFile(path: string): string {
  return Deno.readTextFileSync(join(DIRECTORY, path));
}

Deno.test("every package of a platform, and every trigger of one, has a request that starts a task", () => {
  deepEqual(PACKAGES.map(({ name }) => name), PACKAGE_NAMES);
  const requests = [...PACKAGES.flatMap((one) => one.requests), ...slackCrdRequests];
  const started = requests.filter(({ tasks = [] }) => tasks.length > 0);
  const triggers = listManifests().filter((path) => basename(path).startsWith("trigger-"));
  ok(triggers.length >= PACKAGE_NAMES.length);
  deepEqual(
    triggers.map((path) => /^ {2}name: (\S+)$/m.exec(readPackageFile(path))?.[1]).toSorted(),
    [...new Set(started.map(({ trigger }) => trigger))].toSorted(),
  );
});

Deno.test("every package of a platform has its guide, secrets, triggers, workflows, prompts and what --with applies, and no more", () => {
  for (const name of PACKAGE_NAMES) {
    const files = listDirectory(join(DIRECTORY, name));
    const sorts = ["trigger", "workflow", "step-template"];
    for (const file of ["README.md", "secrets-template.yaml"]) ok(files.includes(file), name);
    for (const sort of sorts) ok(files.some((file) => file.startsWith(`${sort}-`)), name);
    const changing = name === "github" ? ["fix-ci.yaml", "fix.yaml"] : [];
    if (name !== "gitlab") {
      deepEqual(listDirectory(join(DIRECTORY, name, "agent")), ["answer.yaml", ...changing]);
    }
    const others = files.filter((file) =>
      !/^(README\.md|secrets-template\.yaml|(trigger|workflow|step-template)-[a-z-]+\.yaml|[a-z]+\/)$/
        .test(file)
    );
    deepEqual(others, [], name);
  }
});

Deno.test("every manifest of a package begins with a comment and has its label, and only templates hold placeholders", () => {
  for (const path of listManifests()) {
    const text = readPackageFile(path);
    match(text, /^# .{40,}\n/, path);
    const filled = text.replace(/^ *# .*\n/gm, "");
    const [name = "", ...rest] = path.split("/");
    const isOfAgent = rest[0] === "agent"; // filled in by --with
    const isTemplate = basename(path) === "secrets-template.yaml" || isOfAgent;
    equal(/<your-[a-z-]+>/.test(filled), isTemplate, path);
    if (rest.length === 1 || isOfAgent) {
      match(filled, new RegExp(`^  labels: {integration: ${name}}$`, "m"), path);
    }
  }
});

Deno.test(`${EMBEDDED} holds the packages as they are (make embed)`, async () => {
  ok(await Deno.readTextFile(join(ROOT, EMBEDDED)) === embed(), "run make embed");
});

Deno.test("the signatures of these tests are those that the platforms publish", async () => {
  const vectors = JSON.parse(
    await Deno.readTextFile(join(ROOT, "tests/fixtures/signatures.json")),
  ) as { name: string; secret: string; body_utf8: string; headers: Record<string, string> }[];
  const signed = (name: string, sign: (secret: string, body: Uint8Array) => string) => {
    const vector = vectors.find((one) => one.name === name);
    const { secret = "", body_utf8: body = "", headers = {} } = vector ?? {};
    ok(Object.values(headers).includes(sign(secret, bytesOf(body))), name);
  };
  signed("github-docs", signGithub);
  signed("slack-docs-slash-command", (...given) => signSlack(...given, "1531420618"));
  signed("line-docs-verify-empty-events", signLine);
});

/** Installs a package as its guide says, without a word of warning. */
async function install(daemon: TestDaemon, { name, secrets }: PackageCase): Promise<void> {
  const [[key, value] = []] = Object.entries(secrets);
  const args = ["integration", "install", name, "--set-secret", `${key}=-`];
  const { code, stderr } = await daemon.svc([...args, "--url", "https://hooks.example.com"], {
    stdin: `${value}\n`,
  });
  deepEqual([code, stderr], [0, ""], name);
}

/** Puts a last step into every workflow that keeps what the steps get as payload. */
async function keepPayloads(daemon: TestDaemon): Promise<void> {
  const keep = { id: "keep", run: 'cp "$SVC_PAYLOAD_FILE" "$SVC_TASK_ID.json"' };
  const workflows = await daemon.json("get", "workflows") as (Manifest & {
    spec: { steps: unknown[] };
  })[];
  await daemon.apply(...workflows.map(({ kind, metadata, spec }) => (
    { kind, metadata, spec: { ...spec, steps: [...spec.steps, keep] } }
  )));
}

async function send(
  daemon: TestDaemon,
  { trigger, body, headers }: PackageRequest,
  { signed = body } = {},
) {
  return await daemon.send(`/webhook/${trigger}`, { body, headers: headers(signed) });
}

/** What an answer says about its tasks. */
function taskIds(json: Record<string, unknown>): string[] {
  const all = (json["task_ids"] ?? [json["task_id"]]) as (string | undefined)[];
  return all.filter((id) => id !== undefined);
}

/** Sends a request and looks at everything that comes of it. */
async function expectOutcome(daemon: TestDaemon, request: PackageRequest): Promise<void> {
  const before = (await daemon.tasks()).length;
  const { tasks = [], title, answer } = request;
  const { status, json, text } = await send(daemon, request);
  deepEqual(
    [status, typeof answer === "string" ? json["status"] : text],
    [200, typeof answer === "string" ? answer : answer.handshake],
    title,
  );
  equal((await daemon.tasks()).length, before + tasks.length, title);
  for (const [index, expected] of tasks.entries()) {
    await expectTask(daemon, taskIds(json)[index] ?? "", expected);
  }
}

async function expectTask(daemon: TestDaemon, id: string, expected: ExpectedTask): Promise<void> {
  const log = await daemon.svc(["task", "logs", id, "--follow"]);
  deepEqual(log, { code: 0, stdout: expected.log, stderr: "" });
  const task = await until("the end of the task", async () => {
    const { state = "", reason } = (await daemon.tasks()).find((one) => one.id === id) ?? {};
    return state === "running" ? undefined : [state, reason];
  });
  deepEqual(task, ["succeeded", ""]);
  const kept = await Deno.readFile(join(daemon.workspace, `${id}.json`));
  equal(textOf(kept), expected.payload);
}

for (const one of PACKAGES) {
  // The checks that are the same for all integrations run for one, and under `make test-all` for
  // all.
  const onceTest = one.name === "github" ? programTest : slowTest;

  programTest(
    `integrations/${one.name}: each request of the platform does what it should`,
    async (program, t) => {
      await using daemon = await startDaemon(program);
      await install(daemon, one);
      await keepPayloads(daemon);
      for (const request of one.requests) {
        await t.step(`${request.trigger}: ${request.title}`, () => expectOutcome(daemon, request));
      }
      await t.step("one byte changed: 401, and no task", async () => {
        const before = (await daemon.tasks()).length;
        for (const request of one.requests) {
          const changed = { ...request, body: withOneByteChanged(request.body) };
          const { status } = await send(daemon, changed, { signed: request.body });
          equal(status, 401, request.title);
        }
        equal((await daemon.tasks()).length, before);
      });
      deepEqual(listDirectory(daemon.workspace).filter((name) => !name.endsWith(".json")), []);
    },
  );

  longTest(
    `integrations/${one.name}: the agents can be switched on, and get their prompts (${ONE_PROGRAM.name})`,
    async (_program, t) => {
      await using platform = await one.platform?.();
      await using daemon = await startDaemon(ONE_PROGRAM);
      await install(daemon, one);
      const agent = { kind: "Agent", metadata: { name: "print-it" }, spec: { command: "cat" } };
      await daemon.apply(agent, ...platform?.manifests ?? []);
      const workflows = listManifests(one.name).filter((path) =>
        basename(path).startsWith("workflow-")
      );
      for (const path of workflows) {
        const stdin = withAgent(readPackageFile(path), "print-it");
        const { code, stderr } = await daemon.svc(["apply", "-f", "-"], { stdin });
        deepEqual([code, stderr], [0, ""], path);
      }
      for (const request of one.requests.filter(({ tasks = [] }) => tasks.length > 0)) {
        await t.step(request.title, async () => {
          const { json } = await send(daemon, request);
          for (const [index, { log, prompt }] of (request.tasks ?? []).entries()) {
            const { stdout } = await daemon.svc(
              ["task", "logs", taskIds(json)[index] ?? "", "--follow"],
            );
            ok(stdout.startsWith(log), stdout);
            const rest = stdout.slice(log.length).replace(OUTSIDE, "");
            for (const text of prompt) ok(rest.includes(text), rest);
          }
        });
      }
    },
  );

  onceTest(
    `svc integration install ${one.name} makes what svc apply makes of the directory`,
    async (program) => {
      await using daemon = await startDaemon(program);
      await install(daemon, one);
      const template = readPackageFile(`${one.name}/secrets-template.yaml`);
      const [value = ""] = Object.values(one.secrets);
      const filled = template.replace(/"<your-[a-z-]+>"/, JSON.stringify(value));
      const by = ["-p", "applied"];
      const secret = await daemon.svc(["apply", "-f", "-", ...by], { stdin: filled });
      deepEqual([secret.code, secret.stderr], [0, ""]);
      const { code, stderr } = await daemon.svc(
        ["apply", "-f", `integrations/${one.name}`, ...by],
        {
          cwd: ROOT,
        },
      );
      equal(code, 0);
      match(
        stderr,
        /^(warning: integrations\/\w+\/secrets-template\.yaml: skipped[^\n]*\n)(warning: [^\n]* Workspace "default" does not exist[^\n]*\n)*$/,
      );
      for (const kind of ["triggers", "workflows", "steptemplates"]) {
        const inProject = async (project: string) =>
          (await daemon.json("get", kind, "-p", project) as Manifest[]).map((
            { kind, metadata, spec },
          ) => ({ kind, metadata: { ...metadata, project: "" }, spec }));
        const installed = await inProject("default");
        ok(installed.length > 0);
        deepEqual(installed, await inProject("applied"));
      }
      const store = async (project: string) =>
        (await daemon.json("describe", `secretstore/${one.name}`, "-p", project) as Manifest).spec;
      deepEqual(await store("default"), { data: one.secrets });
      deepEqual(await store("default"), await store("applied"));
    },
  );

  onceTest(
    `integrations/${one.name}: what the guide says under "Try it" works`,
    async (program) => {
      await using daemon = await startDaemon(program);
      await install(daemon, one);
      await tryGuide(daemon, readPackageFile(`${one.name}/README.md`));
    },
  );
}

/** The marks that a prompt has around what comes from outside. */
const OUTSIDE = /<\/?outside-[0-9a-f]{32}( from="[^"]*")?>/g;

/** A workflow with the step for an agent that its last comment holds. */
function withAgent(workflow: string, agent: string): string {
  const [before = "", after = ""] = workflow.split(/^ {4}# To run an agent: .*\n/m);
  match(after, /^( {4}# .*\n){3}$/);
  return `${before}${after.replace(/^ {4}# /gm, "    ")}`.replace("<your-agent>", agent);
}

/** Runs what a guide says, as a user would: in an empty directory, with `svc` on the path. */
async function tryGuide(daemon: TestDaemon, guide: string): Promise<void> {
  await using empty = await tempDir();
  const script = /^## Try it.*\n+```sh\n([\s\S]*?)^```$/m.exec(guide)?.[1] ?? "exit 1";
  const env = {
    SVC_DATA_DIR: daemon.dataDir,
    PATH: `${daemon.dataDir}/bin:${Deno.env.get("PATH")}`,
  };
  const { code, stdout, stderr } = await run("/bin/sh", ["-euc", script], { cwd: empty.path, env });
  equal(code, 0, stdout + stderr);
  const sent = script.match(/^svc (tool sign|trigger send)/gm)?.length ?? 0;
  equal(stdout.match(/"status":"accepted"|^200 accepted: task/gm)?.length, sent, stdout);
  const tasks = await daemon.settled();
  deepEqual(tasks.map(({ state }) => state), tasks.map(() => "succeeded"));
  equal(tasks.length, sent);
}

/** The policy that a guide tells to write. */
function policyOf(guide: string): string {
  return /^ {3}```yaml\n([\s\S]*?)^ {3}```$/m.exec(guide)?.[1]?.replace(/^ {3}/gm, "") ?? "";
}

Deno.test(`integrations/github: as soon as an agent is switched on, strangers start nothing (${ONE_PROGRAM.name})`, async () => {
  await using platform = githubWithWriters(["bo-lindqvist"]);
  await using daemon = await startDaemon(ONE_PROGRAM);
  await install(daemon, github);
  const comment = github.requests.find(({ title }) => title === "a comment");
  ok(comment !== undefined);
  let sent = 0;
  const ended = async () => {
    const event = JSON.parse(textOf(comment.body));
    const body = bytesOf(JSON.stringify({ ...event, sent: sent++ })); // no two have the same bytes
    const { json } = await send(daemon, { ...comment, body });
    equal(json["status"], "accepted");
    const tasks = await daemon.settled();
    const { state, reason, steps } = tasks.find(({ id }) => id === json["task_id"]) ?? {};
    return [state, reason, steps?.map((step) => step.state).join()];
  };
  equal((await ended())[0], "succeeded", "without an agent nobody is asked about");
  await daemon.apply({ kind: "Agent", metadata: { name: "print-it" }, spec: { command: "cat" } });
  const workflow = withAgent(readPackageFile("github/workflow-issue-comment.yaml"), "print-it");
  equal((await daemon.svc(["apply", "-f", "-"], { stdin: workflow })).code, 0);
  match(
    (await ended()).join(" "),
    /^failed not started, as event.webhook.from could not be checked: No Connection to github/,
  );
  await daemon.apply(...platform.manifests);
  deepEqual(await ended(), [
    "cancelled",
    "not started, as event.webhook.from says: ada-pereira may not write to brightwater/tidepool",
    "skipped,skipped",
  ]);
  const file = join(daemon.dataDir, "comment.json");
  await Deno.writeFile(file, comment.body);
  const tried = await daemon.svc(["trigger", "test", "github-issue-comment", "-f", file, "--sign"]);
  match(tried.stdout, /once the platform has said that the sender has the permission write/);
  await using open = githubWithWriters();
  await daemon.apply(...open.manifests);
  equal((await ended())[0], "succeeded");
});

programTest(
  "integrations/slack/crd: refused by the policy that is there from the beginning",
  async (program) => {
    await using daemon = await startDaemon(program);
    await install(daemon, slack);
    const { code, stderr } = await daemon.svc(["apply", "-f", join(DIRECTORY, "slack/crd")]);
    equal(code, 1);
    match(stderr, /allowed_command_prefixes is empty/);
    deepEqual(await daemon.json("get", "crd"), []);
    const { status } = await send(daemon, slackCrdRequests[1] as PackageRequest);
    equal(status, 404);
  },
);

slowTest(
  "integrations/slack/crd: with the policy of its guide, its script lets in what Slack signed",
  async (program, t) => {
    await using daemon = await startDaemon(program);
    await install(daemon, slack);
    const guide = readPackageFile("slack/crd/README.md");
    await Deno.writeTextFile(join(daemon.dataDir, "plugin-policy.yaml"), policyOf(guide), {
      mode: 0o600,
    });
    await using unpacked = await tempDir();
    const shown = await daemon.svc(["integration", "show", "slack", "--unpack", unpacked.path]);
    equal(shown.code, 0, shown.stderr);
    const script = join(daemon.dataDir, "scripts/slack-verify-v0.sh");
    await Deno.copyFile(join(unpacked.path, "crd/scripts/slack-verify-v0.sh"), script);
    await Deno.chmod(script, 0o700);
    const applied = await daemon.svc(["apply", "-f", join(unpacked.path, "crd")]);
    deepEqual([applied.code, applied.stderr], [0, ""]);
    await keepPayloads(daemon);
    for (const request of slackCrdRequests) {
      await t.step(request.title, () => expectOutcome(daemon, request));
    }
    await t.step("a changed, late or foreign request: 401, and no task", async () => {
      const before = (await daemon.tasks()).length;
      const [, message] = slackCrdRequests;
      ok(message !== undefined);
      const changed = { ...message, body: withOneByteChanged(message.body) };
      equal((await send(daemon, changed, { signed: message.body })).status, 401);
      for (const [title, headers] of Object.entries(refusedBySlackCrd)) {
        equal((await send(daemon, { ...message, headers })).status, 401, title);
      }
      equal((await daemon.tasks()).length, before);
      // By the script's own decision each, not because it took too long.
      const refusals = Object.keys(refusedBySlackCrd).length + 1;
      const runs = await daemon.json("get", "audit", "--limit", String(refusals)) as {
        result: string;
      }[];
      deepEqual(runs.map(({ result }) => result), runs.map(() => "rejected"));
    });
  },
);

programTest(
  'integrations/slack/crd: what the guide says under "Try it" works',
  async (program) => {
    await using daemon = await startDaemon(program);
    await install(daemon, slack);
    const guide = readPackageFile("slack/crd/README.md");
    await Deno.writeTextFile(join(daemon.dataDir, "plugin-policy.yaml"), policyOf(guide), {
      mode: 0o600,
    });
    const script = join(daemon.dataDir, "scripts/slack-verify-v0.sh");
    await Deno.copyFile(join(DIRECTORY, "slack/crd/scripts/slack-verify-v0.sh"), script);
    equal((await daemon.svc(["apply", "-f", join(DIRECTORY, "slack/crd")])).code, 0);
    await tryGuide(daemon, guide);
  },
  { skip: missing("curl") },
);

// GitHub's own examples are read where they are and never copied into the project.
const EXAMPLES = `${Deno.env.get("SVC_SHARED") ?? ""}/payloads/github`;
const examples = listExamples();
const why = examples.length > 0 ? "" : " (SKIPPED: $SVC_SHARED has no payloads/github)";

function listExamples(): { event: string; name: string; body: Uint8Array }[] {
  try {
    return listDirectory(EXAMPLES).flatMap((folder) =>
      listDirectory(join(EXAMPLES, folder)).map((file) => ({
        event: folder.slice(0, -1),
        name: join(folder, file),
        body: Deno.readFileSync(join(EXAMPLES, folder, file)),
      }))
    );
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return [];
  }
}

/** What of the examples starts a task, by trigger. */
const STARTS: Readonly<Record<string, RegExp>> = {
  "github-push": /^push\//,
  "github-pull-request": /^pull_request\/opened\./,
  "github-issue-comment": /^issue_comment\/created\./,
  "github-release": /^release\/published\./,
};

Deno.test({
  name:
    `integrations/github: of GitHub's own examples each trigger takes its own (${ONE_PROGRAM.name})${why}`,
  ignore: why !== "",
  async fn() {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const [github] = PACKAGES;
    ok(github !== undefined);
    await install(daemon, github);
    await keepPayloads(daemon);
    const started = new Map<string, Uint8Array>();
    for (const [trigger, pattern] of Object.entries(STARTS)) {
      ok(examples.some(({ name }) => pattern.test(name)), trigger);
      for (const { event, name, body } of examples) {
        const headers = githubRequest(event, crypto.randomUUID())(body);
        const { status, json, text } = await daemon.send(`/webhook/${trigger}`, {
          headers,
          body,
        });
        equal(status, 200, name);
        const expected = event === "ping" ? "pong" : pattern.test(name) ? "accepted" : "filtered";
        equal(json["status"], expected, `${name} to ${trigger}: ${text}`);
        for (const id of taskIds(json)) started.set(id, body);
      }
    }
    const tasks = await daemon.settled();
    equal(tasks.length, started.size);
    for (const { id, state, reason } of tasks) {
      deepEqual([state, reason], ["succeeded", ""]);
      const kept = await Deno.readFile(join(daemon.workspace, `${id}.json`));
      deepEqual(kept, started.get(id));
      match((await daemon.svc(["task", "logs", id])).stdout, /^\S+ .+\nhttps:\/\/github\.com\//);
    }
  },
});
