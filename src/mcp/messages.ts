/**
 * Messages of JSON-RPC 2.0, as MCP uses it over standard streams: one a line, or a batch of them. Pure.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { findRawNumber, isJsonObject, type JsonObject, parseJson, toJson } from "../base/json.ts";

/** Codes of errors; the first five are JSON-RPC's own. */
export const CODE = {
  notJson: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** The daemon refused, or could not be asked. */
  refused: -32000,
} as const;

/** Why a message is answered with an error. */
export interface Fault {
  readonly code: typeof CODE[keyof typeof CODE];
  readonly message: string;
}

/** A request, which gets an answer. */
export interface McpRequest {
  /** A text or a number, also one with more digits than a double has. */
  readonly id: unknown;
  readonly method: string;
  readonly params: JsonObject;
}

/** A message that a client has sent. */
export type Message =
  | { readonly kind: "request"; readonly request: McpRequest }
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  /** Answers to requests that svc never makes. */
  | { readonly kind: "answer" }
  | { readonly kind: "wrong"; readonly fault: Fault };

/** The messages of one line; `isBatch` if they are answered together. */
export interface MessageLine {
  readonly isBatch: boolean;
  readonly messages: readonly Message[];
}

/** Most messages of one line. */
const MOST_IN_BATCH = 50;

/** Reads a line. Whatever is wrong with it is one of its messages. */
export function readLine(bytes: Uint8Array): MessageLine {
  const text = findText(bytes);
  if (text === undefined) return one(wrong("notJson", "The line is not UTF-8"));
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return one(wrong("notJson", "The line is not JSON"));
  }
  if (!Array.isArray(value)) return one(toMessage(value));
  if (value.length === 0) return one(wrong("invalidRequest", "The batch is empty"));
  if (value.length > MOST_IN_BATCH) {
    const message = `A batch has at most ${MOST_IN_BATCH} messages, this one has ${value.length}`;
    return one(wrong("invalidRequest", message));
  }
  return { isBatch: true, messages: value.map(toMessage) };
}

/** The line that stands for one that is too long to be read. */
export function tooLong(mostBytes: number): MessageLine {
  return one(wrong("invalidRequest", `A line has at most ${mostBytes} bytes`));
}

function one(message: Message): MessageLine {
  return { isBatch: false, messages: [message] };
}

function toMessage(value: unknown): Message {
  if (!isJsonObject(value)) return wrong("invalidRequest", "A message is an object");
  const { jsonrpc, id, method, params = {} } = value;
  if (jsonrpc !== "2.0") return wrong("invalidRequest", 'A message has "jsonrpc": "2.0"');
  if (method === undefined && ("result" in value || "error" in value)) return { kind: "answer" };
  if (typeof method !== "string") return wrong("invalidRequest", "A request has a method");
  if (!isJsonObject(params)) {
    return wrong("invalidRequest", "The params of a request are an object");
  }
  if (!("id" in value)) return { kind: "notification", method, params };
  if (isId(id)) return { kind: "request", request: { id, method, params } };
  return wrong("invalidRequest", "The id of a request is a text or a number");
}

function isId(id: unknown): boolean {
  return typeof id === "string" || typeof id === "number" || findRawNumber(id) !== undefined;
}

function wrong(code: keyof typeof CODE, message: string): Message {
  return { kind: "wrong", fault: { code: CODE[code], message } };
}

/** Tells the ids of requests apart: the text "1" is not the number 1. */
export function keyOf(id: unknown): string {
  return toJson(id);
}

/** The answer to a request. */
export function resultOf(id: unknown, result: unknown): JsonObject {
  return { jsonrpc: "2.0", id, result };
}

/** The refusal of a request; `id` is `null` if nobody knows which. */
export function refusalOf(id: unknown, { code, message }: Fault): JsonObject {
  return { jsonrpc: "2.0", id, error: { code, message } };
}
