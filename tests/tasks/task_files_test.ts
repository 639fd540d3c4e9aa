/**
 * The files of a running task: for their owner alone, new whatever was there, and gone with it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  notStrictEqual as notEqual,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { removeLeftFiles, TaskFiles } from "../../src/tasks/step/task_files.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const mode = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;
const names = (path: string) => [...Deno.readDirSync(path)].map(({ name }) => name);

Deno.test("TaskFiles are for their owner alone, and gone at the end with whatever else is there", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/task`;
  {
    await using files = await TaskFiles.open(path);
    const made = await files.make("payload.json", new TextEncoder().encode("{}"));
    deepEqual([await mode(path), await mode(made)], [0o700, 0o600]);
    equal(await Deno.readTextFile(made), "{}");
    await Deno.mkdir(`${path}/more/and/more`, { recursive: true });
  }
  deepEqual(names(dir.path), []);
});

Deno.test("TaskFiles.open starts with no file, even after a crash", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/task`;
  await Deno.mkdir(`${path}/old`, { recursive: true });
  await using _files = await TaskFiles.open(path);
  deepEqual(names(path), []);
});

Deno.test("TaskFiles.open where there is a file fails, and leaves it", async () => {
  await using dir = await tempDir();
  const path = await dir.write("task", "mine");
  await rejects(TaskFiles.open(path), Deno.errors.AlreadyExists);
  equal(await Deno.readTextFile(path), "mine");
});

Deno.test("TaskFiles.make writes a new file, never through a link that a step has put there", async () => {
  await using dir = await tempDir();
  const victim = await dir.write("victim", "untouched");
  await using files = await TaskFiles.open(`${dir.path}/task`);
  await Deno.symlink(victim, `${dir.path}/task/link`);
  await Deno.mkdir(`${dir.path}/task/folder/deep`, { recursive: true });
  for (const name of ["link", "folder"]) {
    equal(await Deno.readTextFile(await files.make(name, new TextEncoder().encode(name))), name);
  }
  equal(await Deno.readTextFile(victim), "untouched");
});

Deno.test("TaskFiles.makeEmpty gives another empty file each time, prepared or not", async () => {
  await using dir = await tempDir();
  await using files = await TaskFiles.open(`${dir.path}/task`);
  await files.prepareEmpty();
  const [one, two] = [await files.makeEmpty(), await files.makeEmpty()];
  notEqual(one, two);
  for (const path of [one, two]) equal((await Deno.stat(path)).size, 0);
});

Deno.test("removeLeftFiles empties a directory and leaves it", async () => {
  await using dir = await tempDir();
  await dir.write("file", "");
  await Deno.mkdir(`${dir.path}/task/deep`, { recursive: true });
  await removeLeftFiles(dir.path);
  deepEqual(names(dir.path), []);
});
