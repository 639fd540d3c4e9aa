/**
 * `svc integration` from outside: the packages come with the program, so it is
 * run in an empty directory; secrets never have to stand on a command line.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders, withOneByteChanged } from "../helpers/github.ts";
import { secretStore } from "../helpers/manifests.ts";
import {
  cleanEnv,
  NO_DATABASE,
  ONE_PROGRAM,
  programTest,
  ROOT,
  run,
  runSvc,
  slowTest,
} from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

const SECRET = "a secret of 32 bytes, or so it is";
const PUSH = await Deno.readFile(join(ROOT, "tests/fixtures/github/push.json"));
const INSTALL = ["integration", "install", "github"];
const FROM_STDIN = ["--set-secret", "webhook_secret=-"];

async function values(daemon: TestDaemon, project = "default"): Promise<unknown> {
  const store = await daemon.json("describe", "secretstore/github", "-p", project) as {
    spec: { data: unknown };
  };
  return store.spec.data;
}

programTest(
  "in an empty directory: init, daemon, integration install, a signed push, a succeeded task with a log",
  async (program) => {
    await using empty = await tempDir();
    const cwd = empty.path;
    await using daemon = await startDaemon(program);
    const { code, stdout, stderr } = await daemon.svc([...INSTALL, ...FROM_STDIN], {
      cwd,
      stdin: `${SECRET}\n`,
    });
    equal(code, 0, stderr);
    match(stderr, /^note: that address is for this machine only[^\n]*\n$/);
    match(stdout, /^secretstore\/github created\nsteptemplate\/github-issue-comment created\n/);
    const [, address = ""] =
      /^ {2}(\S+)\n(?: {4}for github-\S+\n)*? {4}for github-push$/m.exec(stdout) ?? [];
    equal(address, `${daemon.url}/webhook/github`);
    const path = new URL(address).pathname;
    const headers = githubHeaders(SECRET, PUSH, "push");
    const changed = await daemon.send(path, { headers, body: withOneByteChanged(PUSH) });
    deepEqual([changed.status, (await daemon.tasks()).length], [401, 0]);
    const answer = await daemon.send(path, { headers, body: PUSH });
    deepEqual([answer.status, answer.json["status"]], [200, "accepted"]);
    const [task] = await daemon.settled();
    deepEqual([task?.state, task?.reason], ["succeeded", ""]);
    const log = await daemon.svc(["task", "logs", task?.id ?? ""], { cwd });
    match(
      log.stdout,
      /^ada-pereira pushed 2 commits to refs\/heads\/main of brightwater\/tidepool\n/,
    );
    deepEqual([...Deno.readDirSync(cwd)], []);
  },
);

slowTest(
  "svc integration install: secrets, where they come from and that they stay",
  async (program, t) => {
    await using daemon = await startDaemon(program);
    await using files = await tempDir();
    const install = (...args: string[]) => daemon.svc([...INSTALL, ...args]);

    await t.step("a missing one is refused by name, and nothing is applied", async () => {
      const { code, stdout, stderr } = await install();
      deepEqual([code, stdout], [1, ""]);
      match(
        stderr,
        /^error: The secret "webhook_secret" is missing: .*--set-secret webhook_secret=-/,
      );
      deepEqual(await daemon.json("get", "triggers"), []);
    });

    await t.step("a placeholder or an empty one is refused, and nothing is applied", async () => {
      for (const stdin of ["<your-webhook-secret>\n", "\n"]) {
        const { code, stderr } = await daemon.svc([...INSTALL, ...FROM_STDIN], { stdin });
        equal(code, 1);
        match(stderr, /github\/secrets-template\.yaml:\d+:\d+: spec\.data\.webhook_secret: /);
      }
      deepEqual(await daemon.json("get", "triggers"), []);
    });

    await t.step(
      "mistakes on the command line are usage, and never repeat the secret",
      async () => {
        const cases = [
          ["--set-secret", "webhook_secrets=hunter22"],
          ["--set-secret", "hunter22"],
          ["--set-secret", "webhook_secret=hunter22", "webhook_secret=hunter22"],
          ["--url", "hooks.example.com"],
          ["--url", "https://hooks.example.com/?a=b"],
        ];
        for (const args of cases) {
          const { code, stdout, stderr } = await install(...args);
          deepEqual([code, stdout, stderr.includes("hunter22")], [2, "", false], args.join(" "));
        }
        equal((await install("--set-secret", `webhook_secret=@${files.path}/none`)).code, 1);
        equal((await daemon.svc(["integration", "install", "bitbucket"])).code, 4);
      },
    );

    await t.step("--dry-run says the same and changes nothing", async () => {
      const { code, stdout } = await daemon.svc([...INSTALL, ...FROM_STDIN, "--dry-run"], {
        stdin: SECRET,
      });
      equal(code, 0);
      match(stdout, /^trigger\/github-push created \(dry run\)$/m);
      deepEqual(await daemon.json("get", "triggers"), []);
      deepEqual(await daemon.json("get", "secretstores"), []);
    });

    await t.step(
      "from a file, its last line break left out; into a project, with its own addresses",
      async () => {
        const file = await files.write("secret", `${SECRET}\r\n`);
        const args = ["--set-secret", `webhook_secret=@${file}`, "-p", "shop", "-o", "json"];
        const { code, stdout, stderr } = await install(
          ...args,
          "--url",
          "https://hooks.example.com/in/",
        );
        deepEqual([code, stderr], [0, workspaceWarnings("shop", stderr)]);
        const { name, dry_run, results, kept, addresses } = JSON.parse(stdout);
        deepEqual([name, dry_run, kept], ["github", false, []]);
        deepEqual(results[0], { name: "secretstore/github", project: "shop", action: "created" });
        deepEqual(addresses, [{
          endpoint: "github",
          triggers: [
            "github-issue-comment",
            "github-pull-request",
            "github-push",
            "github-release",
          ],
          path: "/webhook/shop/github",
          url: "https://hooks.example.com/in/webhook/shop/github",
        }]);
        deepEqual(await values(daemon, "shop"), { webhook_secret: SECRET });
      },
    );

    await t.step("again without one: the store is kept, which is said", async () => {
      equal((await install("--set-secret", `webhook_secret=${SECRET}`)).code, 0);
      const { code, stdout } = await install();
      equal(code, 0);
      match(stdout, /^secretstore\/github kept as it is\n/);
      match(stdout, /^trigger\/github-push unchanged$/m);
      deepEqual(await values(daemon), { webhook_secret: SECRET });
    });

    await t.step("again with one: only that key changes", async () => {
      await daemon.apply(
        secretStore("github", { webhook_secret: SECRET, next: `${SECRET} again` }),
      );
      const { code, stdout } = await daemon.svc([...INSTALL, ...FROM_STDIN], {
        stdin: `new ${SECRET}`,
      });
      equal(code, 0);
      match(stdout, /^secretstore\/github configured\n/);
      deepEqual(await values(daemon), { next: `${SECRET} again`, webhook_secret: `new ${SECRET}` });
    });

    await t.step("by who may not see the other keys: they are kept all the same", async () => {
      const policy = join(daemon.dataDir, "control-plane/uds-policy.yaml");
      await Deno.writeTextFile(policy, "max_role: operator\n", { mode: 0o600 });
      const { code, stderr } = await daemon.svc([...INSTALL, ...FROM_STDIN], { stdin: SECRET });
      equal(code, 0, stderr);
      await Deno.remove(policy);
      deepEqual(await values(daemon), { next: `${SECRET} again`, webhook_secret: SECRET });
    });
  },
);

/** What a project without the workspace `default` is warned of; nothing else may be said. */
function workspaceWarnings(project: string, stderr: string): string {
  const line =
    /^warning: github\/trigger-[a-z-]+\.yaml:\d+:\d+: spec\.action\.workspace: Workspace "default" does not exist[^\n]*\n/gm;
  const found = stderr.match(line) ?? [];
  equal(found.length, 4, project);
  return found.join("");
}

programTest(
  "svc integration install without a daemon: exit 3; without its webhook server: paths",
  async () => {
    await using dir = await initDataDirectory(ONE_PROGRAM);
    const env = { SVC_DATA_DIR: dir.path };
    const install = () => runSvc(ONE_PROGRAM, [...INSTALL, ...FROM_STDIN], { env, stdin: SECRET });
    const unreachable = await install();
    equal(unreachable.code, 3);
    match(unreachable.stderr, /^error: The daemon is not running/);
    const daemon = new Deno.Command(
      ONE_PROGRAM.command,
      {
        args: [...ONE_PROGRAM.args, "daemon", "--webhook-bind", "none"],
        clearEnv: true,
        env: cleanEnv(env),
        stdin: "null",
        stdout: "null",
        stderr: "null",
      } as const,
    ).spawn();
    try {
      const { code, stdout, stderr } = await until("the daemon", async () => {
        const result = await install();
        return result.code === 3 ? undefined : result;
      });
      equal(code, 0);
      match(stdout, /^ {2}\/webhook\/github\n( {4}for github-\S+\n){4}$/m);
      match(stderr, /^note: the daemon receives no webhooks/);
    } finally {
      daemon.kill("SIGTERM");
      equal((await daemon.status).code, 0);
    }
  },
  { fileOnly: NO_DATABASE },
);

programTest(
  "svc integration list and show work without a daemon, in an empty directory",
  async (program) => {
    await using empty = await tempDir();
    const svc = (...args: string[]) =>
      runSvc(program, ["integration", ...args], {
        cwd: empty.path,
        env: { SVC_DATA_DIR: "/nonexistent" },
      });
    const printed = async (...args: string[]) => {
      const { code, stdout, stderr } = await svc(...args);
      deepEqual([code, stderr], [0, ""], args.join(" "));
      return stdout;
    };
    const table = await printed("list");
    match(
      table,
      /^NAME +PLATFORM +DESCRIPTION\n(?:.*\n)*github +GitHub +Pushes, pull requests, [^\n]* on your machine\ngitlab +GitLab +[^\n]+\nline +LINE +/,
    );
    const agents = ["claude-code", "codex", "copilot", "gemini-cli", "opencode", "qwen-code"];
    const names = [...agents, "github", "gitlab", "line", "slack"].toSorted();
    equal(
      await printed("list", "-o", "name"),
      names.map((name) => `integration/${name}\n`).join(""),
    );
    const all = JSON.parse(await printed("list", "-o", "json"));
    const first = all[names.indexOf("github")];
    deepEqual(first, JSON.parse(await printed("show", "github", "-o", "json")));
    deepEqual(first.secrets, [{ store: "github", key: "webhook_secret" }]);
    deepEqual(first.triggers, [
      "github-issue-comment",
      "github-pull-request",
      "github-push",
      "github-release",
    ]);

    const guide = await Deno.readTextFile(join(ROOT, "integrations/github/README.md"));
    equal(await printed("show", "github"), guide);
    const file = await Deno.readTextFile(join(ROOT, "integrations/slack/crd/trigger-message.yaml"));
    equal(await printed("show", "slack", "--file", "crd/trigger-message.yaml"), file);

    const written = (await printed("show", "slack", "--unpack", "mine")).trim().split("\n");
    for (const path of written) {
      const original = join(ROOT, "integrations/slack", path.replace(/^mine\//, ""));
      deepEqual(await Deno.readFile(join(empty.path, path)), await Deno.readFile(original), path);
    }
    const script = await Deno.stat(join(empty.path, "mine/crd/scripts/slack-verify-v0.sh"));
    equal((script.mode ?? 0) & 0o111, 0o111);
    const again = await svc("show", "slack", "--unpack", "mine");
    equal(again.code, 1);
    match(again.stderr, /name a new directory/);

    equal((await svc("show", "bitbucket")).code, 4);
    equal((await svc("show", "github", "--file", "../slack/README.md")).code, 4);
    equal((await svc("show", "github", "--file", "README.md", "--unpack", "other")).code, 2);
  },
  { fileOnly: NO_DATABASE },
);

const PTY = await run("/bin/sh", ["-c", "command -v script"]).then(({ code }) => code === 0);

slowTest(
  "svc integration install: a secret that is typed is not shown",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const words = [ONE_PROGRAM.command, ...ONE_PROGRAM.args, ...INSTALL, ...FROM_STDIN];
    const line = words.map((word) => `'${word}'`).join(" ");
    const type = async (keys: string) => {
      const child = new Deno.Command(
        "script",
        {
          args: ["-qec", line, "/dev/null"],
          clearEnv: true,
          env: cleanEnv({ SVC_DATA_DIR: daemon.dataDir }),
          stdin: "piped",
          stdout: "piped",
          stderr: "piped",
        } as const,
      ).spawn();
      const writer = child.stdin.getWriter();
      let shown = "";
      let typed = false;
      const decoder = new TextDecoder();
      for await (const chunk of child.stdout) {
        shown += decoder.decode(chunk);
        if (typed || !shown.includes("(not shown)")) continue;
        typed = true;
        await writer.write(new TextEncoder().encode(keys));
      }
      await writer.close().catch(() => {});
      await child.stderr.cancel();
      return { code: (await child.status).code, shown };
    };
    const broken = await type("half of it\x03");
    equal(broken.code, 1, broken.shown);
    deepEqual(await daemon.json("get", "triggers"), []);
    // A mistake, all of it taken back; then one character too many, in two bytes.
    const { code, shown } = await type(`mistake\x15${SECRET}é\x7f\r`);
    equal(code, 0, shown);
    ok(!shown.includes(SECRET.slice(0, 8)), shown);
    ok(!shown.includes("mistake"), shown);
    deepEqual(await values(daemon), { webhook_secret: SECRET });
  },
  { fileOnly: NO_DATABASE, skip: PTY ? undefined : "there is no script(1)" },
);
