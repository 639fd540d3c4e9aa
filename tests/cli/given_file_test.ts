/**
 * The file that is read for a caller: its own, as it was given, and nothing else.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { readGivenFile } from "../../src/cli/attempt.ts";
import { run } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const CONTENT = new TextEncoder().encode("the body");

Deno.test("the file of the run is read, also when it is empty", async () => {
  await using temp = await tempDir();
  const path = await temp.write("body", CONTENT);
  deepEqual(readGivenFile(path, { path, content: CONTENT }), CONTENT);
  const empty = await temp.write("empty", "");
  const nothing = new Uint8Array();
  deepEqual(readGivenFile(empty, { path: empty, content: nothing }), nothing);
});

Deno.test("no other file is read, whatever the caller has made of its own", async () => {
  await using temp = await tempDir();
  const path = `${temp.path}/body`;
  const own = { path, content: CONTENT };
  const other = await temp.write("other", CONTENT);
  equal(readGivenFile(other, own), undefined, "another path");
  equal(readGivenFile(`${temp.path}/./body`, own), undefined, "another way to write it");
  equal(readGivenFile(path, undefined), undefined, "a run without a file");
  equal(readGivenFile(path, own), undefined, "a file that is not there");
  await Deno.symlink(other, path);
  equal(readGivenFile(path, own), undefined, "a link");
  await Deno.remove(path);
  await run("mkfifo", [path]);
  equal(readGivenFile(path, own), undefined, "a pipe, for which nobody waits");
  await Deno.remove(path);
  await Deno.mkdir(path);
  equal(readGivenFile(path, own), undefined, "a directory");
  await Deno.remove(path);
  await temp.write("body", "the bodY");
  equal(readGivenFile(path, own), undefined, "other content of the same length");
  await temp.write("body", "the body and more");
  equal(readGivenFile(path, own), undefined, "more content");
  const large = new Uint8Array(300 * 1024);
  await temp.write("body", large);
  equal(readGivenFile(path, { path, content: large }), undefined, "much content");
});
