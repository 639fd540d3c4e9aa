/**
 * The files of running tasks and plugins: where they lie, for their owner alone, new whatever was there,
 * and gone with their run.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  notStrictEqual as notEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Log } from "../../src/base/log.ts";
import { RuntimeDirectory } from "../../src/base/runtime_directory.ts";
import { NOT_ROOT, skippable } from "../helpers/requirements.ts";
import { findMountObstacle, smallDisk } from "../helpers/small_disk.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const KIB = 1024;
const mode = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;
const names = (path: string) => [...Deno.readDirSync(path)].map(({ name }) => name);

/** A data directory with its `run/`, and what was logged. */
async function rig(env: Readonly<Record<string, string>> = {}) {
  const data = await tempDir();
  const run = `${data.path}/run`;
  await Deno.mkdir(run);
  const warnings: string[] = [];
  const log = {
    warn: (message: string, facts: object) =>
      void warnings.push(`${message} ${JSON.stringify(facts)}`),
  } as unknown as Log;
  const open = () =>
    RuntimeDirectory.open({ dir: { root: data.path, run }, env: (name) => env[name], log });
  const directory = await open();
  return {
    data,
    run,
    directory,
    open,
    warnings,
    async [Symbol.asyncDispose]() {
      await directory[Symbol.asyncDispose]();
      await data[Symbol.asyncDispose]();
    },
  };
}

/** The same beside a directory of the system. */
async function rigWithSystem() {
  const system = await tempDir();
  const it = await rig({ XDG_RUNTIME_DIR: system.path });
  return {
    ...it,
    system,
    async [Symbol.asyncDispose]() {
      await it[Symbol.asyncDispose]();
      await system[Symbol.asyncDispose]();
    },
  };
}

for (
  const [where, open] of [["the data directory", rig], ["the system's", rigWithSystem]] as const
) {
  Deno.test(`files in ${where} are for their owner alone, and gone at the end with whatever else is there`, async () => {
    await using it = await open();
    {
      await using files = it.directory.filesOf("task");
      const made = await files.make("payload.json", new TextEncoder().encode("{}"));
      const folder = `${it.directory.path}/task`;
      equal(made, `${folder}/payload.json`);
      deepEqual([await mode(folder), await mode(made)], [0o700, 0o600]);
      equal(await Deno.readTextFile(made), "{}");
      await Deno.mkdir(`${folder}/more/and/more`, { recursive: true });
    }
    deepEqual(names(it.directory.path), []);
    deepEqual(names(it.run), []);
    deepEqual(it.warnings, []);
  });

  Deno.test(`files in ${where} that a step has removed or replaced are no obstacle at the end`, async () => {
    await using it = await open();
    {
      await using files = it.directory.filesOf("task");
      const [one, two] = [await files.make("one"), await files.make("two")];
      await Deno.remove(one);
      await Deno.remove(two);
      await Deno.mkdir(`${two}/full`, { recursive: true });
    }
    deepEqual(names(it.directory.path), []);
  });

  Deno.test(`a run in ${where} starts with no file, even after a crash`, async () => {
    await using it = await open();
    const folder = `${it.directory.path}/task`;
    await Deno.mkdir(`${folder}/old`, { recursive: true });
    await using files = it.directory.filesOf("task");
    await Promise.all([files.make("new"), files.make("newer")]);
    deepEqual(names(folder).toSorted(), ["new", "newer"]);
  });

  Deno.test(`in ${where} a file is new, never written through a link that a step has put there`, async () => {
    await using it = await open();
    const victim = await it.data.write("victim", "untouched");
    await using files = it.directory.filesOf("task");
    await files.make("first");
    const folder = `${it.directory.path}/task`;
    await Deno.symlink(victim, `${folder}/link`);
    await Deno.mkdir(`${folder}/folder/deep`, { recursive: true });
    for (const name of ["link", "folder"]) {
      equal(await Deno.readTextFile(await files.make(name, new TextEncoder().encode(name))), name);
    }
    equal(await Deno.readTextFile(victim), "untouched");
  });

  Deno.test(`what a killed daemon has left in ${where} goes, and the directory stays`, async () => {
    await using it = await open();
    await Deno.writeTextFile(`${it.directory.path}/file`, "");
    await Deno.mkdir(`${it.directory.path}/task/deep`, { recursive: true });
    await Deno.mkdir(`${it.run}/plugin`, { recursive: true });
    await Deno.writeTextFile(`${it.run}/plugin/body`, "");
    const next = await it.open();
    equal(next.path, it.directory.path);
    await next.removeLeft();
    deepEqual(names(next.path), []);
    deepEqual(names(it.run), []);
  });
}

Deno.test("makeEmpty gives another empty file each time, prepared or not", async () => {
  await using it = await rig();
  await using files = it.directory.filesOf("task");
  await files.prepareEmpty();
  const [one, two] = [await files.makeEmpty(), await files.makeEmpty()];
  notEqual(one, two);
  for (const path of [one, two]) equal((await Deno.stat(path)).size, 0);
});

Deno.test("where a file has the name of a run's directory, no file is made, and that one stays", async () => {
  await using it = await rig();
  const path = await it.data.write("run/task", "mine");
  {
    await using files = it.directory.filesOf("task");
    await rejects(files.make("one"), Deno.errors.AlreadyExists);
  }
  equal(await Deno.readTextFile(path), "mine");
});

Deno.test("without a directory of the system, or with a relative one, files lie in the data directory", async () => {
  for (const env of [{}, { XDG_RUNTIME_DIR: "" }, { XDG_RUNTIME_DIR: "here" }]) {
    await using it = await rig(env);
    equal(it.directory.path, it.run);
    deepEqual(it.warnings, []);
  }
});

Deno.test("the directory that systemd made counts before the user's, and of several the first", async () => {
  await using one = await tempDir();
  await using two = await tempDir();
  const { path } = one;
  await using it = await rig({
    RUNTIME_DIRECTORY: `${path}:${two.path}`,
    XDG_RUNTIME_DIR: two.path,
  });
  match(it.directory.path, /\/svc-[0-9a-f]{16}$/);
  equal(it.directory.path.slice(0, path.length), path);
  equal(await mode(it.directory.path), 0o700);
  deepEqual(names(two.path), []);
  await it.directory[Symbol.asyncDispose]();
  deepEqual(names(path), []);
});

Deno.test("two data directories have two places in one directory of the system", async () => {
  await using system = await tempDir();
  const env = { XDG_RUNTIME_DIR: system.path };
  await using one = await rig(env);
  await using other = await rig(env);
  notEqual(one.directory.path, other.directory.path);
  await using files = one.directory.filesOf("task");
  const made = await files.make("payload.json");
  await other.directory.removeLeft();
  await other.directory[Symbol.asyncDispose]();
  ok((await Deno.stat(made)).isFile);
});

Deno.test("large files, directories to work in and what exceeds the sum lie in the data directory", async () => {
  await using it = await rigWithSystem();
  const where = (path: string) => path.startsWith(it.run) ? "own" : "system";
  {
    await using files = it.directory.filesOf("task");
    equal(where(await files.make("at-limit", new Uint8Array(256 * KIB))), "system");
    const large = await files.make("large", new Uint8Array(256 * KIB + 1));
    equal(where(large), "own");
    equal((await Deno.stat(large)).size, 256 * KIB + 1);
    equal(where(await files.makeDirectory("scratch")), "own");
    await using more = it.directory.filesOf("other");
    const places = [];
    for (let n = 0; n < 128; n++) {
      places.push(where(await more.make(`${n}`, new Uint8Array(256 * KIB))));
    }
    deepEqual(places, [...Array(127).fill("system"), "own"]);
    equal(where(await more.make("small")), "own");
  }
  deepEqual([names(it.directory.path), names(it.run)], [[], []]);
  await using files = it.directory.filesOf("later");
  equal(where(await files.make("first")), "system");
  deepEqual(it.warnings, []);
});

Deno.test("files lie in the data directory once the system's has gone, as at a logout", async () => {
  await using it = await rigWithSystem();
  await using files = it.directory.filesOf("task");
  await files.make("first");
  await Deno.remove(it.directory.path, { recursive: true });
  for (const run of [files, it.directory.filesOf("other")]) {
    const made = await run.make("second", new TextEncoder().encode("whole"));
    ok(made.startsWith(it.run));
    equal(await Deno.readTextFile(made), "whole");
    await run[Symbol.asyncDispose]();
  }
  deepEqual(names(it.run), []);
  await it.directory.removeLeft();
  equal(it.warnings.length, 1);
  match(it.warnings[0] ?? "", /lie in the data directory for now.*does not exist/);
});

/** What others may have put in the place of a private directory, and what is said of it. */
const ATTACKS: Readonly<Record<string, (path: string, parent: string) => Promise<void>>> = {
  "a link": async (path, parent) => {
    await Deno.mkdir(`${parent}/target`, { mode: 0o700 });
    await Deno.symlink(`${parent}/target`, path);
  },
  "a file": (path) => Deno.writeTextFile(path, ""),
  "a directory open to others": async (path) => {
    await Deno.mkdir(path);
    await Deno.chmod(path, 0o755);
  },
};

for (const [what, attack] of Object.entries(ATTACKS)) {
  Deno.test(`${what} in the place of the private directory is not used`, async () => {
    await using it = await rigWithSystem();
    const { path } = it.directory;
    await Deno.remove(path);
    await attack(path, it.system.path);
    const next = await it.open();
    equal(next.path, it.run);
    match(it.warnings.join(), /no private directory of this user: remove it/);
    await next.removeLeft();
    await next[Symbol.asyncDispose]();
    ok(await Deno.lstat(path));
    await Deno.remove(path);
  });
}

Deno.test("a directory of the system in which others may rename is not used, a shared one with a sticky bit is", async () => {
  await using system = await tempDir();
  const env = { XDG_RUNTIME_DIR: system.path };
  await Deno.chmod(system.path, 0o777);
  {
    await using it = await rig(env);
    equal(it.directory.path, it.run);
    match(it.warnings.join(), /can be written by others/);
  }
  await Deno.chmod(system.path, 0o1777);
  await using it = await rig(env);
  notEqual(it.directory.path, it.run);
  deepEqual(it.warnings, []);
});

Deno.test({
  ...skippable("what belongs to another user is not used", NOT_ROOT),
  async fn() {
    await using it = await rigWithSystem();
    await Deno.chown(it.directory.path, 65534, 65534);
    equal((await it.open()).path, it.run);
    match(it.warnings.at(-1) ?? "", /no private directory of this user/);
    await Deno.remove(it.directory.path);
    await Deno.chown(it.system.path, 65534, 65534);
    equal((await it.open()).path, it.run);
    match(it.warnings.at(-1) ?? "", /belongs to user 65534/);
    deepEqual(names(it.system.path), []);
  },
});

Deno.test("a directory of the system that does not exist is a warning", async () => {
  await using it = await rig({ XDG_RUNTIME_DIR: "/nonexistent/runtime" });
  equal(it.directory.path, it.run);
  match(it.warnings.join(), /\/nonexistent\/runtime.* cannot be used: it does not exist/);
});

Deno.test({
  ...skippable(
    "a full file system is left alone, and a file for which it has no room is whole elsewhere",
    await findMountObstacle(),
  ),
  async fn() {
    await using disk = await smallDisk("256k");
    await using it = await rig({ XDG_RUNTIME_DIR: disk.path });
    const content = new TextEncoder().encode("x".repeat(200 * KIB));
    {
      await using files = it.directory.filesOf("task");
      ok((await files.make("small")).startsWith(it.directory.path));
      ok((await files.make("first", content.slice(0, 100 * KIB))).startsWith(it.directory.path));
      const large = await files.make("second", content);
      ok(large.startsWith(it.run));
      deepEqual(await Deno.readFile(large), content);
      match(it.warnings.join(), /lie in the data directory for now.*No space left/);
    }
    deepEqual([names(it.directory.path), names(it.run)], [[], []]);
    const ballast = await disk.fill();
    await using files = it.directory.filesOf("other");
    ok((await files.make("small")).startsWith(it.run));
    await Deno.remove(ballast);
    await using last = it.directory.filesOf("last");
    ok((await last.make("small")).startsWith(it.directory.path));
    equal(it.warnings.length, 1);
  },
});
