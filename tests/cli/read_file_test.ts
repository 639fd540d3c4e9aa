/**
 * Files of a command line: what never ends is not read to its end.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { type Io, terminal } from "../../src/cli/io.ts";
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
    message: '"/dev/zero" is longer than 64 MiB, more is not taken',
  });
});

Deno.test("readFile refuses standard input that never ends, and takes as much as the daemon does", async () => {
  await rejects(readFile("-", input(endless(1024 * 1024))), {
    code: "invalid",
    message: "Standard input is longer than 64 MiB, more is not taken",
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
