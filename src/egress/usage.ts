/**
 * Reads the tokens that an API says it has counted, out of an answer on its way: `usage` of Anthropic
 * and OpenAI, `usageMetadata` of Gemini, in JSON and in server-sent events. Only the value of that one
 * field is ever kept, and only a short one. Pure.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../base/json.ts";

/** Tokens of one answer, or of several. */
export interface Tokens {
  /** Tokens that the model read, those from a cache among them. */
  readonly input: number;
  /** Tokens that it wrote, its reasoning among them. */
  readonly output: number;
  /** Part of `input` that came from a cache. */
  readonly cacheRead: number;
  /** Part of `input` that was put into a cache. */
  readonly cacheWrite: number;
}

/** Longest value of a usage field that is read. */
const MAX_VALUE_BYTES = 4096;

/** Where an API writes its usage: keys from the root of a document; lists count for nothing. */
const PLACES = new Set([
  "usage", // Anthropic, OpenAI; Anthropic's message_delta
  "message.usage", // Anthropic's message_start
  "response.usage", // OpenAI's response.completed
  "usageMetadata", // Gemini
  "response.usageMetadata", // Gemini's code assist
]);
/** The keys that lead to such a place. */
const STEMS = new Set(["message", "response"]);
/** Keys that matter are no longer than this. */
const MAX_KEY_BYTES = 16;

/** The media types of answers whose usage can be read. */
export function usageReader(contentType: string | undefined): UsageReader | undefined {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === "text/event-stream") return new UsageReader(true);
  return type === "application/json" ? new UsageReader(false) : undefined;
}

const [NEWLINE, RETURN, SPACE, QUOTE, COMMA, COLON, BACKSLASH] = [10, 13, 32, 34, 44, 58, 92];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Reads the usage of one answer, whose bytes it is shown as they pass. */
export class UsageReader {
  readonly #document: JsonScanner;
  readonly #events: EventLines | undefined;
  #tokens: Tokens | undefined;

  constructor(isEventStream: boolean) {
    this.#document = new JsonScanner((usage) => {
      this.#tokens = most(this.#tokens, tokensIn(usage));
    });
    if (isEventStream) this.#events = new EventLines(this.#document);
  }

  /** What has been read so far; `undefined` if there was nothing. */
  get tokens(): Tokens | undefined {
    return this.#tokens;
  }

  /** Looks at the next bytes of the answer, and keeps none of them. */
  push(bytes: Uint8Array): void {
    if (this.#events !== undefined) this.#events.push(bytes);
    else this.#document.push(bytes, 0, bytes.length);
  }
}

/** The sum of two counts. */
export function addTokens(one: Tokens | undefined, other: Tokens): Tokens {
  if (one === undefined) return other;
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
  };
}

/** The larger of each count: within one answer an API repeats its counts as they grow. */
function most(one: Tokens | undefined, other: Tokens): Tokens {
  if (one === undefined) return other;
  return {
    input: Math.max(one.input, other.input),
    output: Math.max(one.output, other.output),
    cacheRead: Math.max(one.cacheRead, other.cacheRead),
    cacheWrite: Math.max(one.cacheWrite, other.cacheWrite),
  };
}

/** The tokens that a usage field names, in the words of each API. */
function tokensIn(usage: JsonObject): Tokens {
  const at = (from: unknown, key: string): number => {
    const value = isJsonObject(from) && Object.hasOwn(from, key) ? from[key] : undefined;
    return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
  };
  const cached = at(usage, "cache_read_input_tokens");
  const created = at(usage, "cache_creation_input_tokens");
  return {
    // Anthropic counts cached tokens beside the others, the other APIs among them.
    input: at(usage, "input_tokens") + cached + created + at(usage, "prompt_tokens") +
      at(usage, "promptTokenCount") + at(usage, "toolUsePromptTokenCount"),
    output: at(usage, "output_tokens") + at(usage, "completion_tokens") +
      at(usage, "candidatesTokenCount") + at(usage, "thoughtsTokenCount"),
    cacheRead: cached + at(usage["input_tokens_details"], "cached_tokens") +
      at(usage["prompt_tokens_details"], "cached_tokens") + at(usage, "cachedContentTokenCount"),
    cacheWrite: created,
  };
}

/** Shows the data of server-sent events to a scanner, as one document for each event. */
class EventLines {
  readonly #document: JsonScanner;
  /** Bytes of the present line that have been compared with `data:`; -1 when it is another field. */
  #matched = 0;
  #isEmpty = true;

  constructor(document: JsonScanner) {
    this.#document = document;
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#matched >= 0 && this.#matched < DATA.length) {
        at = this.#begin(bytes, at);
        continue;
      }
      const newline = bytes.indexOf(NEWLINE, at);
      const end = newline === -1 ? bytes.length : newline;
      if (this.#matched === DATA.length) this.#document.push(bytes, at, end);
      at = end;
      if (newline !== -1) {
        at++;
        this.#endLine();
      }
    }
  }

  /** Compares one byte of the beginning of a line. */
  #begin(bytes: Uint8Array, at: number): number {
    const byte = bytes[at];
    if (byte === NEWLINE) this.#endLine();
    else if (byte === DATA[this.#matched]) {
      this.#matched++;
      this.#isEmpty = false;
    } else if (byte !== RETURN) {
      this.#matched = -1;
      this.#isEmpty = false;
    }
    return at + 1;
  }

  #endLine(): void {
    if (this.#isEmpty) this.#document.reset();
    this.#matched = 0;
    this.#isEmpty = true;
  }
}

const DATA = new TextEncoder().encode("data:");

/** Most containers around a place that matters. */
const MAX_DEPTH = 6;

/** Finds the usage fields of a document that is shown in pieces. A document that is no JSON has none. */
class JsonScanner {
  readonly #found: (usage: JsonObject) => void;
  /** The containers around the present byte that matter: keys that lead to each, and its kind. */
  #stack: { readonly prefix: string; readonly isObject: boolean }[] = [];
  /** Open containers within a value that is skipped, or kept. */
  #depth = 0;
  #isKept = false;
  #isText = false;
  #isEscaped = false;
  #isKey = false;
  #awaitsKey = false;
  #key = "";
  readonly #value = new Uint8Array(MAX_VALUE_BYTES);
  #length = 0;

  constructor(found: (usage: JsonObject) => void) {
    this.#found = found;
  }

  /** Begins a new document. */
  reset(): void {
    this.#stack = [];
    this.#depth = this.#length = 0;
    this.#isKept =
      this.#isText =
      this.#isEscaped =
      this.#isKey =
      this.#awaitsKey =
        false;
    this.#key = "";
  }

  push(bytes: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const byte = bytes[at] ?? SPACE;
      if (this.#isKept && this.#length <= MAX_VALUE_BYTES) {
        if (this.#length < MAX_VALUE_BYTES) this.#value[this.#length] = byte;
        this.#length++;
      }
      if (this.#isText) this.#inText(byte);
      else if (byte > SPACE) this.#outside(byte);
    }
  }

  #inText(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) {
      this.#isText = this.#isKey = false;
      return;
    }
    if (this.#isKey && this.#key.length <= MAX_KEY_BYTES) this.#key += String.fromCharCode(byte);
  }

  #outside(byte: number): void {
    if (byte === QUOTE) {
      this.#isText = true;
      this.#isKey = this.#depth === 0 && this.#awaitsKey;
      if (this.#isKey) this.#key = "";
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte === OPEN_OBJECT);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#close();
    else if (this.#depth > 0) return;
    else if (byte === COMMA) this.#awaitsKey = this.#stack.at(-1)?.isObject === true;
    else if (byte === COLON) this.#awaitsKey = false;
  }

  #open(isObject: boolean): void {
    if (this.#depth > 0) return void this.#depth++;
    const around = this.#stack.at(-1);
    const prefix = around?.prefix ?? "";
    const place = around?.isObject === true ? prefix + this.#key : undefined;
    if (place !== undefined && isObject && PLACES.has(place)) {
      this.#isKept = true;
      this.#value[0] = OPEN_OBJECT;
      this.#depth = this.#length = 1;
    } else if (this.#stack.length >= MAX_DEPTH || (place !== undefined && !STEMS.has(place))) {
      this.#depth = 1;
    } else {
      this.#stack.push({ prefix: place === undefined ? prefix : `${place}.`, isObject });
      this.#awaitsKey = isObject;
    }
  }

  #close(): void {
    if (this.#depth === 0) return void this.#stack.pop();
    if (--this.#depth > 0 || !this.#isKept) return;
    this.#isKept = false;
    if (this.#length > MAX_VALUE_BYTES) return;
    try {
      const value: unknown = JSON.parse(DECODER.decode(this.#value.subarray(0, this.#length)));
      if (isJsonObject(value)) this.#found(value);
    } catch {
      // no JSON: nothing is counted
    }
  }
}

const DECODER = new TextDecoder();
