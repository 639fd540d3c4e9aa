/**
 * Files of a command line: what never ends is not read to its end.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, throws } from "node:assert/strict";
import type { ManifestFile } from "../../src/api/resource_operations.ts";
import type { AppError } from "../../src/base/errors.ts";
import { type Io, terminal } from "../../src/cli/io.ts";
import { targetsOf } from "../../src/cli/delete_targets.ts";
import { readManifestFiles } from "../../src/cli/manifest_files.ts";
import { readFile } from "../../src/cli/read_file.ts";

const LIMIT = 64 * 1024 * 1024;

/** A terminal on whose standard input `chunks` come. */
function input(chunks: Iterable<Uint8Array>) {
  const stream = ReadableStream.from(chunks) as ReadableStream<Uint8Array>;
  return { stdin: () => stream, openFile: terminal().openFile } as Io;
}

function* endless(size: number): Generator<Uint8Array> {
  for (;;) yield new Uint8Array(size);
}

Deno.test("readFile refuses a file that never ends", async () => {
  await rejects(readFile("/dev/zero", input([])), {
    code: "invalid",
    message: '"/dev/zero" is longer than 64 MiB, the most that svc reads',
  });
});

Deno.test("readFile refuses standard input that never ends, and takes as much as the daemon does", async () => {
  await rejects(readFile("-", input(endless(1024 * 1024))), {
    code: "invalid",
    message: "Standard input is longer than 64 MiB, the most that svc reads",
  });
  deepEqual((await readFile("-", input([new Uint8Array(LIMIT)]))).length, LIMIT);
  const parts = ["ab", "", "c"].map((text) => new TextEncoder().encode(text));
  deepEqual(new TextDecoder().decode(await readFile("-", input(parts))), "abc");
});

Deno.test("readFile reads a file to its end, and says what it cannot read", async () => {
  const path = new URL("../../deno.json", import.meta.url).pathname;
  deepEqual(await readFile(path, input([])), Deno.readFileSync(path));
  await rejects(readFile("/nowhere/file", input([])), { code: "invalid" });
  await rejects(readFile("/", input([])), { code: "invalid" });
});

Deno.test("a fault in manifests on standard input is at a place of <stdin>", async () => {
  const given = (bytes: Uint8Array) => readManifestFiles(["-"], input([bytes]));
  const [file] = await given(new TextEncoder().encode("kind: Trigger\nspec: [\n"));
  deepEqual(file?.name, "<stdin>");
  throws(() => targetsOf([file as ManifestFile]), (error: AppError) => {
    deepEqual(error.details, [
      "<stdin>:2:7: This [ is never closed: add the ]\n    spec: [\n          ^",
    ]);
    return true;
  });
  await rejects(given(new Uint8Array([0xff])), { message: '"<stdin>" is not UTF-8 text' });
});
