/**
 * Heads of HTTP/1 messages, read so strictly that no two programs can read them differently: what is
 * smuggled into a request lives from such a difference. Pure.
 *
 * @module
 */

import { latin1Bytes, latin1Text } from "../base/bytes.ts";

/** Most bytes of a head, its empty line included. */
export const MAX_HEAD_BYTES = 64 * 1024;
/** Most headers of a head. */
const MAX_HEADERS = 200;

/** A message that is no HTTP/1, or one that could be read in two ways. */
export class HeadFault extends Error {}

/** One header. */
export interface Header {
  /** As it was written. */
  readonly name: string;
  /** Bytes as code units, without blanks around them. */
  readonly value: string;
}

/** The head of a message. */
interface Head {
  /** Minor version: 0 or 1. */
  readonly minor: number;
  readonly headers: readonly Header[];
}

/** The head of a request. */
export interface RequestHead extends Head {
  readonly method: string;
  readonly target: string;
}

/** The head of an answer. */
export interface AnswerHead extends Head {
  readonly status: number;
  readonly reason: string;
}

/** How the end of a body is found. */
export type Framing =
  | { readonly by: "length"; readonly length: number }
  | { readonly by: "chunks" }
  /** The body ends with the connection. */
  | { readonly by: "close" };

/** A message without a body. */
export const EMPTY: Framing = { by: "length", length: 0 };

const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";
const REQUEST_LINE = new RegExp(`^(${TOKEN}) ([\\x21-\\x7e]+) HTTP/1\\.([01])$`);
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const HEADER = new RegExp(`^(${TOKEN}):[\\t ]*(.*?)[\\t ]*$`, "s");
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The head of a request. `bytes` end with its empty line.
 *
 * @throws {HeadFault} when it is none.
 */
export function parseRequestHead(bytes: Uint8Array): RequestHead {
  const [first = "", ...lines] = linesOf(bytes);
  const [, method, target, minor] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined) {
    throw new HeadFault("the request does not start with METHOD TARGET HTTP/1.1");
  }
  return { method, target, minor: Number(minor), headers: lines.map(parseHeader) };
}

/**
 * The head of an answer. `bytes` end with its empty line.
 *
 * @throws {HeadFault} when it is none.
 */
export function parseAnswerHead(bytes: Uint8Array): AnswerHead {
  const [first = "", ...lines] = linesOf(bytes);
  const [, minor, status, reason = ""] = STATUS_LINE.exec(first) ?? [];
  if (status === undefined) throw new HeadFault("the answer is no HTTP/1.1");
  return {
    status: Number(status),
    reason,
    minor: Number(minor),
    headers: lines.map(parseHeader),
  };
}

function linesOf(bytes: Uint8Array): string[] {
  const lines = latin1Text(bytes).slice(0, -4).split("\r\n");
  if (lines.length > MAX_HEADERS + 1) throw new HeadFault("there are too many headers");
  return lines;
}

function parseHeader(line: string): Header {
  const [, name, value] = HEADER.exec(line) ?? [];
  if (name === undefined || value === undefined || !VALUE.test(value)) {
    throw new HeadFault("a line is no header");
  }
  return { name, value };
}

/** The values of the header `name`, in lower case, one for each time that it is there. */
export function valuesOf({ headers }: Head, name: string): string[] {
  return headers.filter((one) => one.name.toLowerCase() === name).map(({ value }) => value);
}

/** The tokens of a header that is a list, in lower case. */
export function tokensOf(head: Head, name: string): string[] {
  return valuesOf(head, name).flatMap((value) => value.toLowerCase().split(","))
    .map((token) => token.trim()).filter((token) => token !== "");
}

/**
 * How the body of a request ends.
 *
 * @throws {HeadFault} when there is more than one way to read that.
 */
export function requestFraming(head: RequestHead): Framing {
  const framing = framingOf(head);
  return framing ?? EMPTY;
}

/**
 * How the body of an answer to a request with `method` ends.
 *
 * @throws {HeadFault} when there is more than one way to read that.
 */
export function answerFraming(head: AnswerHead, method: string): Framing {
  const framing = framingOf(head);
  const { status } = head;
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return EMPTY;
  return framing ?? { by: "close" };
}

function framingOf(head: Head): Framing | undefined {
  const codings = valuesOf(head, "transfer-encoding");
  const lengths = valuesOf(head, "content-length");
  if (codings.length > 0) {
    if (lengths.length > 0) throw new HeadFault("it has Transfer-Encoding and Content-Length");
    if (head.minor === 0) throw new HeadFault("it has Transfer-Encoding with HTTP/1.0");
    if (codings.length > 1 || codings[0]?.toLowerCase() !== "chunked") {
      throw new HeadFault("its Transfer-Encoding is not chunked alone");
    }
    return { by: "chunks" };
  }
  const [length] = lengths;
  if (length === undefined) return undefined;
  if (lengths.length > 1) throw new HeadFault("it has Content-Length twice");
  if (!/^[0-9]{1,15}$/.test(length)) throw new HeadFault("its Content-Length is no number");
  return { by: "length", length: Number(length) };
}

/** Whether the sender keeps the connection open after a message. */
export function keepsOpen(head: Head): boolean {
  const tokens = tokensOf(head, "connection");
  return head.minor === 1 ? !tokens.includes("close") : false;
}

/**
 * The size of a chunk. Extensions of requests are refused: nobody needs them, and programs have
 * disagreed on where they end. Those of answers are left out, because some servers pad their sizes.
 *
 * @throws {HeadFault} when the line is no size.
 */
export function parseChunkSize(line: string, of: "request" | "answer"): number {
  const [, size, rest] = /^([0-9A-Fa-f]{1,12})([ \t]*(?:;.*)?)$/s.exec(line) ?? [];
  if (size === undefined || (of === "request" && rest !== "")) {
    throw new HeadFault("the size of a chunk is no number");
  }
  return Number.parseInt(size, 16);
}

/** A head as bytes: lines, each with its line break, and the empty one. */
export function writeHead(first: string, headers: readonly Header[]): Uint8Array<ArrayBuffer> {
  return latin1Bytes(
    [first, ...headers.map(({ name, value }) => `${name}: ${value}`), "", ""].join("\r\n"),
  );
}
