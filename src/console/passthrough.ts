/**
 * Hands the calls that the page may make on to the daemon, and its answers back as they come. Only a
 * few streams are open at once: a browser has six connections to one address, and a click needs one
 * too.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import { isOperation, type OperationName, OPERATIONS } from "../api/operations.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { type JsonObject, toJson } from "../base/json.ts";
import type { Holder } from "./sessions.ts";

/** Most streams at once of one person, over all tabs. */
const MOST_STREAMS = 4;
/** The name of the console in the daemon's audit. */
const CLIENT_NAME = "console";
/** Headers of the daemon's answer that the page gets. */
const PASSED = ["content-type", "retry-after"];

/** A call as the console may make it. */
export interface AllowedCall {
  readonly name: OperationName;
  /** Whether the answer is a stream. */
  readonly streams: boolean;
}

/**
 * The call of the operation `name`; `readOnly` leaves what changes nothing. The daemon
 * decides by the role of its caller all the same.
 *
 * @throws {AppError} `forbidden` for what the console does not do.
 */
export function allowedCall(name: string, readOnly: boolean): AllowedCall {
  if (!isOperation(name) || !OPERATIONS[name].console) {
    throw new AppError("forbidden", "The console does not do this: use svc in a terminal");
  }
  const { changes, output } = OPERATIONS[name];
  if (readOnly && changes) {
    throw new AppError("forbidden", "This console was started with --read-only");
  }
  return { name, streams: output.form === "lines" };
}

/** Calls the daemon for the page. */
export class Passthrough {
  readonly #client: Client;
  /** By name of the Person; all under one name in the console of one person. */
  readonly #streams = new Map<string, number>();

  /** Calls through `client`, whose token the page never sees. */
  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * The daemon's answer, a refusal too; the call ends when `signal` aborts. With a `holder`, the daemon
   * is asked in the name of that Person, and decides by its role.
   *
   * @throws {AppError} `unreachable`; `rate_limited` when too many streams are open.
   */
  async answer(
    call: AllowedCall,
    input: JsonObject,
    { signal, holder }: { readonly signal: AbortSignal; readonly holder?: Holder },
  ): Promise<Response> {
    // No secret is shown, whatever the page asks for.
    const body = toJson(call.name === "describe" ? { ...input, reveal: false } : input);
    const end = call.streams ? this.#beginStream(holder?.person ?? "") : () => {};
    const person = defined({ person: holder?.identity });
    try {
      const answer = await this.#client.forward({
        name: call.name,
        body,
        by: CLIENT_NAME,
        ...person,
      }, signal);
      const headers = new Headers();
      for (const name of PASSED) {
        const value = answer.headers.get(name);
        if (value !== null) headers.set(name, value);
      }
      const passed = answer.body === null ? null : watched(answer.body, signal, end);
      if (passed === null) end();
      return new Response(passed, { status: answer.status, headers });
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Counts a stream; the returned function, which may be called twice, stops counting it. */
  #beginStream(person: string): () => void {
    const open = () => this.#streams.get(person) ?? 0;
    if (open() >= MOST_STREAMS) {
      throw new AppError(
        "rate_limited",
        `The console has ${MOST_STREAMS} streams open: close another tab of it, or wait`,
      );
    }
    this.#streams.set(person, open() + 1);
    let counts = true;
    return () => {
      if (counts) this.#streams.set(person, open() - 1);
      counts = false;
    };
  }
}

/** A body that calls `end` when it is read, has failed, or is cancelled. */
function watched(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
  end: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  // The signal of `fetch` is not enough: sometimes it leaves a pending read unsettled.
  const stop = () => {
    reader.cancel().catch(() => {});
    finish();
  };
  const finish = () => {
    signal.removeEventListener("abort", stop);
    end();
  };
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        finish();
        controller.close();
      } catch (error) {
        finish();
        throw error;
      }
    },
    cancel: stop,
  });
}
