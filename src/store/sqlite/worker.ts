/**
 * The store's thread, the one writer. Each batch is one transaction; when one of its calls fails
 * half-way, the batch is undone and each call is repeated by itself, so that a bad call affects no
 * other.
 *
 * @module
 */

import { systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { StoreMethod } from "../store.ts";
import type { StoreResult } from "../store_calls.ts";
import { isRead } from "../store_methods.ts";
import { refuseOtherSchema } from "./engine/check_schema.ts";
import { Database, fromSqliteError, isMalformed } from "./engine/database.ts";
import { recordArrived } from "../transactions/record_delivery.ts";
import { rowsOf } from "./deliveries/sqlite_delivery_rows.ts";
import {
  type BatchContent,
  type PackedDelivery,
  packOutcomes,
  unpackDelivery,
} from "./deliveries/packed_delivery.ts";
import { METHODS } from "./methods.ts";
import { migrate } from "./engine/migrations.ts";
import {
  type Call,
  isPacked,
  type Outcome,
  type Reply,
  type Request,
  sendError,
} from "./protocol.ts";

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;
let db: Database | undefined;

/**
 * How long a batch waits while another process holds the database. Later calls wait for that batch,
 * and then as long themselves: a request learns after at most twice this time that it failed.
 */
const BUSY_MS = 2500;

function opened(): Database {
  if (db === undefined) throw new Error("The store is not open");
  return db;
}

type AnyCall = Call | PackedDelivery;

function run<Name extends StoreMethod>(
  { method, args }: Call<Name>,
): StoreResult<Name> | Promise<StoreResult<Name>> {
  return METHODS[method](opened(), ...args);
}

const reads = (one: AnyCall): boolean => !isPacked(one) && isRead(one.method);

async function runTogether(calls: readonly AnyCall[], attached: BatchContent): Promise<Outcome[]> {
  const all = async () => {
    const outcomes: Outcome[] = [];
    for (const one of calls) {
      // A promise for each delivery would cost 3 % of the processor time of an accept.
      outcomes.push(isPacked(one) ? attemptPacked(one, attached) : await attempt(one));
    }
    return outcomes;
  };
  return calls.every(reads) ? await all() : await opened().transaction(all);
}

async function attempt(call: Call): Promise<Outcome> {
  const before = opened().changes;
  try {
    return { value: await run(call) };
  } catch (error) {
    return toRefusal(error, before);
  }
}

function attemptPacked(delivery: PackedDelivery, attached: BatchContent): Outcome {
  const before = opened().changes;
  try {
    return packOutcomes(recordArrived(rowsOf(opened()), unpackDelivery(delivery, attached)));
  } catch (error) {
    return toRefusal(error, before);
  }
}

/** A refusal before anything was written leaves the batch intact; any other error undoes it. */
function toRefusal(error: unknown, before: number): Outcome {
  if (!(error instanceof AppError) || opened().changes !== before) throw error;
  return { error: sendError(error) };
}

async function runAlone(one: AnyCall, attached: BatchContent): Promise<Outcome> {
  try {
    return (await runTogether([one], attached))[0] ?? { value: undefined };
  } catch (error) {
    return { error: sendError(fromSqliteError(error)) };
  }
}

async function runBatch(calls: readonly AnyCall[], attached: BatchContent): Promise<Outcome[]> {
  if (calls.length === 1) return await runEach(calls, attached);
  try {
    return await runTogether(calls, attached);
  } catch (error) {
    const refusal = fromSqliteError(error);
    // Writing is impossible now, and alone, each call would wait for it again. Reading continues.
    // A malformed page is of some calls only.
    if (refusal instanceof AppError && refusal.code === "overloaded" && !isMalformed(error)) {
      return await runEach(calls, attached, { error: sendError(refusal) });
    }
    return await runEach(calls, attached);
  }
}

/**
 * Runs each call by itself; where writing is impossible, `refused` is the outcome of each write.
 */
async function runEach(
  calls: readonly AnyCall[],
  attached: BatchContent,
  refused?: Outcome,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const one of calls) {
    outcomes.push(refused !== undefined && !reads(one) ? refused : await runAlone(one, attached));
  }
  return outcomes;
}

/** Pause before the log is emptied again, after a reader kept it from being emptied. */
const EMPTY_AGAIN_MS = 1000;
let emptyAgainAt = -Infinity;

/** Empties the log after a batch that has deleted records, which must not stay in the log. */
function emptyLog(): void {
  if (emptyAgainAt > systemClock.monotonicMs()) return;
  const isRetry = emptyAgainAt !== -Infinity;
  if (isRetry) opened().exec("PRAGMA busy_timeout = 0");
  const isEmpty = opened().emptyLogIfAsked();
  if (isRetry) opened().exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  emptyAgainAt = isEmpty ? -Infinity : systemClock.monotonicMs() + EMPTY_AGAIN_MS;
}

async function handle(request: Request): Promise<Reply> {
  switch (request.type) {
    case "open":
      try {
        db = new Database(request.path, { node: request.node });
        refuseOtherSchema(db);
        migrate(db);
        db.foldLog(); // what was deleted just before a kill is still in it
        db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
        return { type: "opened" };
      } catch (error) {
        db?.[Symbol.dispose]();
        db = undefined;
        return { type: "refused", error: sendError(fromSqliteError(error)) };
      }
    case "batch": {
      const start = systemClock.monotonicMs();
      const before = opened().changes;
      const results = await runBatch(request.calls, request.attached);
      emptyLog();
      const wrote = opened().changes !== before;
      return { type: "results", results, wrote, tookMs: systemClock.monotonicMs() - start };
    }
    case "close":
      db?.[Symbol.dispose]();
      db = undefined;
      return { type: "closed" };
  }
}

// The next request comes after the reply: batches never run at the same time.
scope.onmessage = async (event: MessageEvent<Request>) => {
  const reply = await handle(event.data);
  scope.postMessage(reply, bytesIn(reply));
};

/** The memory of results that are bytes, such as parts of messages: the daemon takes it over. */
function bytesIn(reply: Reply): ArrayBuffer[] {
  if (reply.type !== "results") return [];
  return reply.results.flatMap((result) => {
    const value = isPacked(result) || !("value" in result) ? undefined : result.value;
    return value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : [];
  });
}
