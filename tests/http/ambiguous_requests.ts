/**
 * Requests whose end a proxy may see elsewhere than we do, each with another one hidden behind it.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { within } from "../helpers/within.ts";
import type { RawClient } from "../helpers/raw_client.ts";

/** What names the length of a body; `CL` stands for the number that the hidden request fits. */
const FRAMINGS: readonly (readonly string[])[] = [
  ["Content-Length: CL", "Transfer-Encoding: chunked"],
  ["Transfer-Encoding: chunked", "Content-Length: CL"],
  ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked", "Content-Length: CL"],
  ["Transfer-Encoding: chunked", "Transfer-Encoding: identity", "Content-Length: CL"],
  ["Transfer-Encoding: chunked, chunked", "Content-Length: CL"],
  ["Transfer-Encoding: identity, chunked", "Content-Length: CL"],
  ["Transfer-Encoding: chunked, identity", "Content-Length: CL"],
  ["Transfer-Encoding: gzip, chunked", "Content-Length: CL"],
  ["Transfer-Encoding: identity", "Content-Length: CL"],
  ["Transfer-Encoding: ,chunked", "Content-Length: CL"],
  ["Transfer-Encoding: chunked;q=1", "Content-Length: CL"],
  ["Transfer-Encoding: xchunked", "Content-Length: CL"],
  ['Transfer-Encoding: "chunked"', "Content-Length: CL"],
  ["Transfer-Encoding: CHUNKED", "Content-Length: CL"],
  ["Transfer-Encoding:", "Content-Length: CL"],
  ["Transfer-Encoding:\tchunked", "Content-Length: CL"],
  ["Transfer-Encoding:\vchunked", "Content-Length: CL"],
  ["Transfer-Encoding : chunked", "Content-Length: CL"],
  [" Transfer-Encoding: chunked", "Content-Length: CL"],
  ["X-A: b\r\n Transfer-Encoding: chunked", "Content-Length: CL"],
  ["X-A: b\rTransfer-Encoding: chunked", "Content-Length: CL"],
  ["X-A: b\nTransfer-Encoding: chunked", "Content-Length: CL"],
  ["Content-Length: +CL"],
  ["Content-Length: CL, CL"],
  ["Content-Length: CL", "Content-Length: 0"],
  ["Content-Length: 0", "Content-Length: CL"],
  ["Content-Length: CL, 0"],
  ["Content-Length: 0xCL"],
  ["Content-Length: CL_0"],
  ["Content-Length: -CL"],
  ["Content-Length : CL"],
];

/** One such request. */
export interface AmbiguousRequest {
  readonly what: string;
  /** All of it, with what is hidden behind it. */
  readonly text: string;
}

/**
 * Each way to say the length, with a body that ends at once for who goes by the coding, and with one
 * that does for who goes by the length; `line` and `headers` begin it, and `hidden` stands behind.
 */
export function* ambiguousRequests(
  { line, headers, hidden }: {
    readonly line: string;
    readonly headers: readonly string[];
    readonly hidden: string;
  },
): Generator<AmbiguousRequest> {
  const size = hidden.length.toString(16);
  const bodies = [
    ["by the coding", "0\r\n\r\n", hidden],
    ["by the length", `${size}\r\n`, `${hidden}\r\n0\r\n\r\n`],
  ] as const;
  for (const framing of FRAMINGS) {
    for (const [by, first, rest] of bodies) {
      const length = by === "by the length" ? first.length : first.length + rest.length;
      const own = framing.map((one) => one.replaceAll("CL", String(length)));
      yield {
        what: `${line}, ${JSON.stringify(framing)}, ${by}`,
        text: [line, "Connection: keep-alive", ...headers, ...own, "", first + rest].join("\r\n"),
      };
    }
  }
}

/** Fails where more than one request is answered on a connection. */
export async function checkOneAnswer(
  client: RawClient,
  { what, text }: AmbiguousRequest,
): Promise<void> {
  const answered = async () => await within(5000, client.answer().catch(() => undefined));
  await client.send(text).catch(() => {}); // it may be refused before all of it is sent
  const first = await answered();
  ok(first === undefined || await answered() === undefined, `${what}: ${first?.status} and more`);
}
