import { deepStrictEqual as deepEqual, rejects, throws } from "node:assert/strict";
import { concatBytes, utf8 } from "../../src/base/bytes.ts";
import { FLUSH, pktLine, readPktLines } from "../../src/git/pkt_line.ts";

/** The lines of a stream whose bytes come in pieces of a size; `null` stands for a flush. */
async function read(bytes: Uint8Array, piece: number, maxBytes = 200_000) {
  const pieces = Array.from(
    { length: Math.ceil(bytes.length / piece) },
    (_, n) => bytes.subarray(n * piece, (n + 1) * piece),
  );
  const lines = await Array.fromAsync(readPktLines(pieces, { maxBytes }));
  return lines.map((line) => line === undefined ? null : new TextDecoder().decode(line));
}

for (const piece of [1, 3, 4, 7, 1000, 100_000]) {
  Deno.test(`lines are read from pieces of ${piece} bytes`, async () => {
    const long = "x".repeat(65_516);
    const stream = concatBytes(pktLine("a\n"), FLUSH, pktLine(""), pktLine(long), FLUSH);
    deepEqual(await read(stream, piece), ["a\n", null, "", long, null]);
  });
}

for (const wrong of ["0001", "0002", "0003", "fff1", "ffff", "00g0", "-001", " 004", "0x04"]) {
  Deno.test(`a line cannot begin with "${wrong}"`, async () => {
    await rejects(read(utf8(wrong + "x".repeat(100)), 10), { message: /not git's protocol/ });
  });
}

Deno.test("a stream is bounded, and ends between two lines", async () => {
  await rejects(read(utf8("0006a"), 1), { message: /within a line/ });
  await rejects(read(utf8("00"), 1), { message: /within a line/ });
  await rejects(read(pktLine("abcdef"), 3, 8), { message: /more than 8 bytes/ });
  throws(() => pktLine("x".repeat(65_517)), RangeError);
});
