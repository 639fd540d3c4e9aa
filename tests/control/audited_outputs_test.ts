/**
 * What tasks ask to do at a platform is counted, and recorded where it is refused or more than an answer.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { OPERATIONS } from "../../src/api/operations.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import { FORGES } from "../../src/base/forge_names.ts";
import { createLog } from "../../src/base/log.ts";
import { OUTPUT_OF, withAuditedOutputs } from "../../src/control/outputs/audited_outputs.ts";
import type { Handlers } from "../../src/control/server/server.ts";
import { OUTPUTS } from "../../src/resources/may.ts";

const CALLER: Caller = { name: "socket", role: "operator" };

/** A handler of this operation, counted and recorded, and what was counted and recorded of it. */
function audited(operation: string, handler: () => Promise<unknown>, rowFails = false) {
  const said: string[] = [];
  const host = {
    log: createLog({
      level: "error",
      format: "pretty",
      clock: systemClock,
      write: () => void said.push("an error in the log"),
    }),
    onOutput: (output: string, result: string) => void said.push(`${output} ${result}`),
    startAudited: (what: { operation: string; targets: readonly string[] }) => {
      if (rowFails) return Promise.reject(new Error("the disk is full"));
      said.push(`row ${what.operation} ${what.targets.join()}`);
      return Promise.resolve(() => Promise.resolve());
    },
    auditRefusal: (name: string, _caller: Caller, what?: { target: string; reason: string }) => {
      said.push(`denied ${name} ${what?.target}: ${what?.reason.slice(0, 20)}`);
      return Promise.resolve();
    },
  };
  const some = { [operation]: handler } as unknown as Partial<Handlers>;
  const handlers = withAuditedOutputs(some, host) as unknown as Readonly<
    Record<string, (input: unknown, caller: Caller) => Promise<unknown>>
  >;
  return { said, call: () => handlers[operation]?.({ task: "01T" }, CALLER) };
}

const answer = (state: string) => () => Promise.resolve({ outbox_id: "01M", state });
const fails = (code: "refused" | "forbidden" | "invalid" | "not_found") => () =>
  Promise.reject(new AppError(code, `it is ${code} ${"x".repeat(10_000)}`));

const CASES: readonly [what: string, operation: string, () => Promise<unknown>, said: string[]][] =
  [
    ["an answer", "github.comment", answer("pending"), ["comment queued"]],
    ["an answer that is held", "github.comment", answer("held"), ["comment held"]],
    ["more than an answer", "github.push", answer("pending"), [
      "push queued",
      "row github.push task/01T: outbox/01M, queued",
    ]],
    ["a held pull request", "github.pr_create", answer("held"), [
      "pull held",
      "row github.pr_create task/01T: outbox/01M, held",
    ]],
    ["a refusal by a rule", "github.react", fails("refused"), [
      "react refused",
      "denied github.react task/01T: it is refused xxxxxx",
    ]],
    ["a refusal that the server records", "github.pr_create", fails("forbidden"), ["pull refused"]],
    ["a mistake", "github.pr_create", fails("invalid"), []],
    ["a task that is not there", "github.pr_create", fails("not_found"), []],
    ["an answer at GitLab", "gitlab.comment", answer("pending"), ["comment queued"]],
    ["a merge request", "gitlab.mr_create", answer("held"), [
      "pull held",
      "row gitlab.mr_create task/01T: outbox/01M, held",
    ]],
    ["a refusal at GitLab", "gitlab.push", fails("refused"), [
      "push refused",
      "denied gitlab.push task/01T: it is refused xxxxxx",
    ]],
    ["another operation", "line.push", answer("pending"), []],
  ];

for (const [what, operation, handler, expected] of CASES) {
  Deno.test(`audited outputs: ${what}`, async () => {
    const { said, call } = audited(operation, handler);
    const [mine, bare] = await Promise.allSettled([call(), handler()]);
    deepEqual(mine, bare, "the answer stays what it is");
    deepEqual(said, expected);
  });
}

Deno.test("audited outputs: a row that cannot be written does not undo the answer", async () => {
  const { said, call } = audited("github.push", answer("pending"), true);
  deepEqual(await call(), { outbox_id: "01M", state: "pending" });
  deepEqual(said, ["push queued", "an error in the log"]);
});

Deno.test("audited outputs: an error of the daemon is no refusal", async () => {
  const { said, call } = audited("github.push", () => Promise.reject(new Error("a bug")));
  await rejects(async () => await call(), /a bug/);
  deepEqual(said, []);
});

Deno.test("audited outputs: every output that a task can ask for is known", () => {
  const asked = Object.keys(OPERATIONS).filter((name) =>
    FORGES.some((forge) => name.startsWith(`${forge}.`)) && !/\.(may|checks)$/.test(name)
  );
  deepEqual(Object.keys(OUTPUT_OF).toSorted(), asked.toSorted());
  const tools = OUTPUTS.filter((output) =>
    Object.entries(OUTPUT_OF).some(([, one]) => one === output)
  );
  deepEqual(tools, OUTPUTS.filter((output) => output !== "checks"), "all but what only reads");
});
