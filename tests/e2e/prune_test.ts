/**
 * `svc apply --prune` from outside: what has the labels and is no longer in the files goes, in the
 * same transaction; nothing else does.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore, toText, trigger, workflow } from "../helpers/manifests.ts";
import { slowTest } from "../helpers/program.ts";

/** With the label `app=shop`, in a project if one is named. */
function labelled(manifest: Manifest, project?: string): Manifest {
  const { name } = manifest.metadata;
  const metadata = {
    name,
    labels: { app: "shop" },
    ...defined({ project }),
  };
  return { kind: manifest.kind, metadata: metadata as Manifest["metadata"], spec: manifest.spec };
}

const STORE = labelled(secretStore("github", { key: "a secret of 32 bytes, or so it is" }));
const [A, B] = [labelled(workflow("a", "true")), labelled(workflow("b", "true"))];
const PUSH = labelled(trigger("push", { workflow: "a" }));
const ELSEWHERE = labelled(workflow("elsewhere", "true"), "other");
const UNLABELLED = workflow("plain", "true");

async function apply(daemon: TestDaemon, documents: readonly Manifest[], options = "") {
  const args = ["apply", "-f", "-", ...options.split(" ").filter(Boolean)];
  return await daemon.svc(args, { stdin: toText(documents) });
}

async function names(daemon: TestDaemon): Promise<string[]> {
  const { stdout } = await daemon.svc(["get", "triggers,workflows,ss", "-o", "name"]);
  return stdout.split("\n").filter(Boolean).toSorted();
}

const EVERYTHING = [
  "secretstore/github",
  "trigger/push",
  "workflow/a",
  "workflow/b",
  "workflow/elsewhere",
  "workflow/plain",
];

slowTest(
  "prune deletes resources that have the labels and are not in the files",
  async (program) => {
    await using daemon = await startDaemon(program);
    equal((await apply(daemon, [STORE, A, B, PUSH, ELSEWHERE, UNLABELLED])).code, 0);
    const before = await names(daemon);
    for (const name of EVERYTHING) equal(before.includes(name), true, name);

    const used = await apply(daemon, [B, PUSH], "--prune -l app=shop");
    deepEqual([used.code, used.stdout], [1, ""]);
    equal(
      used.stderr,
      "error: Nothing was applied: workflow/a is in use; change what uses it, or keep it in the " +
        "input\n  workflow/a is used by trigger/push (spec.action.workflow): " +
        "its tasks fail until it is applied\n",
    );
    deepEqual(await names(daemon), before);

    const moved = labelled(trigger("push", { workflow: "b" }));
    const expected = "workflow/b unchanged\ntrigger/push configured\nworkflow/a pruned\n";
    const dry = await apply(daemon, [B, moved], "--prune -l app=shop --dry-run");
    equal(dry.stdout, expected.replaceAll("\n", " (dry run)\n"), dry.stderr);
    deepEqual(await names(daemon), before);
    const done = await apply(daemon, [B, moved], "--prune -l app=shop");
    deepEqual([done.code, done.stdout], [0, expected]);
    deepEqual(await names(daemon), before.filter((name) => name !== "workflow/a"));

    const json = await apply(daemon, [B], "--prune -l app=shop -o json");
    deepEqual(JSON.parse(json.stdout), [
      { name: "workflow/b", project: "default", action: "unchanged" },
      { name: "trigger/push", project: "default", action: "pruned" },
    ]);
  },
);

slowTest("prune refuses a selection that could delete too much", async (program) => {
  await using daemon = await startDaemon(program);
  equal((await apply(daemon, [A, B, UNLABELLED])).code, 0);
  const before = await names(daemon);
  for (
    const [documents, options, code, says] of [
      [[A], "--prune", 2, /--prune needs -l: without labels it would delete everything/],
      [[A], "-l app=shop", 2, /-l requires --prune/],
      [[A], "--prune -l ,", 2, /Give the labels of what may be pruned/],
      [[], "--prune -l app=shop", 1, /Nothing to apply/],
      [
        [A, UNLABELLED],
        "--prune -l app=shop",
        1,
        /needs the labels app=shop\n {2}workflow\/plain does not have them\n$/,
      ],
      [[A, { ...B, spec: { nothing: 1 } }], "--prune -l app=shop", 1, /Nothing was applied/],
    ] as const
  ) {
    const { code: got, stdout, stderr } = await apply(daemon, documents, options);
    deepEqual([got, stdout], [code, ""], options);
    match(stderr, says);
  }
  deepEqual(await names(daemon), before);
});
