/**
 * The store in the daemon's thread: collects calls while a batch is in progress, and sends them to
 * the store's thread together when that batch is done. There is no timer: an idle store takes the
 * calls of one turn of the event loop, a busy one shares its commits (measured: 18k accepts/s
 * against 5k/s with a commit each).
 *
 * @module
 */

import { dirname } from "node:path";
import { setImmediate } from "node:timers";
import { nextTurn } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { Batch } from "../maintenance.ts";
import type { NewDelivery } from "../delivery_records.ts";
import type { NodeRecord } from "../node_records.ts";
import type { Store, StoreMethod } from "../store.ts";
import { type StoreArgs, type StoreCall, storeCalls, type StoreResult } from "../store_calls.ts";
import { STORE_METHOD_NAMES } from "../store_methods.ts";
import { DeliveryPacker, unpackOutcomes } from "./deliveries/packed_delivery.ts";
import {
  type Call,
  isPacked,
  type Outcome,
  receiveError,
  type Reply,
  type Request,
} from "./protocol.ts";

/** Most calls that may wait for the disk; above it requests are refused with `overloaded`. */
const MAX_WAITING = 20_000;

interface WaitingCall extends Call {
  /** Takes what the method resolves to; the thread runs the same method. */
  resolve(value: unknown): void;
  readonly reject: (error: Error) => void;
}

/** Options of a store. */
export interface StoreOptions {
  /** The node for which it claims tasks, events and plugins; a new one when absent. */
  readonly node?: string;
  /** What that node is called, and since when it runs; its id, and nothing, when absent. */
  readonly self?: Pick<NodeRecord, "name" | "startedAt">;
  /** Called with the result of each batch. */
  readonly onBatch?: (batch: Batch) => void;
}

/**
 * Opens the database at `path` in a thread of its own, which has access to that directory only.
 *
 * @throws {AppError} `overloaded` when the file cannot be used.
 */
export async function openStore(
  path: string,
  { node = crypto.randomUUID(), self = { name: node }, onBatch = () => {} }: StoreOptions = {},
): Promise<Store> {
  const thread = new StoreThread(dirname(path), onBatch);
  await thread.open(path, node);
  const call = <Name extends StoreMethod>(method: Name): StoreCall<Name> => (...args) =>
    thread.call(method, args);
  const methods = storeCalls(STORE_METHOD_NAMES, call);
  return {
    ...methods,
    listNodes: async () => (await methods.listNodes()).map((node) => ({ ...node, ...self })),
    failed: thread.failed,
    [Symbol.asyncDispose]: () => thread.close(),
  };
}

class StoreThread {
  readonly failed: Promise<Error>;
  readonly #worker: Worker;
  readonly #onBatch: (batch: Batch) => void;
  #waiting: WaitingCall[] = [];
  #inFlight: readonly WaitingCall[] = [];
  #isSoon = false;
  #answered: ((reply: Reply) => void) | undefined;
  #broken: Error | undefined;

  constructor(directory: string, onBatch: (batch: Batch) => void) {
    this.#onBatch = onBatch;
    this.#worker = new Worker(import.meta.resolve("#store-worker"), {
      type: "module",
      deno: { permissions: { read: [directory], write: [directory] } },
    });
    this.failed = new Promise((resolve) => {
      this.#worker.onerror = (event) => {
        event.preventDefault();
        resolve(this.#break(new Error(`The store's thread ended: ${event.message}`)));
      };
    });
    this.#worker.onmessage = (event: MessageEvent<Reply>) => this.#receive(event.data);
  }

  async open(path: string, node: string): Promise<void> {
    const reply = await this.#ask({ type: "open", path, node });
    if (reply.type !== "refused") return;
    this.#worker.terminate();
    throw receiveError(reply.error);
  }

  call<Name extends StoreMethod>(
    method: Name,
    args: StoreArgs<Name>,
  ): Promise<StoreResult<Name>> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(new AppError("overloaded", "Too many requests wait for the disk"));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ method, args, resolve, reject });
      this.#handOverSoon();
    });
  }

  /** Waits until every pending call has finished, then closes the file. */
  async close(): Promise<void> {
    while (this.#broken === undefined && this.#waiting.length + this.#inFlight.length > 0) {
      await nextTurn();
    }
    if (this.#broken !== undefined) return;
    await this.#ask({ type: "close" });
    this.#broken = new AppError("overloaded", "The store is closed");
    this.#worker.terminate();
  }

  #ask(request: Request): Promise<Reply> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#worker.postMessage(request);
    });
  }

  /**
   * Sends at the end of this turn of the event loop, so that all calls made in it share the commit.
   */
  #handOverSoon(): void {
    if (this.#inFlight.length > 0 || this.#isSoon) return;
    this.#isSoon = true;
    setImmediate(() => {
      this.#isSoon = false;
      this.#handOver();
    });
  }

  #handOver(): void {
    if (this.#inFlight.length > 0 || this.#waiting.length === 0) return;
    this.#inFlight = this.#waiting;
    this.#waiting = [];
    try {
      this.#send(this.#inFlight);
    } catch {
      this.#inFlight = this.#inFlight.filter(canBeSent); // removes the call that cannot be cloned
      if (this.#inFlight.length > 0) this.#send(this.#inFlight);
      else this.#handOver();
    }
  }

  #send(calls: readonly Call[]): void {
    const packer = new DeliveryPacker();
    const sent = calls.map(({ method, args }) =>
      method === "recordDelivery" ? packer.pack(args[0] as NewDelivery) : { method, args }
    );
    const attached = packer.attached();
    const request: Request = { type: "batch", calls: sent, attached };
    this.#worker.postMessage(request, [attached.bodies.buffer, ...handedOver(calls)]);
  }

  #receive(reply: Reply): void {
    if (reply.type !== "results") return this.#answered?.(reply);
    const calls = this.#inFlight;
    this.#inFlight = [];
    this.#handOver(); // the thread works on the next batch while this one is settled
    calls.forEach((call, index) => settle(call, reply.results[index]));
    const { wrote, tookMs, results } = reply;
    const refused = findUnwritable(results);
    this.#onBatch({
      calls: calls.length,
      wrote,
      tookMs,
      ...defined({ refused }),
    });
  }

  #break(error: Error): Error {
    this.#broken ??= error;
    for (const call of [...this.#inFlight, ...this.#waiting]) call.reject(this.#broken);
    this.#inFlight = this.#waiting = [];
    return this.#broken;
  }
}

/** The memory of long parts of messages, which the thread takes over: a copy would be as large. */
function handedOver(calls: readonly Call[]): Set<ArrayBuffer> {
  const messages = calls.flatMap(({ method, args }) =>
    method === "addToOutbox" ? (args as StoreArgs<"addToOutbox">)[0] : []
  );
  const pieces = messages.flatMap(({ content = {} }) => Object.values(content).flat());
  return new Set(pieces.map(({ buffer }) => buffer));
}

/** Whether a call can be cloned for the thread; one that cannot is rejected here. */
function canBeSent({ args, reject }: WaitingCall): boolean {
  try {
    structuredClone(args);
    return true;
  } catch (error) {
    reject(error instanceof Error ? error : new Error(String(error)));
    return false;
  }
}

/**
 * The reason why the database could not be written, such as a full disk or a lock of another
 * process; intended refusals do not count.
 */
function findUnwritable(results: readonly Outcome[]): string | undefined {
  for (const result of results) {
    if (!isPacked(result) && "error" in result && result.error.code === "overloaded") {
      return result.error.message;
    }
  }
  return undefined;
}

function settle(call: WaitingCall, outcome: Outcome | undefined): void {
  if (outcome === undefined) call.reject(new Error(`No result for ${call.method}`));
  else if (isPacked(outcome)) call.resolve(unpackOutcomes(outcome));
  else if ("error" in outcome) call.reject(receiveError(outcome.error));
  else call.resolve(outcome.value);
}
