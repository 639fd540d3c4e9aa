import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import {
  createDurably,
  makeDirectoryDurably,
  syncDirectory,
  writeDurably,
} from "../../src/base/durable_files.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const namesIn = (path: string) => [...Deno.readDirSync(path)].map(({ name }) => name).toSorted();

Deno.test("writeDurably replaces a file, keeps its mode private, and leaves nothing beside it", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/file`;
  await Deno.writeTextFile(`${path}.part`, "of one that was killed");
  await writeDurably(path, "one");
  await writeDurably(path, "two");
  equal(await Deno.readTextFile(path), "two");
  equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  deepEqual(namesIn(dir.path), ["file"]);
});

for (
  const { name, make } of [
    { name: "a file", make: (path: string) => Deno.writeTextFile(path, "there") },
    { name: "an empty file", make: (path: string) => Deno.writeTextFile(path, "") },
    { name: "a link that leads nowhere", make: (path: string) => Deno.symlink("/nowhere/x", path) },
  ]
) {
  Deno.test(`createDurably leaves ${name} as it is`, async () => {
    await using dir = await tempDir();
    const path = `${dir.path}/file`;
    await make(path);
    await Deno.writeTextFile(`${path}.part`, "of one that was killed");
    const before = await Deno.lstat(path);
    equal(await createDurably(path, "new"), false);
    deepEqual((await Deno.lstat(path)).ino, before.ino);
    deepEqual(namesIn(dir.path), ["file"]);
  });
}

Deno.test("of several writers that make a file at once, one succeeds, and its content stays", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/file`;
  equal(await createDurably(path, "first"), true);
  const made = await Promise.all(["a", "b", "c"].map((text) => createDurably(path, text)));
  deepEqual(made, [false, false, false]);
  equal(await Deno.readTextFile(path), "first");
});

Deno.test("makeDirectoryDurably makes what is missing above, and once", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/a/b/c`;
  equal(await makeDirectoryDurably(path), true);
  equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o700);
  equal(await makeDirectoryDurably(path), false);
});

Deno.test("syncDirectory takes a file system that syncs no directories", async () => {
  await syncDirectory("/proc/self"); // EINVAL
});
