/**
 * Refusals: one table of code, HTTP status and exit code, and nothing of a bug
 * ever shown to a stranger.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import {
  AppError,
  type ErrorCode,
  isErrorCode,
  messageOf,
  toAppError,
} from "../../src/base/errors.ts";
import { fileFault } from "../../src/base/file_fault.ts";

/** Codes, HTTP statuses and exit codes, written down here a second time on purpose. */
const TABLE: Readonly<Record<ErrorCode, readonly [status: number, exit: number]>> = {
  usage: [400, 2],
  invalid: [400, 1],
  unauthorized: [401, 1],
  forbidden: [403, 5],
  not_found: [404, 4],
  method_not_allowed: [405, 2],
  timeout: [408, 1],
  conflict: [409, 1],
  too_large: [413, 1],
  unsupported_type: [415, 1],
  misdirected: [421, 1],
  refused: [422, 1],
  rate_limited: [429, 1],
  headers_too_large: [431, 1],
  internal: [500, 1],
  plugin_failed: [502, 1],
  overloaded: [503, 1],
  unreachable: [503, 3],
};

for (const [code, [status, exit]] of Object.entries(TABLE)) {
  Deno.test(`AppError ${code} is HTTP ${status} and exit ${exit}`, () => {
    ok(isErrorCode(code));
    const error = new AppError(code, "No");
    deepEqual([error.status, error.exitCode], [status, exit]);
  });
}

for (const code of ["", "Usage", "toString", "__proto__", "hasOwnProperty", null, 400, {}, []]) {
  Deno.test(`isErrorCode refuses ${JSON.stringify(code)}`, () => equal(isErrorCode(code), false));
}

Deno.test("AppError carries what it is given and nothing else", () => {
  const bare = new AppError("invalid", "Bad");
  deepEqual([bare.name, bare.message, bare.details, bare.reason], ["AppError", "Bad", [], ""]);
  equal("cause" in bare, false);
  const cause = new Error("under");
  const full = new AppError("invalid", "Bad", { cause, details: ["a", "b"], reason: "why" });
  deepEqual([full.cause, full.details, full.reason], [cause, ["a", "b"], "why"]);
  ok(full instanceof Error);
});

Deno.test("toAppError gives a refusal back and hides everything else", () => {
  const refusal = new AppError("not_found", "No such thing");
  equal(toAppError(refusal), refusal);
  for (const thrown of [new Error("secret"), "secret", undefined, null, { code: "not_found" }]) {
    const hidden = toAppError(thrown);
    deepEqual([hidden.code, hidden.status, hidden.cause], ["internal", 500, thrown]);
    equal(hidden.message.includes("secret"), false);
  }
});

Deno.test("messageOf gives a text for whatever was thrown", () => {
  const thrown = [new Error("a"), new AppError("usage", "b"), "c", 1, undefined, null];
  deepEqual(thrown.map(messageOf), ["a", "b", "c", "1", "undefined", "null"]);
});

Deno.test("a fault of a file is said in words, without a number or a call of the system", () => {
  const path = "/nonexistent/file";
  const thrown = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  equal(fileFault(thrown(() => Deno.readTextFileSync(path))), "it does not exist");
  equal(fileFault(thrown(() => Deno.readTextFileSync("/"))), "it is a directory");
  equal(fileFault(new Error("Strange (os error 99): stat 'x'")), "Strange");
});

Deno.test("messageOf leaves out the system's number and the call that failed", () => {
  const text = (message: string) => messageOf(new Error(message));
  equal(
    text("No such file or directory (os error 2): stat 'it's here'"),
    "No such file or directory",
  );
  equal(text("Address already in use (os error 98)"), "Address already in use");
  equal(
    text("tcp connect error: Connection refused (os error 111): try again"),
    "tcp connect error: Connection refused: try again",
  );
  equal(messageOf("thrown (os error 2)"), "thrown");
});

for (
  const [said, words] of [
    [
      'Requires all access to "/dev/shm/d/svc.db", specify the required permissions during compilation using `deno compile --allow-all`',
      'svc does not use "/dev/shm/d/svc.db": it is below /dev, /proc or /sys',
    ],
    [
      'Requires write access to "/etc/a b", specify the required permissions during compilation using `deno compile --allow-write`',
      'svc has no right to write to "/etc/a b"',
    ],
    [
      'Requires run access to "git", run again with the --allow-run flag',
      'svc has no right to run "git"',
    ],
    [
      "Requires sys access, run again with the --allow-sys flag",
      "svc has no right to use this",
    ],
  ] as const
) {
  Deno.test(`messageOf says in words of its own: ${said}`, () => {
    equal(messageOf(new Deno.errors.NotCapable(said)), words);
  });
}
