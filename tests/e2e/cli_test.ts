/**
 * The command line from outside: help, exit codes, the tools that need no daemon, what a
 * pipe that closes does, and logs that are followed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { signGithub } from "../helpers/github.ts";
import { secretStore, toText, trigger, workflow } from "../helpers/manifests.ts";
import {
  cleanEnv,
  NO_DATABASE,
  type Program,
  programTest,
  run,
  runSvc,
  slowTest,
} from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

const OPEN = { allowUnsigned: true };

slowTest(
  "svc COMMAND --help: usage and an example that is a command line of svc",
  async (program) => {
    const list = await runSvc(program, ["--help"]);
    equal(list.code, 0);
    const commands = [...list.stdout.matchAll(/^ {2}((?:[a-z-]+ )+) +\S/gm)]
      .map(([, words = ""]) => words.trim()).filter((words) => !words.startsWith("svc"));
    for (
      const expected of [
        "init",
        "daemon",
        "apply",
        "get",
        "describe",
        "task logs",
        "tool payload-extract",
      ]
    ) {
      ok(commands.includes(expected), `"${expected}" is not in: ${list.stdout}`);
    }
    for (const words of commands) {
      const help = await runSvc(program, [...words.split(" "), "--help"]);
      deepEqual([help.code, help.stderr], [0, ""], words);
      match(help.stdout, new RegExp(`^Usage: svc ${words}`));
      const [, examples = ""] = help.stdout.split("\nExamples:\n");
      match(examples, new RegExp(`^ {2}.*\\bsvc ${words}\\b`, "m"), help.stdout);
    }
  },
  { fileOnly: NO_DATABASE },
);

programTest(
  "svc without a command, svc help, and svc -h list the commands",
  async (program) => {
    for (const args of [[], ["help"], ["-h"]]) {
      const { code, stdout, stderr } = await runSvc(program, args);
      deepEqual([code, stderr], [0, ""]);
      match(stdout, /^ {2}apply +\S/m);
    }
  },
  { fileOnly: NO_DATABASE },
);

programTest("svc version: for people and as JSON", async (program) => {
  const { code, stdout } = await runSvc(program, ["version"]);
  equal(code, 0);
  match(stdout, /^svc [0-9]+\.[0-9]+\.[0-9]+ \(Deno /);
  const facts = JSON.parse((await runSvc(program, ["version", "-o", "json"])).stdout);
  match(facts.version, /^[0-9]+\.[0-9]+\.[0-9]+/);
}, { fileOnly: NO_DATABASE });

slowTest("exit code 2: what is no command line, and what to do", async (program) => {
  const lines = [
    "frobnicate",
    "get",
    "get task --frobnicate",
    "get task -o xml",
    "get task --limit 0",
    "get task --limit x",
    "get nothings",
    "schema Nothing",
    "status extra",
    "task logs",
    "describe",
    "describe trigger",
    "delete trigger",
    "delete audit/01",
    "apply",
    "tool payload-extract",
    "tool webhook-verify-hmac",
    "daemon --webhook-bind nonsense",
    "daemon --workers 0",
    "daemon --keep-tasks-for 36501d",
    "daemon --keep-bodies-for 59s",
    "daemon --lease 1s",
    "daemon --max-step-log 0",
    "token create --ttl 99999999d",
    "token create --ttl 1e9d",
    "token create --ttl=-1s",
    "token create --ttl 0",
    "token create --ttl 9007199254740993s",
    "token create --role root",
    "token create --name \x07",
    "get deliveries --since 99999999w",
    "daemon --log-level loud",
    "completions tcsh",
  ];
  await using daemon = await startDaemon(program); // some of them ask it what there is
  for (const line of lines) {
    const { code, stderr } = await daemon.svc(line.split(" "));
    deepEqual([code, stderr.length > 20], [2, true], `svc ${line}: ${stderr}`);
  }
  deepEqual(await daemon.json("token", "list"), []);
  const noToken = await daemon.svc(["token", "list"]);
  equal(noToken.stderr, "No tokens yet. Create one: svc token create\n");
}, { fileOnly: NO_DATABASE });

programTest("exit code 2: half a command lists the other halves", async (program) => {
  for (const [half, whole] of [["task", "task logs"], ["tool", "tool payload-extract"]] as const) {
    const { code, stdout, stderr } = await runSvc(program, [half]);
    equal(code, 2, half);
    match(stdout + stderr, new RegExp(`^ {2}${whole} +\\S`, "m"));
  }
}, { fileOnly: NO_DATABASE });

slowTest("exit code 3: no daemon, and how to start it", async (program) => {
  await using dir = await tempDir();
  const file = await dir.write("w.yaml", toText([workflow("w", "true")]));
  const lines = [
    ["status"],
    ["get", "task"],
    ["describe", "trigger/x"],
    ["delete", "trigger/x"],
    ["task", "logs", "01"],
    ["apply", "-f", file],
  ];
  for (const line of lines) {
    const { code, stdout, stderr } = await runSvc(program, [...line, "--data-dir", dir.path]);
    deepEqual([code, stdout], [3, ""], line.join(" "));
    match(stderr, /^error: [^\n]*svc daemon[^\n]*\n$/, line.join(" "));
  }
}, { fileOnly: NO_DATABASE });

slowTest("exit code 4: not found", async (program) => {
  await using daemon = await startDaemon(program);
  const lines = [
    "get trigger/nope",
    "get trigger nope",
    "describe workflow/nope",
    "delete secretstore/nope",
    "get task 01ZZZZZZ",
    "task logs 01ZZZZZZ",
    "get delivery 01ZZZZZZ",
  ];
  for (const line of lines) {
    const { code, stdout, stderr } = await daemon.svc(line.split(" "));
    deepEqual([code, stdout], [4, ""], line);
    match(stderr, /^error: [^\n]+\n$/, line);
  }
});

programTest("svc schema prints JSON Schemas that know the fields", async (program) => {
  const { code, stdout } = await runSvc(program, ["schema", "Trigger"]);
  equal(code, 0);
  const schema = JSON.parse(stdout);
  equal(schema.properties.kind.const, "Trigger");
  ok("filter" in schema.properties.spec.properties.event.properties);
  equal((await runSvc(program, ["schema"])).code, 0);
}, { fileOnly: NO_DATABASE });

slowTest("svc completions prints scripts that their shells can read", async (program) => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout, stderr } = await runSvc(program, ["completions", shell]);
    deepEqual([code, stderr], [0, ""], shell);
    match(stdout, /svc/, shell);
  }
  const { stdout: stdin } = await runSvc(program, ["completions", "bash"]);
  deepEqual(await run("bash", ["-n"], { stdin }), { code: 0, stdout: "", stderr: "" });
}, { fileOnly: NO_DATABASE });

const BODY = '{"a":1}';
const KEY = "the secret";
const SIGNATURE = signGithub(KEY, BODY);

programTest("svc tool webhook-verify-hmac: valid, invalid, and bad input", async (program) => {
  await using dir = await tempDir();
  const secretFile = await dir.write("secret", `${KEY}\n`);
  const bodyFile = await dir.write("body", BODY);
  const env = { KEY, BODY, EMPTY: "" };
  const cases: readonly [args: string[], code: number, stdout: string, stdin?: string][] = [
    [["--secret", KEY, "--body", BODY, "--signature", SIGNATURE], 0, "valid\n"],
    [["--secret", KEY, "--body", BODY, "--signature", SIGNATURE.slice(7)], 0, "valid\n"],
    [["--secret-env", "KEY", "--body-env", "BODY", "--signature", SIGNATURE], 0, "valid\n"],
    [
      ["--secret-file", secretFile, "--body-file", bodyFile, "--signature", SIGNATURE],
      0,
      "valid\n",
    ],
    [["--secret", KEY, "--body", "-", "--signature", SIGNATURE], 0, "valid\n", BODY],
    [["--secret", KEY, "--body-file", "-", "--signature", SIGNATURE], 0, "valid\n", BODY],
    [["--secret", KEY, "--body", "", "--signature", signGithub(KEY, "")], 0, "valid\n"],
    [["--secret", KEY, "--body", `${BODY} `, "--signature", SIGNATURE], 1, "invalid\n"],
    [["--secret", `${KEY}!`, "--body", BODY, "--signature", SIGNATURE], 1, "invalid\n"],
    [
      ["--secret", KEY, "--body", BODY, "--signature", `sha1=${SIGNATURE.slice(7)}`],
      1,
      "invalid\n",
    ],
    [["--secret", KEY, "--body", BODY, "--signature", `${SIGNATURE}0`], 1, "invalid\n"],
    [["--secret", KEY, "--body", BODY, "--signature", ""], 1, "invalid\n"],
    [["--secret", "", "--body", BODY, "--signature", signGithub("", BODY)], 1, ""],
    [["--secret-env", "EMPTY", "--body", BODY, "--signature", signGithub("", BODY)], 1, ""],
    [["--secret-env", "ABSENT", "--body", BODY, "--signature", SIGNATURE], 2, ""],
    [["--secret-file", `${secretFile}.no`, "--body", BODY, "--signature", SIGNATURE], 1, ""],
    [["--secret", KEY, "--body", BODY], 2, ""],
    [["--secret", KEY, "--signature", SIGNATURE], 2, ""],
    [["--body", BODY, "--signature", SIGNATURE], 2, ""],
    [["--secret", KEY, "--secret-env", "KEY", "--body", BODY, "--signature", SIGNATURE], 2, ""],
  ];
  for (const [args, code, stdout, stdin = ""] of cases) {
    const found = await runSvc(program, ["tool", "webhook-verify-hmac", ...args], { env, stdin });
    deepEqual([found.code, found.stdout], [code, stdout], `${args.join(" ")}: ${found.stderr}`);
    ok(stdout !== "valid\n" || found.stderr === "", found.stderr);
    ok(stdout !== "" || /^error: .{20}/.test(found.stderr), found.stderr);
  }
}, { fileOnly: NO_DATABASE });

programTest(
  "svc tool payload-extract: values, what is missing, and bad input",
  async (program) => {
    const document =
      '{"a":{"b":[10,{"c":"x\\ny"}],"n":12345678901234567890,"r":1.50,"t":true,"z":null,"e":""},"x.y":1}';
    const store = '{"kind":"SecretStore","spec":{"data":{"key":"v","dotted.key":"w","kind":"k"}}}';
    const cases: readonly [
      path: string,
      stdin: string | Uint8Array,
      code: number,
      stdout: string,
    ][] = [
      ["a.b.0", document, 0, "10\n"],
      ["a.b.1.c", document, 0, "x\ny\n"],
      ["a.b", document, 0, '[10,{"c":"x\\ny"}]\n'],
      ["a.n", document, 0, "12345678901234567890\n"],
      ["a.t", document, 0, "true\n"],
      ["a.z", document, 0, "null\n"],
      ["a.e", document, 0, "\n"],
      ["a.b.2", document, 1, ""],
      ["a.b.-1", document, 1, ""],
      ["a.b.00", document, 1, ""],
      ["a.b.length", document, 1, ""],
      ["a.nope", document, 1, ""],
      ["a.nope.deeper", document, 1, ""],
      ["a.toString", document, 1, ""],
      ["__proto__", document, 1, ""],
      ["constructor.name", document, 1, ""],
      ["a.e.0", document, 1, ""],
      ["key", store, 0, "v\n"],
      ["dotted.key", store, 0, "w\n"],
      ["kind", store, 0, "SecretStore\n"],
      ["other", store, 1, ""],
      ["key", store.replace("SecretStore", "Other"), 1, ""],
      ["a", "", 1, ""],
      ["a", "{", 1, ""],
      ["a", "{} {}", 1, ""],
      ["a", Uint8Array.of(0x7b, 0xff, 0x7d), 1, ""],
      ["", document, 2, ""],
    ];
    for (const [path, stdin, code, stdout] of cases) {
      const found = await runSvc(program, ["tool", "payload-extract", "--path", path], { stdin });
      deepEqual(
        [found.code, found.stdout],
        [code, stdout],
        `--path ${path} of ${stdin}: ${found.stderr}`,
      );
    }
  },
  { fileOnly: NO_DATABASE },
);

/** Starts a task of this shell line; gives its id. */
async function startTask(daemon: TestDaemon, line: string): Promise<string> {
  await daemon.apply(workflow("record", line), trigger("now", { webhook: OPEN }));
  const { status, json } = await daemon.send("/webhook/now", { body: "{}" });
  equal(status, 200);
  return String(json["task_id"]);
}

/** Runs a line of `sh` in which `svc` is this program. */
function shell(program: Program, line: string, dataDir: string) {
  const quoted = [program.command, ...program.args].map((word) => `'${word}'`).join(" ");
  return run("bash", ["-c", `set -o pipefail; svc() { ${quoted} "$@"; }; ${line}`], {
    env: { SVC_DATA_DIR: dataDir },
  });
}

programTest("| head -1 ends output early, and is no error", async (program) => {
  await using daemon = await startDaemon(program);
  const id = await startTask(daemon, "seq 1 200000");
  await daemon.settled();
  const long = `# ${"x".repeat(300_000)}`;
  await daemon.apply(workflow("long", long));
  for (
    const [line, first] of [
      [`svc task logs ${id} | head -1`, "1\n"],
      [`svc task logs ${id} -f | head -1`, "1\n"],
      ["svc get workflow/long -o json | head -1", "{\n"],
      ["svc describe workflow/long | head -1", "Workflow:  long\n"],
    ] as const
  ) {
    deepEqual(
      await shell(program, line, daemon.dataDir),
      { code: 0, stdout: first, stderr: "" },
      line,
    );
  }
}, { fileOnly: NO_DATABASE });

programTest(
  "svc task logs -f | head -1 ends soon after head, not with the task",
  async (program) => {
    await using daemon = await startDaemon(program);
    const id = await startTask(daemon, "for i in $(seq 120); do echo line; sleep 0.1; done");
    const result = await shell(program, `svc task logs ${id} -f | head -1`, daemon.dataDir);
    deepEqual(result, { code: 0, stdout: "line\n", stderr: "" });
    equal((await daemon.tasks())[0]?.state, "running");
  },
  { fileOnly: NO_DATABASE },
);

programTest(
  "svc task logs: everything in order, one step, a task that never ran",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(
      secretStore("s", { token: "hunter2-hunter2" }),
      trigger("now", { webhook: OPEN }),
      trigger("nowhere", { webhook: OPEN, workflow: "nowhere" }),
      {
        kind: "Workflow",
        metadata: { name: "record" },
        spec: {
          steps: [
            {
              id: "one",
              run: "echo out; echo err >&2; printf '%s' \"$TOKEN\"; echo",
              env: { TOKEN: { fromSecret: { store: "s", key: "token" } } },
            },
            { id: "two", run: "printf 'no line break'; exit 3" },
            { id: "three", run: "echo never" },
          ],
        },
      },
    );
    const { json } = await daemon.send("/webhook/now", { body: "{}" });
    const id = String(json["task_id"]);
    const [task] = await daemon.settled();
    deepEqual(
      [task?.state, task?.steps.map(({ id, state, exit_code }) => [id, state, exit_code])],
      ["failed", [["one", "succeeded", 0], ["two", "failed", 3], ["three", "skipped", null]]],
    );
    match(task?.reason ?? "", /two.*3/);
    deepEqual(await daemon.svc(["task", "logs", id, "--step", "two"]), {
      code: 0,
      stdout: "no line break",
      stderr: '\n[svc: step "two" failed: exit code 3]\n',
    });
    const all = await daemon.svc(["task", "logs", id.slice(0, 20).toLowerCase()]);
    deepEqual([all.code, all.stdout.split("\n").sort()], [0, [
      "***",
      "err",
      "no line break",
      "out",
    ]]);

    const missing = await daemon.send("/webhook/nowhere", { body: "{}" });
    const logs = await daemon.svc(["task", "logs", String(missing.json["task_id"])]);
    deepEqual([logs.code, logs.stdout], [0, ""]);
    match(logs.stderr, /^\[svc: task failed: .*nowhere.*\]\n$/);

    for (const named of [["logs", "now"], ["task", "logs", "--latest", "--trigger", "now"]]) {
      const found = await daemon.svc([...named, "--exit-status"]);
      deepEqual([found.code, found.stdout], [1, all.stdout], named.join(" "));
      const why = 'failed: exit code 3]\n[svc: task failed: step "two": exit code 3]\n';
      equal(found.stderr, `\n[svc: step "two" ${why}`);
    }
    await daemon.apply(trigger("quiet"));
    const none = await daemon.svc(["logs", "quiet"]);
    deepEqual([none.code, none.stdout], [4, ""]);
    match(none.stderr, /^error: Trigger "quiet" has started no task yet: "svc get deliveries /);
    equal((await daemon.svc(["logs", "nothing"])).code, 4);
    equal((await daemon.svc(["logs"])).code, 2);
    equal((await daemon.svc(["logs", "--latest", "--state", "running"])).code, 4);
  },
);

programTest(
  "svc task logs -f prints while the step runs, and ends with the task",
  async (program) => {
    await using daemon = await startDaemon(program);
    const id = await startTask(
      daemon,
      "echo first; until [ -e go ]; do sleep 0.05; done; echo second",
    );
    const child = new Deno.Command(program.command, {
      args: [...program.args, "task", "logs", id, "-f"],
      clearEnv: true,
      env: cleanEnv({ SVC_DATA_DIR: daemon.dataDir }),
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    let text = "";
    const reading = (async () => {
      for await (const part of child.stdout) text += new TextDecoder().decode(part);
    })();
    await until("the first line", () => text === "first\n" ? true : undefined);
    equal((await daemon.tasks())[0]?.state, "running");
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    const { code } = await child.status;
    await reading;
    deepEqual([code, text], [0, "first\nsecond\n"]);
    equal((await daemon.tasks())[0]?.state, "succeeded");
  },
);
