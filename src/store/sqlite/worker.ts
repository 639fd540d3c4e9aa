/**
 * The store's thread: the one writer. Each batch is one transaction; when a call of it fails, the
 * batch is undone and each call is made again by itself, so one bad call spoils no other.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { Database, fromSqliteError } from "./database.ts";
import { METHODS, READS } from "./methods.ts";
import { migrate } from "./migrations.ts";
import { type Call, type Outcome, type Reply, type Request, sendError } from "./protocol.ts";

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;
let db: Database | undefined;

function opened(): Database {
  if (db === undefined) throw new Error("The store is not open");
  return db;
}

function call({ method, args }: Call): unknown {
  const run = METHODS[method] as (db: Database, ...args: readonly unknown[]) => unknown;
  return run(opened(), ...args);
}

function runTogether(calls: readonly Call[]): Outcome[] {
  const all = () => calls.map((one) => ({ value: call(one) }));
  return calls.every((one) => READS.has(one.method)) ? all() : opened().transaction(all);
}

function runAlone(one: Call): Outcome {
  try {
    return runTogether([one])[0] ?? { value: undefined };
  } catch (error) {
    return { error: sendError(fromSqliteError(error)) };
  }
}

function runBatch(calls: readonly Call[]): Outcome[] {
  if (calls.length === 1) return calls.map(runAlone);
  try {
    return runTogether(calls);
  } catch (error) {
    const refusal = fromSqliteError(error);
    // Nobody can write now: alone, each call would wait for it again.
    if (refusal instanceof AppError && refusal.code === "overloaded") {
      return calls.map(() => ({ error: sendError(refusal) }));
    }
    return calls.map(runAlone);
  }
}

function handle(request: Request): Reply {
  switch (request.type) {
    case "open":
      try {
        db = new Database(request.path);
        migrate(db);
        return { type: "opened" };
      } catch (error) {
        db?.[Symbol.dispose]();
        db = undefined;
        return { type: "refused", error: sendError(fromSqliteError(error)) };
      }
    case "batch":
      return { type: "results", results: runBatch(request.calls) };
    case "close":
      db?.[Symbol.dispose]();
      db = undefined;
      return { type: "closed" };
  }
}

scope.onmessage = (event: MessageEvent<Request>) => scope.postMessage(handle(event.data));
