/**
 * `svc edit` from outside, with scripts for editors: what is saved is applied, what is refused opens
 * again, nothing is lost, and no file is left behind.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { shellWord } from "../../src/base/shell_word.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, type Program, programTest, run, slowTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";

const SECRET = "a secret of 32 bytes, or so it is";

/** Runs `svc edit` with a shell script for an editor, whose `$1` is the file. */
async function edit(daemon: TestDaemon, dir: TempDir, script: string, args = "workflow/build") {
  const editor = await dir.write("editor.sh", `set -e\ncp "$1" "${dir.path}/seen"\n${script}\n`);
  await Deno.mkdir(`${dir.path}/tmp`, { recursive: true });
  const env = { EDITOR: `sh ${editor}`, TMPDIR: `${dir.path}/tmp`, LD_LIBRARY_PATH: "/nowhere" };
  return await daemon.svc(["edit", ...args.split(" ")], { env });
}

/** The same on a terminal, where somebody types `keys` when svc asks. */
async function editAtTerminal(
  { command, args }: Program,
  daemon: TestDaemon,
  dir: TempDir,
  { script, keys }: { script: string; keys: string },
) {
  const editor = await dir.write("editor.sh", `set -e\ncp "$1" "${dir.path}/seen"\n${script}\n`);
  const shown = await dir.write("shown", "");
  await Deno.mkdir(`${dir.path}/tmp`, { recursive: true });
  const svc = [command, ...args, "edit", "workflow/build"].map(shellWord).join(" ");
  const type =
    `until grep -q 'Enter opens' ${shown}; do sleep 0.1; done; printf '${keys}'; sleep 1`;
  return await run("/bin/sh", ["-c", `{ ${type}; } | script -qefc "$0" ${shown}`, svc], {
    env: { EDITOR: `sh ${editor}`, TMPDIR: `${dir.path}/tmp`, SVC_DATA_DIR: daemon.dataDir },
  });
}

const left = (dir: TempDir) => [...Deno.readDirSync(`${dir.path}/tmp`)].map(({ name }) => name);
const seen = (dir: TempDir) => Deno.readTextFile(`${dir.path}/seen`);

async function specOf(daemon: TestDaemon, what: string): Promise<unknown> {
  return (await daemon.json("describe", what) as { spec: unknown }).spec;
}

programTest("edit applies what is saved, and leaves no file", async (program) => {
  await using daemon = await startDaemon(program);
  await using dir = await tempDir();
  await daemon.apply(workflow("build", "make"), secretStore("github", { old: SECRET }));
  const modes = 'stat -c %a "$1" "${1%/*}" >"${0%/*}/modes"';
  const done = await edit(daemon, dir, `${modes}\nsed -i s/make/ninja/ "$1"`);
  deepEqual([done.code, done.stdout, done.stderr], [0, "workflow/build configured\n", ""]);
  deepEqual(await specOf(daemon, "workflow/build"), { steps: [{ id: "s1", run: "ninja" }] });
  equal(await Deno.readTextFile(`${dir.path}/modes`), "600\n700\n");
  match(
    await seen(dir),
    /^# Change workflow\/build and save it; an empty file changes nothing\.\n# [^\n]*\nkind: Workflow\nmetadata:\n {2}name: build\n/,
  );
  equal((await seen(dir)).includes("status"), false);

  equal((await edit(daemon, dir, ":")).stdout, "workflow/build unchanged\n");
  const json = await edit(daemon, dir, 'echo "# mine" >>"$1"', "workflow build -o json");
  deepEqual(JSON.parse(json.stdout), [
    { name: "workflow/build", project: "default", action: "unchanged" },
  ]);

  const store = await edit(
    daemon,
    dir,
    'printf "    next: another secret of about 32 bytes\\n" >>"$1"',
    "ss/github",
  );
  deepEqual([store.code, store.stdout], [0, "secretstore/github configured\n"]);
  match(await seen(dir), /\*\*\* keeps the stored value[^]* {4}old: "\*\*\*"\n$/);
  deepEqual(await specOf(daemon, "secretstore/github"), {
    data: { old: SECRET, next: "another secret of about 32 bytes" },
  });
  deepEqual(left(dir), []);
});

programTest("edit: cancelled, and things that cannot be edited", async (program) => {
  await using daemon = await startDaemon(program);
  await using dir = await tempDir();
  await daemon.apply(workflow("build", "make"));
  for (
    const [script, says] of [
      [': >"$1"', "workflow/build was not changed: the saved file is empty"],
      ['echo "# nothing else" >"$1"', "workflow/build was not changed: the saved file is empty"],
      ['rm "$1"', /^Nothing was changed: "[^"]+" is gone: it does not exist$/],
      ["exit 3", /^Nothing was changed: the editor \(sh [^)]+\) ended with exit code 3$/],
      ['printf "\\377" >"$1"', "Nothing was changed: the saved file is not UTF-8 text"],
    ] as const
  ) {
    const { code, stdout, stderr } = await edit(daemon, dir, script);
    deepEqual([code, stdout], [1, ""], script);
    const [, message = ""] = /^error: (.*)\n$/.exec(stderr) ?? [];
    if (typeof says === "string") equal(message, says);
    else match(message, says);
  }
  for (
    const [args, code] of [["workflow/none", 4], ["task/latest", 2], ["workflow", 2], [
      "workflow/a b",
      2,
    ], ["nothing/a", 2]] as const
  ) {
    equal((await edit(daemon, dir, ":", args)).code, code, args);
  }
  const none = await daemon.svc(["edit", "workflow/build"], {
    env: { VISUAL: "/nonexistent/editor", EDITOR: "true", TMPDIR: `${dir.path}/tmp` },
  });
  equal(none.code, 1);
  match(none.stderr, /exit code 127, which means the program was not found: set \$EDITOR\n$/);
  deepEqual(await specOf(daemon, "workflow/build"), { steps: [{ id: "s1", run: "make" }] });
  deepEqual(left(dir), []);
}, { fileOnly: NO_DATABASE });

slowTest(
  "edit: on a terminal, what is refused opens again with its errors, or is kept",
  async (program) => {
    await using daemon = await startDaemon(program);
    await using dir = await tempDir();
    await daemon.apply(workflow("build", "make"));
    const second = `if grep -q runs "$1"; then sed -i s/runs/run/ "$1"; else
sed -i 's/run: make/runs: ninja/' "$1"; fi`;
    const mended = await editAtTerminal(program, daemon, dir, { script: second, keys: "\\r" });
    equal(mended.code, 0, mended.stdout);
    match(
      mended.stdout,
      /Nothing was applied[^]*Enter opens it again[^]*workflow\/build configured/,
    );
    const text = await seen(dir);
    match(
      text,
      /^# Nothing was applied: [0-9]+ errors?\n# {3}workflow\.yaml:\d+:\d+: spec\.steps\.0/,
    );
    const lines = [...text.matchAll(/^# {3}workflow\.yaml:(\d+):/gm)].map(([, line]) =>
      Number(line)
    );
    match(text.split("\n").at(Math.max(...lines) - 1) ?? "", /runs: ninja|id: s1/);
    deepEqual(left(dir), []);

    const longer = `echo x >>${dir.path}/openings\nsed -i 's/id: s1/& & /' "$1"`;
    const gaveUp = await editAtTerminal(program, daemon, dir, { script: longer, keys: "\\003" });
    equal(gaveUp.code, 1, gaveUp.stdout);
    match(gaveUp.stdout, /your text is kept: svc apply -f \S+/);
    equal(await Deno.readTextFile(`${dir.path}/openings`), "x\n");
  },
  { fileOnly: NO_DATABASE, skip: missing("script") },
);

slowTest(
  "edit: a program as editor that saves the same mistake for ever is opened once",
  async (program) => {
    await using daemon = await startDaemon(program);
    await using dir = await tempDir();
    await daemon.apply(workflow("build", "make"));
    const longer = `echo x >>${dir.path}/openings\nsed -i 's/run: make/runs: &/' "$1"`;
    const refused = await edit(daemon, dir, longer);
    equal(refused.code, 1);
    match(
      refused.stderr,
      /Nothing was applied: \d+ errors?; your text is kept: svc apply -f \S+\n {2}workflow\.yaml:\d+/,
    );
    equal(await Deno.readTextFile(`${dir.path}/openings`), "x\n");

    const renamed = await edit(daemon, dir, 'sed -i "s/name: build/name: other/" "$1"');
    equal(renamed.code, 1);
    match(renamed.stderr, /keep only workflow\/build, with its kind/);
    const [, path = ""] = /your text is kept: svc apply -f (\S+)\n/.exec(renamed.stderr) ?? [];
    match(await Deno.readTextFile(path), /^kind: Workflow\nmetadata:\n {2}name: other\n/);
    equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    equal((await daemon.svc(["get", "workflow", "other"])).code, 4);
  },
  { fileOnly: NO_DATABASE },
);

programTest(
  "edit: a change by someone else meanwhile is not overwritten",
  async (program) => {
    await using daemon = await startDaemon(program);
    await using dir = await tempDir();
    await daemon.apply(workflow("build", "make"), trigger("mine", { workflow: "build" }));
    const meanwhile = await dir.write("other.json", JSON.stringify(workflow("build", "other")));
    const [program_ = "", ...args] = [program.command, ...program.args];
    const svc = [program_, ...args].map((word) => `'${word}'`).join(" ");
    const conflict = await edit(
      daemon,
      dir,
      `${svc} apply --data-dir '${daemon.dataDir}' -f '${meanwhile}' >/dev/null\nsed -i s/make/mine/ "$1"`,
    );
    equal(conflict.code, 1, conflict.stderr);
    match(
      conflict.stderr,
      /^error: Nothing was applied: someone changed workflow\/build meanwhile; your text is kept: edit it again, or svc apply -f (\S+)\n$/,
    );
    deepEqual(await specOf(daemon, "workflow/build"), { steps: [{ id: "s1", run: "other" }] });
    const [, path = ""] = /apply -f (\S+)/.exec(conflict.stderr) ?? [];
    const applied = await daemon.svc(["apply", "-f", path]);
    equal(applied.stdout, "workflow/build configured\n");
    deepEqual(await specOf(daemon, "workflow/build"), { steps: [{ id: "s1", run: "mine" }] });

    const gone = await edit(
      daemon,
      dir,
      `${svc} delete --force --data-dir '${daemon.dataDir}' workflow/build >/dev/null 2>&1\nsed -i s/mine/x/ "$1"`,
    );
    match(gone.stderr, /someone deleted workflow\/build meanwhile/);
    equal((await daemon.svc(["get", "workflow", "build"])).code, 4);
  },
);
