/**
 * The change that a step hands over: what its pack holds, what it leaves alone, and what it refuses.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { CHANGE_LIMITS, type CheckedChange } from "../../src/git/change.ts";
import { type ChangeWanted, packChange, type WholeChange } from "../../src/git/pack_change.ts";
import { openPackedChange } from "../../src/git/packed_change.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { git } from "../rigs/git_repository.ts";

const PATH = Deno.env.get("PATH") ?? "";
const ALL = { all: true } as const;
const COMMITTED = { commit: "HEAD" } as const;

/** A repository with one commit, from which changes begin. */
async function repositoryRig() {
  await using opening = new AsyncDisposableStack();
  const dir = opening.use(await tempDir());
  const top = `${dir.path}/repo`;
  await Deno.mkdir(`${top}/src/deep`, { recursive: true });
  await git(top, "init", "--quiet", "--initial-branch=main");
  await Deno.writeTextFile(`${top}/.gitignore`, "ignored\n*.log\n");
  await Deno.writeTextFile(`${top}/src/deep/a`, "a\n");
  await Deno.writeTextFile(`${top}/src/b`, "b\n");
  await Deno.writeTextFile(`${top}/c`, "c\n");
  await git(top, "add", ".");
  await git(top, "commit", "--quiet", "-m", "one");
  const start = await git(top, "rev-parse", "HEAD");
  const open = opening.move();
  const signal = new AbortController().signal;
  const pack = (of: ChangeWanted["of"] = ALL, from: string | undefined = start, directory = top) =>
    packChange({ start: from, of }, {
      directory,
      env: { PATH, HOME: dir.path, SVC_RUN_TOKEN: "run-secret", SVC_TOKEN: "secret" },
      signal,
      clock: systemClock,
    });
  return {
    dir: dir.path,
    top,
    start,
    pack,
    write: (name: string, text: string) => Deno.writeTextFile(`${top}/${name}`, text),
    /** What the daemon finds in a change. */
    async read<Found>({ start, tree, pack }: WholeChange, look: (change: CheckedChange) => Found) {
      const file = `${dir.path}/given.pack`;
      await Deno.writeFile(file, pack);
      const host = { dir: dir.path, path: PATH, signal, clock: systemClock };
      await using change = await openPackedChange({ pack: file, start, tree }, host);
      return look(change);
    },
    /** The paths in a change, each with what happened to it. */
    open(change: WholeChange): Promise<readonly string[]> {
      return this.read(
        change,
        ({ files }) =>
          files.map(({ change, path, newMode }) => `${change} ${path} ${newMode}`.trim()),
      );
    },
    /** The names of the objects in a pack. */
    async objects({ pack }: WholeChange) {
      const bare = `${dir.path}/bare`;
      await git(dir.path, "init", "--quiet", "--bare", "bare");
      await Deno.writeFile(`${dir.path}/given.pack`, pack);
      const process = new Deno.Command("sh", {
        args: [
          "-c",
          "git -C bare unpack-objects -q <given.pack && git -C bare cat-file --batch-all-objects --batch-check",
        ],
        cwd: dir.path,
      });
      const { stdout } = await process.output();
      await Deno.remove(bare, { recursive: true });
      return new TextDecoder().decode(stdout).trim().split("\n").map((line) => line.split(" ")[0]);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

type Rig = Awaited<ReturnType<typeof repositoryRig>>;

function test(name: string, body: (rig: Rig) => Promise<void>): void {
  Deno.test({
    ...skippable(name, missing("git")),
    async fn() {
      await using rig = await repositoryRig();
      await body(rig);
    },
  });
}

/** Everything in a directory of git that a reader must not change. */
async function stateOf(top: string): Promise<readonly string[]> {
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", "find .git -type f | sort | xargs sha256sum"],
    cwd: top,
  }).output();
  return new TextDecoder().decode(stdout).split("\n");
}

test("all files go: changed, new, deleted, executable, renamed; nothing ignored, no empty directory", async (rig) => {
  await rig.write("src/deep/a", "changed\n");
  await rig.write("src/new ünïcode\n", "new\n");
  await rig.write("ignored", "no\n");
  await rig.write("x.log", "no\n");
  await Deno.mkdir(`${rig.top}/empty`);
  await Deno.remove(`${rig.top}/src/b`);
  await Deno.rename(`${rig.top}/c`, `${rig.top}/d`);
  await rig.write("run", "#!/bin/sh\n");
  await Deno.chmod(`${rig.top}/run`, 0o755);
  await Deno.symlink("d", `${rig.top}/link`);
  const before = await stateOf(rig.top);
  const change = await rig.pack();
  await Deno.remove(`${rig.top}/src/new ünïcode\n`); // svc takes no such name
  deepEqual(await stateOf(rig.top), before, "index, objects and refs are as they were");
  const objects = await rig.objects(change);
  ok(objects.includes(change.tree) && objects.includes(rig.start));
  deepEqual(await rig.open(await rig.pack()), [
    "deleted c",
    "added d 100644",
    "added link 120000",
    "added run 100755",
    "deleted src/b",
    "modified src/deep/a 100644",
  ]);
});

test("the pack holds what differs and nothing else of the repository", async (rig) => {
  await rig.write("src/deep/a", "changed\n");
  const found = await rig.objects(await rig.pack());
  equal(found.length, 9, "a commit, two roots, two src, two deep, two a");
  const other = await git(rig.top, "rev-parse", "HEAD:src/b");
  equal(found.includes(other), false);
});

test("the pack tells the daemon where the links at the top and below dots lead", async (rig) => {
  const { top } = rig;
  await Deno.mkdir(`${top}/.config/deep`, { recursive: true });
  const links = {
    ".vscode": "./a/../src",
    ".idea": "a/deep/",
    "a": "src",
    ".config/deep/x": "../../src/b",
    ".config/y": "../.idea/z",
    ".out": "../elsewhere",
    ".etc": "/etc",
    ".ring": "ring",
    "ring": ".ring",
    ".all": ".",
  };
  for (const [name, target] of Object.entries(links)) await Deno.symlink(target, `${top}/${name}`);
  await git(top, "add", ".");
  await git(top, "commit", "--quiet", "-m", "links");
  const from = await git(top, "rev-parse", "HEAD");
  await rig.write("src/b", "changed\n");
  const change = await rig.pack(ALL, from);
  const found = await rig.read(change, ({ links }) => links);
  deepEqual(Object.fromEntries(found.map(({ path, target }) => [path, target])), {
    ".all": "",
    ".config/deep/x": "src/b",
    ".config/y": "src/deep/z",
    ".idea": "src/deep",
    ".vscode": "src",
    "a": "src",
  });
  const link = await git(top, "rev-parse", "HEAD:.vscode");
  const without = (await rig.objects(change)).filter((id) => id !== link);
  const child = new Deno.Command("git", {
    args: ["-C", top, "-c", "core.hooksPath=/dev/null", "pack-objects", "--quiet", "--stdout"],
    stdin: "piped",
    stdout: "piped",
    env: { GIT_OBJECT_DIRECTORY: `${top}/.git/objects` },
  }).spawn();
  const changed = await git(top, "hash-object", "-w", "src/b");
  ok(without.includes(changed));
  await git(top, "add", ".");
  equal(await git(top, "write-tree"), change.tree);
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(without.map((id) => `${id}\n`).join("")));
  await writer.close();
  const pack = new Uint8Array((await child.output()).stdout);
  await rejects(rig.read({ ...change, pack }, () => {}), {
    code: "refused",
    message: new RegExp(`lacks the object ${link}, a blob`),
  });
});

test("what is staged or committed counts as the files are; without --all only what is committed", async (rig) => {
  await rig.write("src/b", "committed\n");
  await git(rig.top, "commit", "--quiet", "-am", "two");
  await rig.write("c", "staged\n");
  await git(rig.top, "add", "c");
  await rig.write("new", "neither\n");
  deepEqual(await rig.open(await rig.pack()), [
    "modified c 100644",
    "added new 100644",
    "modified src/b 100644",
  ]);
  deepEqual(await rig.open(await rig.pack(COMMITTED)), ["modified src/b 100644"]);
  deepEqual(await rig.open(await rig.pack({ commit: "main" })), ["modified src/b 100644"]);
  deepEqual(
    await rig.open(await rig.pack(ALL, rig.start, `${rig.top}/src`)).then((all) => all.length),
    3,
  );
});

test("a file that changes in the moment of the index is not missed, and a lost index is made anew", async (rig) => {
  for (let time = 0; time < 20; time++) {
    await rig.write("c", `${time}`.padStart(2));
    await git(rig.top, "add", "c");
    await rig.write("c", `${time + 50}`); // as long, within the same tick
    const change = await rig.pack();
    const blob = await git(rig.top, "hash-object", "c");
    ok((await rig.objects(change)).includes(blob), `time ${time}`);
  }
  await Deno.remove(`${rig.top}/.git/index`);
  deepEqual(await rig.open(await rig.pack()), ["modified c 100644"]);
});

test("filters of the repository count, and no program of it gets a token", async (rig) => {
  await rig.write(".gitattributes", "*.up filter=up\n");
  const script = `tee >(cat >/dev/null) | tr a-z A-Z; env >"${rig.dir}/env"`;
  await git(rig.top, "config", "filter.up.clean", `bash -c '${script}'`);
  await rig.write("x.up", "shout\n");
  const change = await rig.pack();
  await rig.write("expected", "SHOUT\n");
  ok((await rig.objects(change)).includes(await git(rig.top, "hash-object", "expected")));
  equal(/secret/.test(await Deno.readTextFile(`${rig.dir}/env`)), false);
});

test("what cannot be handed over is refused, with what to do", async (rig) => {
  const refused = (of: ChangeWanted["of"], message: RegExp, from?: string, directory?: string) =>
    rejects(rig.pack(of, from ?? rig.start, directory), { code: "refused", message });
  await refused(ALL, /^Nothing has changed$/);
  await refused(COMMITTED, /^Nothing has changed$/);
  await rig.write("new", "x");
  await refused(COMMITTED, /^Nothing is committed .*--all, which takes 1 file$/);
  await rig.write("c", "x");
  await refused(COMMITTED, /--all, which takes 2 files$/);
  await refused({ commit: "main" }, /^The commit "main" has changed nothing$/);
  await refused({ commit: "nowhere" }, /^There is no commit "nowhere" here$/);
  await refused({ commit: "--all\nHEAD" }, /^There is no commit/);
  await refused(ALL, /^The commit 1{40} is not in this repository/, "1".repeat(40));
  await refused(ALL, /is in no git repository/, undefined, rig.dir);
  await refused(ALL, /is in no git repository/, undefined, `${rig.top}/.git`);
  await rejects(packWithout(rig), { code: "refused", message: /--onto/ });
  await git(rig.dir, "init", "--quiet", "--object-format=sha256", "other");
  await refused(ALL, /SHA-256/, undefined, `${rig.dir}/other`);
  await git(rig.top, "commit", "--quiet", "-am", "two");
  await git(rig.dir, "clone", "--quiet", "--depth=1", `file://${rig.top}`, "shallow");
  await refused(ALL, /shallow clone.*--unshallow/, undefined, `${rig.dir}/shallow`);
  await Deno.remove(
    `${rig.top}/.git/objects/${
      (await git(rig.top, "rev-parse", `${rig.start}:c`)).replace(/^../, "$&/")
    }`,
  );
  await refused(ALL, /an object is missing/);
});

const packWithout = (rig: Rig) =>
  packChange({ start: undefined, of: ALL }, {
    directory: rig.top,
    env: { PATH, HOME: rig.dir },
    signal: new AbortController().signal,
    clock: systemClock,
  });

test("a change that is too large is refused before it is sent", async (rig) => {
  const noise = new Uint8Array(CHANGE_LIMITS.packBytes + 1);
  for (let at = 0; at < noise.length; at += 65_536) {
    crypto.getRandomValues(noise.subarray(at, at + 65_536));
  }
  await Deno.writeFile(`${rig.top}/large`, noise);
  await rejects(rig.pack(), { code: "too_large" });
  await Deno.remove(`${rig.top}/large`);
  for (let n = 0; n <= CHANGE_LIMITS.files; n++) Deno.writeTextFileSync(`${rig.top}/src/${n}`, "x");
  await rejects(rig.pack(), { code: "too_large", message: /10001 files/ });
});

test("nothing that the repository names is run: no hook, no monitor, no transport", async (rig) => {
  const mark = `${rig.dir}/ran`;
  const program = `${rig.dir}/program`;
  await Deno.writeTextFile(program, `#!/bin/sh\necho "$0 $*" >>${mark}\n`, { mode: 0o755 });
  const names = ["post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman"];
  for (const name of names) {
    await Deno.writeTextFile(
      `${rig.top}/.git/hooks/${name}`,
      `#!/bin/sh\necho ${name} >>${mark}\n`,
      {
        mode: 0o755,
      },
    );
  }
  await git(rig.top, "config", "core.fsmonitor", program);
  await git(rig.top, "config", "core.pager", program);
  await git(rig.top, "config", "core.sshCommand", program);
  await git(rig.top, "config", "remote.origin.url", `ext::${program}`);
  await git(rig.top, "config", "remote.origin.promisor", "true");
  await git(rig.top, "config", "extensions.partialClone", "origin");
  await Deno.remove(mark).catch(() => {});
  await rig.write("c", "changed\n");
  deepEqual(await rig.open(await rig.pack()), ["modified c 100644"]);
  await rejects(rig.pack(ALL, "1".repeat(40)), { code: "refused" });
  await rejects(Deno.stat(mark), Deno.errors.NotFound);
});
