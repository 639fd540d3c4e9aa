/**
 * Heads of messages: whatever could be read in two ways is refused.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal, throws } from "node:assert/strict";
import { latin1Bytes } from "../../src/base/bytes.ts";
import { ByteReader } from "../../src/egress/byte_reader.ts";
import { piecesOf } from "../../src/egress/body.ts";
import {
  answerFraming,
  type Framing,
  HeadFault,
  keepsOpen,
  parseAnswerHead,
  parseRequestHead,
  requestFraming,
} from "../../src/egress/head.ts";

/** A reader of these bytes, which come in pieces of this size. */
function readerOf(text: string, size = 1 << 20): ByteReader {
  const bytes = latin1Bytes(text);
  let at = 0;
  return new ByteReader({
    read(into) {
      if (at >= bytes.length) return Promise.resolve(null);
      const count = Math.min(into.length, size, bytes.length - at);
      into.set(bytes.subarray(at, at + count));
      at += count;
      return Promise.resolve(count);
    },
  });
}

/** Whether a text is one whole head of a request whose body can be told. */
async function isRequest(text: string, size?: number): Promise<boolean> {
  try {
    const bytes = await readerOf(text, size).head();
    if (bytes === undefined) return false;
    requestFraming(parseRequestHead(bytes));
    return true;
  } catch (error) {
    if (error instanceof HeadFault) return false;
    throw error;
  }
}

const START = "POST /x HTTP/1.1\r\nHost: a\r\n";

const GOOD: readonly string[] = [
  "GET / HTTP/1.1\r\n\r\n",
  "GET / HTTP/1.0\r\n\r\n",
  `${START}Content-Length: 5\r\n\r\n`,
  `${START}Content-Length:5\r\n\r\n`,
  `${START}Content-Length: \t5 \t\r\n\r\n`,
  `${START}Transfer-Encoding: chunked\r\n\r\n`,
  `${START}Transfer-Encoding: CHUNKED\r\n\r\n`,
  `${START}X-Bytes: \x80\xff\r\n\r\n`,
  `${START}X-Empty:\r\n\r\n`,
  `${START}X-Long: ${"a".repeat(60_000)}\r\n\r\n`,
];

const BAD: Readonly<Record<string, string>> = {
  "length and chunks": `${START}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
  "chunks and length": `${START}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n`,
  "two lengths": `${START}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`,
  "the same length twice": `${START}Content-Length: 5\r\nContent-Length: 5\r\n\r\n`,
  "a list of lengths": `${START}Content-Length: 5, 5\r\n\r\n`,
  "a signed length": `${START}Content-Length: +5\r\n\r\n`,
  "a negative length": `${START}Content-Length: -5\r\n\r\n`,
  "a hexadecimal length": `${START}Content-Length: 0x5\r\n\r\n`,
  "a length with an underscore": `${START}Content-Length: 1_0\r\n\r\n`,
  "an empty length": `${START}Content-Length: \r\n\r\n`,
  "a huge length": `${START}Content-Length: 99999999999999999999\r\n\r\n`,
  "a length in other digits": `${START}Content-Length: \xb2\r\n\r\n`,
  "two codings": `${START}Transfer-Encoding: gzip, chunked\r\n\r\n`,
  "chunks twice": `${START}Transfer-Encoding: chunked, chunked\r\n\r\n`,
  "chunks in two headers":
    `${START}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n`,
  "an unknown coding": `${START}Transfer-Encoding: xchunked\r\n\r\n`,
  "identity": `${START}Transfer-Encoding: identity\r\n\r\n`,
  "chunks with a control": `${START}Transfer-Encoding: \x0bchunked\r\n\r\n`,
  "chunks in quotes": `${START}Transfer-Encoding: "chunked"\r\n\r\n`,
  "chunks with HTTP/1.0": "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
  "a folded header": `${START}X: a\r\n b\r\n\r\n`,
  "a folded coding": `${START}Transfer-Encoding:\r\n chunked\r\n\r\n`,
  "a folded first header": "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
  "a blank before the colon": `${START}Transfer-Encoding : chunked\r\n\r\n`,
  "a tab before the colon": `${START}Transfer-Encoding\t: chunked\r\n\r\n`,
  "no colon": `${START}Transfer-Encoding chunked\r\n\r\n`,
  "no name": `${START}: chunked\r\n\r\n`,
  "a bare LF": `${START}X: a\nTransfer-Encoding: chunked\r\n\r\n`,
  "LF alone everywhere": "GET / HTTP/1.1\nHost: a\n\n",
  "an empty line of LF alone": `${START}X: a\r\n\nGET /y HTTP/1.1\r\n\r\n`,
  "a bare CR": `${START}X: a\rTransfer-Encoding: chunked\r\n\r\n`,
  "CR CR LF": `${START}X: a\r\r\n\r\n`,
  "a NUL": `${START}X: a\0b\r\n\r\n`,
  "a NUL in a name": `${START}X\0: a\r\n\r\n`,
  "a delete": `${START}X: a\x7f\r\n\r\n`,
  "an escape": `${START}X: \x1b[31m\r\n\r\n`,
  "a name of bytes": `${START}X\xff: a\r\n\r\n`,
  "an empty line first": "\r\nGET / HTTP/1.1\r\n\r\n",
  "a blank first": " GET / HTTP/1.1\r\n\r\n",
  "two blanks": "GET  / HTTP/1.1\r\n\r\n",
  "a tab": "GET\t/ HTTP/1.1\r\n\r\n",
  "a blank in the target": "GET /a b HTTP/1.1\r\n\r\n",
  "a blank at the end": "GET / HTTP/1.1 \r\n\r\n",
  "bytes in the target": "GET /\xff HTTP/1.1\r\n\r\n",
  "no version": "GET /\r\n\r\n",
  "HTTP/0.9": "GET / HTTP/0.9\r\n\r\n",
  "HTTP/1.2": "GET / HTTP/1.2\r\n\r\n",
  "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "HTTP/1.10": "GET / HTTP/1.10\r\n\r\n",
  "http in lower case": "GET / http/1.1\r\n\r\n",
  "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\r\n\r\n",
  "a long head": `${START}X: ${"a".repeat(70_000)}\r\n\r\n`,
  "many headers": `${START}${"X: a\r\n".repeat(300)}\r\n`,
  "a head that is cut": `${START}X: a`,
  "a head without its empty line": START,
  "nothing": "",
};

for (const text of GOOD) {
  Deno.test(`a request: ${JSON.stringify(text).slice(0, 80)}`, async () => {
    equal(await isRequest(text), true);
    if (text.length < 1000) equal(await isRequest(text, 1), true);
  });
}

for (const [what, text] of Object.entries(BAD)) {
  Deno.test(`no request: ${what}`, async () => {
    equal(await isRequest(text), false);
    if (text.length < 1000) equal(await isRequest(text, 1), false);
  });
}

Deno.test("one head is read at a time, and what is behind it stays", async () => {
  for (const size of [1, 7, 1000]) {
    const reader = readerOf("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nA: b\r\n\r\nrest", size);
    equal(parseRequestHead((await reader.head())!).target, "/1");
    const second = parseRequestHead((await reader.head())!);
    deepEqual(second.headers, [{ name: "A", value: "b" }]);
    equal(await bodyOf(reader, { by: "length", length: 4 }), "rest");
    equal(await reader.head(), undefined);
  }
});

async function bodyOf(
  reader: ByteReader,
  framing: Framing,
  of: "request" | "answer" = "request",
): Promise<string> {
  let text = "";
  for await (const piece of piecesOf(reader, framing, of)) {
    text += new TextDecoder("latin1").decode(piece);
  }
  return text;
}

const BODIES: readonly (readonly [what: string, body: string, wanted: string | undefined])[] = [
  ["chunks", "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\nrest", "abcdefg"],
  [
    "a size in either case",
    "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
    "01234567890123456789",
  ],
  ["leading zeros", "0003\r\nabc\r\n0\r\n\r\n", "abc"],
  ["trailers, which are left out", "1\r\na\r\n0\r\nX: y\r\nHost: evil\r\n\r\n", "a"],
  ["no chunk", "0\r\n\r\n", ""],
  ["an extension", "3;a=b\r\nabc\r\n0\r\n\r\n", undefined],
  ["an extension with a bare LF", "3;\nxx\r\nabc\r\n0\r\n\r\n", undefined],
  ["a blank behind a size", "3 \r\nabc\r\n0\r\n\r\n", undefined],
  ["a signed size", "+3\r\nabc\r\n0\r\n\r\n", undefined],
  ["a hexadecimal prefix", "0x3\r\nabc\r\n0\r\n\r\n", undefined],
  ["an empty size", "\r\nabc\r\n0\r\n\r\n", undefined],
  ["a size too large", "fffffffffffffffff\r\nabc", undefined],
  ["a chunk that is longer than its size", "3\r\nabcd\r\n0\r\n\r\n", undefined],
  ["a chunk that ends in LF", "3\r\nabc\n0\r\n\r\n", undefined],
  ["a size that ends in LF", "3\nabc\r\n0\r\n\r\n", undefined],
  ["a size that ends in CR", "3\rabc\r\n0\r\n\r\n", undefined],
  ["a body that is cut", "5\r\nabc", undefined],
  ["a body without its last chunk", "3\r\nabc\r\n", undefined],
  ["a body without its last line", "3\r\nabc\r\n0\r\n", undefined],
  ["trailers without end", `0\r\n${"A: b\r\n".repeat(100)}\r\n`, undefined],
  ["a line without end", `0\r\nA: ${"b".repeat(10_000)}\r\n\r\n`, undefined],
];

for (const [what, body, wanted] of BODIES) {
  Deno.test(`a chunked body: ${what}`, async () => {
    for (const size of [1, 3, 100_000]) {
      const found = await bodyOf(readerOf(body, size), { by: "chunks" }).catch((error) => {
        equal(error instanceof HeadFault, true, String(error));
        return undefined;
      });
      equal(found, wanted);
    }
  });
}

Deno.test("a body with a length ends there, and one that is cut is none", async () => {
  const reader = readerOf("abcdef", 2);
  equal(await bodyOf(reader, { by: "length", length: 3 }), "abc");
  equal(await bodyOf(reader, { by: "length", length: 0 }), "");
  equal(await bodyOf(reader, { by: "close" }), "def");
  const cut = await bodyOf(readerOf("ab"), { by: "length", length: 3 }).catch(String);
  equal(cut, "Error: its body is cut");
});

Deno.test("answers of servers may pad the sizes of their chunks", async () => {
  equal(await bodyOf(readerOf("3  \r\nabc\r\n0;x=y\r\n\r\n"), { by: "chunks" }, "answer"), "abc");
});

const answer = (text: string) => parseAnswerHead(latin1Bytes(`${text}\r\n\r\n`));

Deno.test("how the body of an answer ends", () => {
  const framing = (text: string, method = "GET") => answerFraming(answer(text), method);
  const none = { by: "length", length: 0 };
  deepEqual(framing("HTTP/1.1 200 OK"), { by: "close" });
  deepEqual(framing("HTTP/1.0 200"), { by: "close" });
  deepEqual(framing("HTTP/1.1 200 OK\r\nContent-Length: 7"), { by: "length", length: 7 });
  deepEqual(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"), { by: "chunks" });
  deepEqual(framing("HTTP/1.1 204 No Content"), none);
  deepEqual(framing("HTTP/1.1 304 Not Modified\r\nContent-Length: 7"), none);
  deepEqual(framing("HTTP/1.1 200 OK\r\nContent-Length: 7", "HEAD"), none);
  for (
    const text of [
      "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 8",
      "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked",
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked",
      "HTTP/1.1 204 OK\r\nContent-Length: 7, 7",
    ]
  ) throws(() => framing(text), HeadFault, text);
  for (
    const text of ["HTTP/1.1 99", "HTTP/1.1 2000 OK", "HTTP/2 200", "ICY 200 OK", "HTTP/1.1  200"]
  ) {
    throws(() => answer(text), HeadFault, text);
  }
});

Deno.test("whether a connection is kept", () => {
  equal(keepsOpen(answer("HTTP/1.1 200 OK")), true);
  equal(keepsOpen(answer("HTTP/1.1 200 OK\r\nConnection: foo, Close")), false);
  equal(keepsOpen(answer("HTTP/1.0 200 OK\r\nConnection: keep-alive")), false);
});
