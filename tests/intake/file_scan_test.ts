/**
 * Looking at files: which of them globs pick, what stays out of sight, and what two looks tell.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  notStrictEqual as notEqual,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { FileGlobs } from "../../src/intake/files/file_globs.ts";
import { compareScans, type FileScan, scanFiles } from "../../src/intake/files/file_scan.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** A directory with these files; a text that starts with `-> ` is a link. */
async function treeOf(files: Readonly<Record<string, string>>) {
  const dir = await tempDir();
  const path = await Deno.realPath(dir.path);
  const root = `${path}/workspace`;
  await Deno.mkdir(root);
  for (const [name, text] of Object.entries(files)) {
    const file = `${root}/${name}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    if (text.startsWith("-> ")) await Deno.symlink(text.slice(3), file);
    else await Deno.writeTextFile(file, text);
  }
  return { path, root, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

const signal = new AbortController().signal;

async function look(root: string, paths: string[], ignore: string[] = []): Promise<FileScan> {
  const scan = await scanFiles(root, new FileGlobs({ paths, ignore }), { signal, most: 1000 });
  return scan ?? { files: new Map(), directories: new Map(), unreadable: [], outside: ["all"] };
}

const filesOf = async (...args: Parameters<typeof look>) =>
  [...(await look(...args)).files.keys()].toSorted();

Deno.test("scanFiles gives the files that globs match, and no directories", async () => {
  await using tree = await treeOf({
    "a.csv": "",
    "inbox/b.csv": "",
    "inbox/c.txt": "",
    "inbox/deep/d.csv": "",
    "inbox/dir.csv/e.csv": "",
    "inbox/.hidden.csv": "",
    "other/f.csv": "",
  });
  deepEqual(await filesOf(tree.root, ["inbox/*.csv"]), ["inbox/b.csv"]);
  deepEqual(await filesOf(tree.root, ["inbox/**/*.csv"]), [
    "inbox/b.csv",
    "inbox/deep/d.csv",
    "inbox/dir.csv/e.csv",
  ]);
  deepEqual(await filesOf(tree.root, ["*.csv", "other/f.csv"]), ["a.csv", "other/f.csv"]);
  deepEqual(await filesOf(tree.root, ["inbox/.*"]), ["inbox/.hidden.csv"]);
});

Deno.test("scanFiles looks only where something can match", async () => {
  await using tree = await treeOf({ "in/a/x.csv": "", "in/b/c/y.csv": "", "out/d/z.csv": "" });
  const { directories } = await look(tree.root, ["in/*/*.csv"]);
  deepEqual([...directories.keys()].toSorted(), ["in", "in/a", "in/b"]);
});

Deno.test("scanFiles waits above a directory that is not there yet", async () => {
  await using tree = await treeOf({ "in/x": "" });
  const scan = await look(tree.root, ["in/new/deep/*.csv", "none/*.csv"]);
  deepEqual([...scan.directories.keys()], ["in", ""]);
  equal(scan.files.size, 0);
});

Deno.test("scanFiles skips ignored files, and .git unless it is named", async () => {
  await using tree = await treeOf({
    "a.txt": "",
    ".git/HEAD": "",
    "lib/.git/HEAD": "",
    "node_modules/x/b.txt": "",
    "lib/node_modules/c.txt": "",
    "lib/d.tmp": "",
    "lib/.e.tmp": "",
    "build/out/f.txt": "",
  });
  const everything = ["**", "**/.*", "**/.*/**"];
  const ignore = ["node_modules/", "*.tmp", "build/out"];
  deepEqual(await filesOf(tree.root, everything, ignore), ["a.txt"]);
  deepEqual((await filesOf(tree.root, everything)).filter((path) => path.includes(".git")), []);
  deepEqual(await filesOf(tree.root, [".git/HEAD"]), [".git/HEAD"]);
});

Deno.test("scanFiles never leaves the workspace, whatever links there are", async () => {
  await using tree = await treeOf({
    "in/real.csv": "1",
    "in/same.csv": "-> real.csv",
    "in/inside.csv": "-> ../data/other.csv",
    "data/other.csv": "2",
    "in/outside.csv": "-> ../../outside/secret.csv",
    "in/dangling.csv": "-> nowhere",
    "in/loop.csv": "-> loop.csv",
    "in/up": "-> ..",
    "away": "-> ../outside",
    "near": "-> in",
  });
  await Deno.mkdir(`${tree.path}/outside`);
  await Deno.writeTextFile(`${tree.path}/outside/secret.csv`, "3");
  deepEqual(await filesOf(tree.root, ["in/**/*.csv"]), [
    "in/inside.csv",
    "in/real.csv",
    "in/same.csv",
  ]);
  const away = await look(tree.root, ["away/*.csv"]);
  deepEqual([away.files.size, away.directories.size, away.outside], [0, 0, ["away"]]);
  deepEqual(await filesOf(tree.root, ["near/real.csv"]), ["near/real.csv"]);
});

Deno.test("scanFiles gives up on more than it may look at", async () => {
  await using tree = await treeOf(
    Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i}`, ""])),
  );
  const globs = new FileGlobs({ paths: ["*"] });
  equal(await scanFiles(tree.root, globs, { signal, most: 11 }), undefined);
  equal((await scanFiles(tree.root, globs, { signal, most: 12 }))?.files.size, 12);
  equal(await scanFiles(tree.root, globs, { signal: AbortSignal.abort(), most: 12 }), undefined);
});

Deno.test("scanFiles says that the workspace is gone", async () => {
  await rejects(look("/nonexistent/workspace", ["*"]), Deno.errors.NotFound);
});

Deno.test("compareScans tells what was created, modified and deleted, by path", async () => {
  await using tree = await treeOf({ "b": "1", "c": "1", "d": "1", "e": "1" });
  const before = (await look(tree.root, ["*"])).files;
  await Deno.writeTextFile(`${tree.root}/a`, "");
  await Deno.writeTextFile(`${tree.root}/b`, "22");
  await Deno.remove(`${tree.root}/c`);
  await Deno.rename(`${tree.root}/d`, `${tree.root}/f`);
  // Replaced as editors do it, its size and even its time the same.
  const { mtime } = await Deno.stat(`${tree.root}/e`);
  await Deno.writeTextFile(`${tree.root}/e.new`, "2");
  await Deno.utime(`${tree.root}/e.new`, mtime ?? 0, mtime ?? 0);
  await Deno.rename(`${tree.root}/e.new`, `${tree.root}/e`);
  const { changes, files } = compareScans(before, await look(tree.root, ["*"]));
  deepEqual(changes.map(({ event, path }) => `${event} ${path}`), [
    "create a",
    "modify b",
    "delete c",
    "delete d",
    "modify e",
    "create f",
  ]);
  deepEqual([...files.keys()].toSorted(), ["a", "b", "e", "f"]);
  notEqual(before.get("b"), files.get("b"));
});

Deno.test("compareScans takes an unreadable file for unchanged", () => {
  const before = new Map([["in/a", "1"], ["in/deep/b", "1"], ["inn/c", "1"]]);
  const now = { files: new Map(), directories: new Map(), outside: [], unreadable: ["in"] };
  const { changes, files } = compareScans(before, now);
  deepEqual(changes.map(({ event, path }) => `${event} ${path}`), ["delete inn/c"]);
  deepEqual([...files.keys()], ["in/a", "in/deep/b"]);
});
