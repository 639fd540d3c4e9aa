/**
 * One client of the Model Context Protocol: its requests, and the answers to them. Requests are
 * answered side by side, and those that the client cancels are not answered.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { isJsonObject } from "../base/json.ts";
import { VERSION } from "../base/version.ts";
import {
  CODE,
  type Fault,
  keyOf,
  type McpRequest,
  type Message,
  type MessageLine,
  refusalOf,
  resultOf,
} from "./messages.ts";

/** What the client may call. */
export interface SessionTools {
  /** The tools as the protocol lists them. */
  list(signal: AbortSignal): Promise<readonly JsonObject[]>;
  /** The result of a call as the protocol has it; `undefined` for a tool that does not exist. */
  call(name: string, given: JsonObject, signal: AbortSignal): Promise<JsonObject | undefined>;
}

/** What a session answers with. */
export interface SessionHost {
  readonly tools: SessionTools;
  /** Takes an answer, or those to a batch. */
  readonly write: (answer: JsonObject | readonly JsonObject[]) => void;
  /** Hears of an error that is no refusal. */
  readonly onBug: (error: unknown) => void;
}

/** The versions of the protocol that svc speaks, the newest first. */
export const VERSIONS: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/** Most requests that are answered at once: each may hold an answer of the daemon. */
const MOST_OPEN = 32;

/** A request that cannot be answered as it is. */
class RequestFault extends Error {
  readonly fault: Fault;

  constructor(code: keyof typeof CODE, message: string) {
    super(message);
    this.fault = { code: CODE[code], message };
  }
}

/** One client. */
export class McpSession {
  readonly #host: SessionHost;
  /** The requests that are not answered yet, by the key of their id. */
  readonly #open = new Map<string, AbortController>();
  readonly #work = new Set<Promise<void>>();

  constructor(host: SessionHost) {
    this.#host = host;
  }

  /** Takes a line; its answer is written when it is there. */
  take({ isBatch, messages }: MessageLine): void {
    const answers = messages.map((message) => this.#answer(message));
    const work = Promise.all(answers).then((all) => {
      const written = all.filter((answer) => answer !== undefined);
      const [first] = written;
      if (first !== undefined) this.#host.write(isBatch ? written : first);
    });
    this.#work.add(work);
    const done = () => void this.#work.delete(work);
    work.then(done, done);
  }

  /** Waits until every request is answered. */
  async finish(): Promise<void> {
    await Promise.all(this.#work);
  }

  async #answer(message: Message): Promise<JsonObject | undefined> {
    switch (message.kind) {
      case "answer":
        return undefined;
      case "wrong":
        return refusalOf(null, message.fault);
      case "notification":
        if (message.method === "notifications/cancelled") this.#cancel(message.params);
        return undefined;
      case "request":
        return await this.#answerRequest(message.request);
    }
  }

  #cancel({ requestId }: JsonObject): void {
    this.#open.get(keyOf(requestId ?? null))?.abort();
  }

  async #answerRequest(request: McpRequest): Promise<JsonObject | undefined> {
    const key = keyOf(request.id);
    const fault = this.#whyNot(key);
    if (fault !== undefined) return refusalOf(request.id, fault);
    const cancelled = new AbortController();
    this.#open.set(key, cancelled);
    try {
      const result = await this.#resultOf(request, cancelled.signal);
      return cancelled.signal.aborted ? undefined : resultOf(request.id, result);
    } catch (error) {
      return cancelled.signal.aborted ? undefined : refusalOf(request.id, this.#faultOf(error));
    } finally {
      this.#open.delete(key);
    }
  }

  #whyNot(key: string): Fault | undefined {
    if (this.#open.has(key)) {
      return { code: CODE.invalidRequest, message: "A request with this id is not answered yet" };
    }
    if (this.#open.size < MOST_OPEN) return undefined;
    return { code: CODE.refused, message: `At most ${MOST_OPEN} requests are answered at once` };
  }

  async #resultOf({ method, params }: McpRequest, signal: AbortSignal): Promise<JsonObject> {
    switch (method) {
      case "initialize":
        return initialized(params);
      case "ping":
        return {};
      case "tools/list":
        return { tools: await this.#host.tools.list(signal) };
      case "tools/call":
        return await this.#call(params, signal);
      default:
        throw new RequestFault("unknownMethod", "svc has tools, and nothing else");
    }
  }

  async #call(
    { name, arguments: given = {} }: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    if (typeof name !== "string" || !isJsonObject(given)) {
      const message = "A call has the name of a tool, and its arguments as an object";
      throw new RequestFault("invalidParams", message);
    }
    const result = await this.#host.tools.call(name, given, signal);
    if (result === undefined) throw new RequestFault("invalidParams", "There is no such tool");
    return result;
  }

  #faultOf(error: unknown): Fault {
    if (error instanceof RequestFault) return error.fault;
    if (error instanceof AppError) return { code: CODE.refused, message: error.message };
    this.#host.onBug(error);
    return { code: CODE.internal, message: "svc failed: its standard error says more" };
  }
}

function initialized({ protocolVersion: asked }: JsonObject): JsonObject {
  const known = VERSIONS.find((version) => version === asked);
  return {
    protocolVersion: known ?? VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name: "svc", version: VERSION },
  };
}
