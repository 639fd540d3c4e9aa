/**
 * Error answers: strangers read a title and a code, the control plane a message as well.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { AppError, type ErrorCode } from "../../src/base/errors.ts";
import { problemResponse } from "../../src/http/problem.ts";

const STATUS: Readonly<Record<ErrorCode, number>> = {
  usage: 400,
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  too_large: 413,
  unsupported_type: 415,
  misdirected: 421,
  refused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  plugin_failed: 502,
  overloaded: 503,
  unreachable: 503,
};

const options = { cause: new Error("inner"), details: ["a", "b"], reason: "only for the operator" };

for (const [code, status] of Object.entries(STATUS)) {
  Deno.test(`${code} is answered ${status}, and a stranger reads nothing else`, async () => {
    const error = new AppError(code as ErrorCode, "The message", options);
    const response = problemResponse(error, { requestId: "r1" });
    equal(response.status, status);
    equal(response.headers.get("content-type"), "application/problem+json");
    const { title, ...rest } = await response.json();
    deepEqual(rest, { type: "about:blank", status, code, request_id: "r1" });
    match(title, /^[A-Z][a-zA-Z ,]+$/);
    const waits = ["overloaded", "rate_limited"].includes(code);
    equal(response.headers.has("retry-after"), waits);
  });
}

Deno.test("the control plane reads message and details, but not those of a bug", async () => {
  const problemOf = async (code: ErrorCode) => {
    const error = new AppError(code, "The message", options);
    const { detail, details } = await problemResponse(error, { requestId: "r1", trusted: true })
      .json();
    return { detail, details };
  };
  deepEqual(await problemOf("invalid"), { detail: "The message", details: ["a", "b"] });
  deepEqual(await problemOf("internal"), { detail: undefined, details: undefined });
});

Deno.test("a refusal that knows when the same may go says so", () => {
  const error = new AppError("rate_limited", "Over the rate", { retryAfterSecs: 42 });
  equal(problemResponse(error, { requestId: "r" }).headers.get("retry-after"), "42");
});

Deno.test("405 names the methods that are allowed", () => {
  const error = new AppError("method_not_allowed", "x");
  equal(problemResponse(error, { requestId: "r", allow: "POST" }).headers.get("allow"), "POST");
});
