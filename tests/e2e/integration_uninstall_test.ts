/**
 * `svc integration uninstall` from outside: what a package brought goes, what others use and the
 * secrets stay, and nothing happens unasked.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { slowTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const SECRET = "a secret of 32 bytes, or so it is";
const EVENTS = ["issue-comment", "pull-request", "push", "release"];
const NAMES = ["trigger", "workflow", "steptemplate"].flatMap((kind) =>
  EVENTS.map((event) => `${kind}/github-${event}`)
);

async function run(daemon: TestDaemon, line: string, code = 0, stdin?: string) {
  const given = await daemon.svc(line.split(" "), stdin === undefined ? {} : { stdin });
  equal(given.code, code, given.stderr);
  return given;
}

async function names(daemon: TestDaemon): Promise<string[]> {
  const { stdout } = await run(daemon, "get triggers,workflows,steptemplates,ss -o name");
  return stdout.split("\n").filter(Boolean).toSorted();
}

const INSTALL = "integration install github --set-secret webhook_secret=-";
const UNINSTALL = "integration uninstall github";

slowTest("uninstall: unasked nothing, then the package without its secrets", async (p) => {
  await using daemon = await startDaemon(p);
  const before = await names(daemon);
  await run(daemon, INSTALL, 0, SECRET);
  const all = await names(daemon);
  deepEqual(all, [...before, ...NAMES, "secretstore/github"].toSorted());

  const unasked = await run(daemon, UNINSTALL, 1, "y\n");
  match(unasked.stderr, /^error: Nothing was changed: there is no terminal to ask on, add --yes/);
  const dry = await run(daemon, `${UNINSTALL} --dry-run`);
  equal(
    dry.stdout,
    NAMES.map((name) => `${name} deleted (dry run)\n`).join("") +
      "secretstore/github kept, with its values; --secrets deletes it\n",
  );
  deepEqual(await names(daemon), all);

  const done = await run(daemon, `${UNINSTALL} --yes`);
  equal(done.stdout, dry.stdout.replaceAll(" (dry run)", ""));
  match(done.stderr, /^note: remove its addresses at GitHub too/);
  deepEqual(await names(daemon), [...before, "secretstore/github"].toSorted());

  const rest = JSON.parse((await run(daemon, `${UNINSTALL} --secrets -y -o json`)).stdout);
  deepEqual(rest, {
    name: "github",
    dry_run: false,
    deleted: ["secretstore/github"],
    kept: [],
  });
  deepEqual(await names(daemon), before);
  match(
    (await run(daemon, `${UNINSTALL} --yes`, 4)).stderr,
    /^error: Nothing of "github" is in project "default": no resource has the label integration=github\n/,
  );
  equal((await run(daemon, "integration uninstall gitlab -y", 4)).stdout, "");
});

slowTest("uninstall keeps and names what others use, and other projects", async (p) => {
  await using daemon = await startDaemon(p);
  await run(daemon, INSTALL, 0, SECRET);
  await run(daemon, `${INSTALL} -p shop`, 0, SECRET);
  await daemon.apply(trigger("mine", { workflow: "github-push" }), workflow("own", "true"));
  const { stdout } = await run(daemon, `${UNINSTALL} --secrets --yes`);
  equal(
    stdout,
    NAMES.filter((name) => name !== "workflow/github-push").map((name) => `${name} deleted\n`)
      .join("") +
      "workflow/github-push kept, because others use it:\n" +
      "  trigger/mine (spec.action.workflow): its tasks fail until it is applied\n" +
      "secretstore/github kept, because others use it:\n" +
      "  trigger/mine (spec.event.webhook.secret.fromRef): every request is refused with 401\n",
  );
  const left = await names(daemon);
  for (const name of ["trigger/mine", "workflow/own"]) equal(left.includes(name), true, name);
  const shop = await run(daemon, `${UNINSTALL} --secrets --yes -p shop`);
  equal(shop.stdout.split("\n").length, NAMES.length + 2);
});

slowTest(
  "uninstall of an unpacked package, changed and applied, with its own store",
  async (p) => {
    await using daemon = await startDaemon(p);
    await using dir = await tempDir();
    await daemon.svc(["secret", "set", "github", "webhook_secret"], { stdin: SECRET });
    const path = join(dir.path, "github");
    await run(daemon, `integration show github --unpack ${path}`);
    await Deno.writeTextFile(
      join(path, "agent.yaml"),
      "kind: Agent\nmetadata: {name: reviewer, labels: {integration: github}}\nspec: {command: cat}\n",
    );
    await run(daemon, `apply -f ${path}`);
    const { stdout } = await run(daemon, `${UNINSTALL} --secrets --yes`);
    deepEqual(
      stdout.trim().split("\n").map((line) => line.replace(/ deleted$/, "")).toSorted(),
      [...NAMES, "agent/reviewer", "secretstore/github"].toSorted(),
    );
  },
);
