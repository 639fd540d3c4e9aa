/**
 * `svc delete` from outside: what is in use stays, unless its users go with it or `--force` insists;
 * several kinds, files and labels in one transaction.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore, toText, trigger, workflow } from "../helpers/manifests.ts";
import { programTest, slowTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const STORE = secretStore("github", { webhook_secret: "a secret of 32 bytes, or so it is" });
const LABELLED: Manifest = {
  ...workflow("labelled", "true"),
  metadata: { name: "labelled", labels: { team: "web" } } as Manifest["metadata"],
};
const ALL = [STORE, workflow("record", "true"), LABELLED, trigger("push"), trigger("pull")];

async function apply(daemon: TestDaemon, documents: readonly Manifest[]): Promise<void> {
  const { code, stderr } = await daemon.svc(["apply", "-f", "-"], { stdin: toText(documents) });
  equal(code, 0, stderr);
}

async function resources(daemon: TestDaemon): Promise<string[]> {
  const lists = ["triggers", "workflows", "secretstores"].map(async (kind) =>
    (await daemon.svc(["get", kind, "-o", "name"])).stdout.split("\n").filter(Boolean)
  );
  return (await Promise.all(lists)).flat();
}

const EVERYTHING = [
  "trigger/pull",
  "trigger/push",
  "workflow/labelled",
  "workflow/record",
  "secretstore/github",
];

programTest(
  "delete of what is in use: refused with who uses it; --force deletes it all the same",
  async (program) => {
    await using daemon = await startDaemon(program);
    await apply(daemon, ALL);
    const refused = await daemon.svc(["delete", "secretstore", "github"]);
    deepEqual([refused.code, refused.stdout], [1, ""]);
    equal(
      refused.stderr,
      "error: Nothing was deleted: secretstore/github is in use; " +
        "delete what uses it too, or add --force\n" +
        "  secretstore/github is used by trigger/pull (spec.event.webhook.secret.fromRef): " +
        "every request is refused with 401\n" +
        "  secretstore/github is used by trigger/push (spec.event.webhook.secret.fromRef): " +
        "every request is refused with 401\n",
    );
    const several = await daemon.svc(["delete", "workflow/labelled", "workflow/record"]);
    equal(several.code, 1, "one of the two is in use, so both stay");
    match(several.stderr, /workflow\/record is used by trigger\/pull \(spec\.action\.workflow\)/);
    deepEqual(await resources(daemon), EVERYTHING);

    const dry = await daemon.svc(["delete", "workflow/record", "--force", "--dry-run"]);
    deepEqual([dry.code, dry.stdout], [0, "workflow/record deleted (dry run)\n"]);
    deepEqual(await resources(daemon), EVERYTHING);

    const forced = await daemon.svc(["delete", "workflow/record", "--force"]);
    deepEqual([forced.code, forced.stdout], [0, "workflow/record deleted\n"]);
    match(forced.stderr, /^warning: workflow\/record is used by trigger\/pull/);
    equal((await resources(daemon)).includes("workflow/record"), false);
  },
);

slowTest("delete with its users, in any order; -f, -l and KIND A B", async (program) => {
  await using daemon = await startDaemon(program);
  await using dir = await tempDir();
  const printed = async (args: string[], stdin?: string) => {
    const { code, stdout, stderr } = await daemon.svc(["delete", ...args], defined({ stdin }));
    equal(code, 0, stderr);
    return stdout;
  };
  await apply(daemon, ALL);
  equal(
    await printed(["secretstore/github", "triggers/push", "tr/pull"]),
    "secretstore/github deleted\ntrigger/push deleted\ntrigger/pull deleted\n",
  );
  equal(await printed(["workflows", "-l", "team=web"]), "workflow/labelled deleted\n");
  equal(await printed(["workflows", "-l", "team=web"]), "");
  deepEqual(await resources(daemon), ["workflow/record"]);

  await apply(daemon, ALL);
  await dir.write("a.yaml", toText(ALL.slice(0, 3)));
  await dir.write("b.json", JSON.stringify(ALL.slice(3)));
  await dir.write("secrets-template.yaml", toText([secretStore("mine", { key: "<your-key>" })]));
  equal(
    await printed(["-f", dir.path]),
    EVERYTHING.map((name) => `${name} deleted\n`).join(""),
  );
  deepEqual(await resources(daemon), []);

  const again = await daemon.svc(["delete", "-f", dir.path]);
  deepEqual([again.code, again.stdout], [4, ""]);
  match(again.stderr, /^error: No Trigger "pull" in project "default"/);
  equal(await printed(["-f", dir.path, "--ignore-not-found"]), "");

  await apply(daemon, [workflow("record", "true")]);
  equal(
    await printed(["-f", "-"], toText([workflow("record", "false")])),
    "workflow/record deleted\n",
  );
});

programTest("delete of what cannot be read, and other bad input", async (program) => {
  await using daemon = await startDaemon(program);
  await using dir = await tempDir();
  const bad = await dir.write("bad.yaml", "kind: Workflow\nmetadata: {nam: x}\n");
  const unread = await daemon.svc(["delete", "-f", bad]);
  deepEqual([unread.code, unread.stdout], [1, ""]);
  match(
    unread.stderr,
    /bad\.yaml:1:1: "kind" and "metadata\.name" say what to delete, one is missing/,
  );
  for (
    const [line, code] of [
      ["delete", 2],
      ["delete workflow", 2],
      ["delete workflow/a b", 2],
      ["delete workflow a -l k=v", 2],
      ["delete -l k=v", 2],
      ["delete workflow -l ,", 2],
      [`delete workflow/a -f ${bad}`, 2],
      [`delete -f ${bad} -l k=v`, 2],
      ["delete binding/01", 2],
      ["delete task/01 --yes", 4],
      ["delete nothings -l k=v", 2],
      ["delete workflow/none", 4],
    ] as const
  ) {
    const { code: got, stderr } = await daemon.svc(line.split(" "));
    deepEqual([got, stderr.length > 20], [code, true], `svc ${line}: ${stderr}`);
  }
});
