/**
 * `svc apply`, and what `get`, `describe` and `delete` then show: refused with
 * place and remedy, all or nothing, secrets masked.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { secretStore, toText, trigger, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, programTest, ROOT, slowTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const SECRET = "a secret of 32 bytes, or so it is";

/** A document that is right; of a file with an error in it, it must not be applied. */
const GOOD = `kind: Workflow
metadata:
  name: good
spec:
  steps:
    - {id: one, run: "true"}
---
`;
/** Lines of {@linkcode GOOD}. */
const BEFORE = 7;

/** A trigger from line {@linkcode BEFORE} + 1 on, `filter` and more as given. */
const aTrigger = (inside: string) =>
  `kind: Trigger
metadata: {name: bad}
spec:
  event:
    source: webhook
${inside}
  action: {workflow: good, workspace: default}
`;

const aWorkflow = (step: string) =>
  `kind: Workflow
metadata: {name: bad}
spec:
  steps:
${step}
`;

/**
 * What stands behind the good document, and what `apply` says: `LINE:COLUMN: …` in the text given.
 */
const REFUSED: readonly {
  name: string;
  text: string;
  says: readonly [string, RegExp][];
  shows?: string;
}[] = [
  {
    name: "an unknown field, with the field that was meant",
    text: aTrigger("    webhok: {}"),
    says: [["6:5", /spec\.event\.webhok: Unknown field "webhok", did you mean "webhook"/]],
  },
  {
    name: "an unknown field of the envelope",
    text: "kind: Project\nmetadata: {name: bad}\nspecs: {}\n",
    says: [["3:1", /specs: Unknown field/]],
  },
  {
    name: "a duplicate key",
    text: "kind: Project\nmetadata:\n  name: bad\n  name: worse\n",
    says: [["4:3", /Duplicate key/]],
  },
  {
    name: "a wrong type",
    text: aTrigger('  suspend: "yes"'),
    says: [["6:3", /spec\.suspend: Expected a boolean/]],
  },
  {
    name: "an unknown kind, with those there are",
    text: "kind: Trigger2\nmetadata: {name: bad}\nspec: {}\n",
    says: [["1:1", /kind: Unknown kind "Trigger2".*Trigger.*Workflow/]],
  },
  {
    name: "a missing field",
    text: "kind: Workflow\nmetadata: {name: bad}\n",
    says: [["1:1", /spec/]],
  },
  {
    name: "a name that is none",
    text: "kind: Project\nmetadata:\n  name: not/a name\n",
    says: [["3:3", /metadata\.name: Expected a name/]],
  },
  {
    name: "a condition that does not compile, with its column",
    text: aTrigger("    filter:\n      condition: payload_action = 'opened'"),
    says: [["7:7", /spec\.event\.filter\.condition: .*column 16/]],
  },
  {
    name: "one of our variables in a shell line, with the remedy",
    text: aWorkflow("    - id: one\n      run: echo {{ payload.ref }}"),
    says: [["6:7", /run: \{\{ payload\.ref \}\} .*env/]],
  },
  {
    name: "one of our variables in a shell line, short form",
    text: aWorkflow("    - id: one\n      run: echo {{payload_ref}}"),
    says: [["6:7", /\{\{payload_ref\}\}/]],
  },
  {
    name: "a template that does not compile",
    text: aWorkflow('    - id: one\n      run: "true"\n      env: {A: "{{ payload. }}"}'),
    says: [["7:13", /env\.A/]],
  },
  {
    name: "a secret that is no text: the key is named and the value is not",
    text: "kind: SecretStore\nmetadata: {name: bad}\nspec:\n  data:\n    pin: 4711\n",
    says: [["5:5", /spec\.data\.pin: Expected text/]],
  },
  {
    name: "an empty secret",
    text: 'kind: SecretStore\nmetadata: {name: bad}\nspec: {data: {pin: ""}}\n',
    says: [["3:15", /pin/]],
  },
  {
    name: "a placeholder as a secret",
    text: 'kind: SecretStore\nmetadata: {name: bad}\nspec: {data: {pin: "<your-pin>"}}\n',
    says: [["3:15", /placeholder/]],
  },
  {
    name: "the mask as a secret",
    text: 'kind: SecretStore\nmetadata: {name: bad}\nspec: {data: {pin: "***"}}\n',
    says: [["3:15", /\*\*\* keeps the stored value/]],
  },
  {
    name: "the same resource twice",
    text: GOOD.replace("---\n", ""),
    says: [["3:3", /workflow\/good/]],
  },
  {
    name: "an empty name of a SecretStore",
    text: aTrigger('    webhook:\n      secret: {fromRef: ""}'),
    says: [["7:16", /fromRef/]],
  },
  {
    name: "no YAML at all",
    text: "kind: [\n",
    says: [["1:7", /never closed/]],
  },
  {
    name: "a slip in one document, with its line and a mark, and what is wrong with the others",
    text: "kind: Workflow\nspec:\n  steps: [{run: echo {{ goal }}}]\n---\nkind: Nonsense\n",
    says: [["3:22", /quotes/], ["5:1", /Unknown kind/]],
    shows: "      steps: [{run: echo {{ goal }}}]\n" + " ".repeat(27) + "^\n",
  },
  {
    name: "allowUnsigned beside a secret",
    text: aTrigger("    webhook:\n      secret: {fromRef: s}\n      allowUnsigned: true"),
    says: [["8:7", /allowUnsigned/]],
  },
  {
    name: "everything that is wrong, at once",
    text: aTrigger(
      '    webhok: {}\n    filter: {condition: "payload_a =="}\n  suspend: 3',
    ),
    says: [["6:5", /webhok/], ["7:14", /condition/], ["8:3", /suspend/]],
  },
];

slowTest(
  "svc apply names file, line and column, and applies nothing of the file",
  async (program, t) => {
    await using daemon = await startDaemon(program);
    await using dir = await tempDir();
    for (const { name, text, says, shows } of REFUSED) {
      await t.step(name, async () => {
        await dir.write("bad.yaml", GOOD + text);
        const refused = await daemon.svc(["apply", "-f", "bad.yaml"], { cwd: dir.path });
        deepEqual([refused.code, refused.stdout], [1, ""], refused.stderr);
        const lines = refused.stderr.split("\n").map((line) => line.trim());
        for (const [place, message] of says) {
          const [line = 0, column] = place.split(":").map(Number);
          const start = `bad.yaml:${BEFORE + line}:${column}: `;
          const found = lines.find((one) => one.startsWith(start) && message.test(one));
          ok(found !== undefined, `no line "${start}… ${message}" in:\n${refused.stderr}`);
        }
        if (shows !== undefined) ok(refused.stderr.includes(shows), refused.stderr);
        doesNotSay(refused.stderr, "4711");
        const { counts } = await daemon.json("status") as { counts: Record<string, number> };
        const { triggers, workflows, secretstores, projects } = counts;
        deepEqual([triggers, workflows, secretstores, projects], [0, 0, 0, 1]); // the default project
      });
    }
  },
  { fileOnly: NO_DATABASE },
);

function doesNotSay(text: string, secret: string) {
  ok(!text.includes(secret), `"${secret}" is in: ${text}`);
}

programTest(
  "svc apply: created, configured, unchanged; --dry-run; -o json; -p",
  async (program) => {
    await using daemon = await startDaemon(program);
    const apply = async (text: string, ...flags: string[]) => {
      const { code, stdout, stderr } = await daemon.svc(["apply", "-f", "-", ...flags], {
        stdin: text,
      });
      deepEqual([code, stderr], [0, ""]);
      return stdout;
    };
    const one = toText([workflow("build", "echo 1"), {
      kind: "Project",
      metadata: { name: "shop" },
      spec: {},
    }]);

    match(await apply(one, "--dry-run"), /^workflow\/build created.*\nproject\/shop created.*\n$/);
    equal((await daemon.svc(["get", "workflows", "-o", "name"])).stdout, "");
    equal(await apply(one), "workflow/build created\nproject/shop created\n");
    equal(await apply(one), "workflow/build unchanged\nproject/shop unchanged\n");
    const other = toText([workflow("build", "echo 2")]);
    match(await apply(other, "--dry-run"), /^workflow\/build configured/);
    equal(await apply(one), "workflow/build unchanged\nproject/shop unchanged\n");
    equal(await apply(other), "workflow/build configured\n");
    deepEqual(JSON.parse(await apply(other, "-o", "json", "-p", "shop")), [
      { name: "workflow/build", project: "shop", action: "created" },
    ]);
    equal(
      (await daemon.svc(["get", "workflows", "-p", "shop", "-o", "name"])).stdout,
      "workflow/build\n",
    );
    const env = { SVC_PROJECT: "shop" };
    equal((await daemon.svc(["describe", "workflow/build"], { env })).code, 0);
    equal((await daemon.svc(["describe", "workflow/build", "-p", "elsewhere"])).code, 4);
  },
);

slowTest(
  "svc apply -f DIRECTORY: all of it, not its folders, and no unfilled template",
  async (program) => {
    await using daemon = await startDaemon(program);
    await using dir = await tempDir();
    await dir.write("b.yml", toText([workflow("second", "true")]));
    await dir.write("a.yaml", toText([workflow("first", "true")]));
    await dir.write("c.json", JSON.stringify(workflow("third", "true")));
    await dir.write("README.md", "kind: nonsense");
    await Deno.mkdir(join(dir.path, "folder"));
    await dir.write("folder/d.yaml", "kind: nonsense");
    const template = await dir.write(
      "secrets-template.yaml",
      toText([secretStore("s", { k: "<your-k>" })]),
    );

    const applied = await daemon.svc(["apply", "-f", "."], { cwd: dir.path });
    deepEqual(
      [applied.code, applied.stdout],
      [0, "workflow/first created\nworkflow/second created\nworkflow/third created\n"],
    );
    match(applied.stderr, /secrets-template\.yaml: skipped.*placeholder/);
    const named = await daemon.svc(["apply", "-f", template]);
    deepEqual([named.code, named.stdout], [1, ""]);

    await dir.write("secrets-template.yaml", toText([secretStore("s", { k: SECRET })]));
    const filled = await daemon.svc(["apply", "-f", dir.path]);
    match(filled.stdout, /^secretstore\/s created$/m);

    await dir.write("a.yaml", toText([workflow("fourth", "true")]));
    await dir.write("b.yml", "kind: Nonsense");
    equal((await daemon.svc(["apply", "-f", dir.path])).code, 1);
    equal((await daemon.svc(["get", "workflow/fourth"])).code, 4);
  },
  { fileOnly: NO_DATABASE },
);

programTest("svc apply warns of references to nothing, and applies", async (program) => {
  await using daemon = await startDaemon(program);
  const { code, stdout, stderr } = await daemon.svc(["apply", "-f", "-"], {
    stdin: toText([trigger("push", { workflow: "nowhere" })]),
  });
  deepEqual([code, stdout], [0, "trigger/push created\n"]);
  match(stderr, /^warning: <stdin>:\d+:\d+: .*SecretStore "github"/m);
  match(stderr, /^warning: <stdin>:\d+:\d+: .*Workflow "nowhere"/m);
});

programTest("svc get, describe and delete", async (program, t) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(
    secretStore("github", { webhook_secret: SECRET, short: "tiny" }),
    workflow("build", "true"),
    trigger("push", { workflow: "build", condition: "payload_a == 1" }),
    {
      ...trigger("pull", { workflow: "build" }),
      metadata: { name: "pull", labels: { team: "web" } },
    } as never,
  );

  await t.step("get: table, wide, name, json, yaml; singular, plural, short, one", async () => {
    const table = await printed(daemon, "get", "triggers");
    match(
      table,
      /^NAME +SOURCE +WORKFLOW +WORKSPACE +SUSPENDED +NEXT +AGE\npull +webhook +build +default +no +\w+\npush /,
    );
    match(await printed(daemon, "get", "trigger", "-o", "wide"), /FILTER.*\n.*\n.*payload_a == 1/);
    equal(await printed(daemon, "get", "tr", "-o", "name"), "trigger/pull\ntrigger/push\n");
    equal(await printed(daemon, "get", "Trigger", "push", "-o", "name"), "trigger/push\n");
    equal(
      await printed(daemon, "get", "triggers", "-l", "team=web", "-o", "name"),
      "trigger/pull\n",
    );
    equal(await printed(daemon, "get", "triggers", "-l", "team=ops", "-o", "name"), "");
    equal(await printed(daemon, "get", "triggers", "--limit", "1", "-o", "name"), "trigger/pull\n");
    const list = JSON.parse(await printed(daemon, "get", "workflows", "-o", "json"));
    const one = JSON.parse(await printed(daemon, "get", "workflow/build", "-o", "json"));
    deepEqual(list, [one]);
    deepEqual(Object.keys(one), ["kind", "metadata", "spec", "status"]);
    deepEqual([one.kind, one.metadata.name, one.spec.steps[0].run], ["Workflow", "build", "true"]);
    match(await printed(daemon, "get", "workflow/build", "-o", "yaml"), /^kind: Workflow\n/);
    equal(await printed(daemon, "get", "task", "-o", "json"), "[]\n");
  });

  await t.step("get shows no secret in any format; describe in JSON does", async () => {
    for (const format of ["table", "wide", "json", "yaml", "name"]) {
      doesNotSay(await printed(daemon, "get", "secretstores", "-o", format), SECRET);
      doesNotSay(await printed(daemon, "get", "secretstore/github", "-o", format), SECRET);
    }
    const masked = JSON.parse(await printed(daemon, "get", "secretstore/github", "-o", "json"));
    deepEqual(masked.spec.data, { webhook_secret: "***", short: "***" });
    doesNotSay(await printed(daemon, "describe", "secretstore/github"), SECRET);
    const shown = JSON.parse(await printed(daemon, "describe", "secretstore/github", "-o", "json"));
    deepEqual(shown.spec.data, { webhook_secret: SECRET, short: "tiny" });
  });

  await t.step("describe -o json | tool payload-extract --path KEY gives the secret", async () => {
    const stdin = await printed(daemon, "describe", "secretstore/github", "-o", "json");
    const found = await daemon.svc(["tool", "payload-extract", "--path", "webhook_secret"], {
      stdin,
    });
    deepEqual([found.code, found.stdout], [0, `${SECRET}\n`]);
  });

  await t.step("delete: all of those named, or none", async () => {
    const missing = await daemon.svc(["delete", "triggers", "push", "nope"]);
    deepEqual([missing.code, missing.stdout], [4, ""]);
    equal(
      await printed(daemon, "delete", "triggers", "push", "pull"),
      "trigger/push deleted\ntrigger/pull deleted\n",
    );
    equal(await printed(daemon, "delete", "workflow/build"), "workflow/build deleted\n");
    equal((await daemon.svc(["get", "workflow/build"])).code, 4);
    equal((await daemon.svc(["delete", "workflow/build"])).code, 4);
  });
});

/** What a command prints when it goes well, and without a word on standard error. */
async function printed(daemon: TestDaemon, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await daemon.svc(args);
  deepEqual([code, stderr], [0, ""], `svc ${args.join(" ")}`);
  return stdout;
}

programTest(
  "svc apply -f integrations/github passes over the template and warns of nothing else",
  async (program) => {
    await using daemon = await startDaemon(program);
    const template = await Deno.readTextFile(
      join(ROOT, "integrations/github/secrets-template.yaml"),
    );
    const stdin = template.replace("<your-webhook-secret>", "0123456789abcdef0123456789abcdef");
    const secret = await daemon.svc(["apply", "-f", "-"], { stdin });
    deepEqual(secret, { code: 0, stdout: "secretstore/github created\n", stderr: "" });
    const { code, stderr } = await daemon.svc(["apply", "-f", "integrations/github"], {
      cwd: ROOT,
    });
    equal(code, 0);
    match(stderr, /^warning: integrations\/github\/secrets-template\.yaml: skipped[^\n]*\n$/);
  },
  { fileOnly: NO_DATABASE },
);
