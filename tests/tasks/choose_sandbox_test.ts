/**
 * Which sandbox a step runs in: that of its plan, the one that the daemon requires, or none; and that it
 * does not run where it may have none.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import type { RequiredSandbox } from "../../src/resources/names.ts";
import type { SandboxSupport } from "../../src/shell/sandbox_probe.ts";
import { DEFAULT_SANDBOX, type PlannedStep } from "../../src/tasks/plan.ts";
import { BARE } from "../../src/api/sandbox_words.ts";
import { chooseSandbox } from "../../src/tasks/sandbox/step_sandbox.ts";

const NO_BWRAP = { why: "bubblewrap is not installed", cure: "install it" };
const NO_SOCAT = { why: "socat is not installed", cure: "install it" };
const BUSY = { why: "it did not end", cure: "try again", isUnknown: true } as const;

const named = (network: "none" | { allow: string[] }) => ({ name: "box", spec: { network } });
const RULES = named({ allow: ["a.example"] });

interface Case {
  readonly sandbox?: PlannedStep["sandbox"];
  readonly hasAgent?: boolean;
  readonly hasSession?: boolean;
  readonly required?: RequiredSandbox;
  readonly lacks?: Pick<SandboxSupport, "fault" | "networkFault">;
  /** What is chosen, or how it is refused. */
  readonly gives: object | RegExp;
}

const CASES: Readonly<Record<string, Case>> = {
  "nothing said": { gives: {} },
  "sandbox: none": { sandbox: "none", gives: {} },
  "one by name": { sandbox: named("none"), gives: { sandbox: named("none") } },
  "the default": { sandbox: DEFAULT_SANDBOX, gives: { sandbox: DEFAULT_SANDBOX } },
  "one by name, and none can be made": {
    sandbox: named("none"),
    lacks: { fault: NO_BWRAP },
    gives: /^invalid: its sandbox cannot be made: bubblewrap is not installed/,
  },
  "rules, and socat is missing": {
    sandbox: RULES,
    lacks: { networkFault: NO_SOCAT },
    gives: /^invalid: its sandbox cannot be made: socat is not installed/,
  },
  "no rules, and socat is missing": {
    sandbox: named("none"),
    lacks: { networkFault: NO_SOCAT },
    gives: { sandbox: named("none") },
  },
  "the default, and none can be made": {
    sandbox: DEFAULT_SANDBOX,
    lacks: { fault: NO_BWRAP },
    gives: {
      // words by which `svc describe task` and the console find it in the log
      note: `${BARE}bubblewrap is not installed. To have one: install it`,
    },
  },
  "the default, and it is not known whether one can be made": {
    sandbox: DEFAULT_SANDBOX,
    lacks: { fault: BUSY },
    gives: /^overloaded: whether a sandbox can be made is not known: it did not end/,
  },
  "the default, required for agents, and none can be made": {
    sandbox: DEFAULT_SANDBOX,
    hasAgent: true,
    required: "agents",
    lacks: { fault: NO_BWRAP },
    gives: /^invalid: its sandbox cannot be made/,
  },
  "nothing said, required for agents, in a workflow with one": {
    hasAgent: true,
    required: "agents",
    gives: { sandbox: DEFAULT_SANDBOX },
  },
  "nothing said, required for agents, in a workflow without one": { required: "agents", gives: {} },
  "nothing said, required for all": { required: "all", gives: { sandbox: DEFAULT_SANDBOX } },
  "sandbox: none, required for all": {
    sandbox: "none",
    required: "all",
    gives: /^invalid: This daemon runs no such step outside a sandbox/,
  },
  "sandbox: none, required for agents, in a workflow with one": {
    sandbox: "none",
    hasAgent: true,
    required: "agents",
    gives: /^invalid: This daemon runs no such step outside a sandbox/,
  },
  "nothing said, with a session": { hasSession: true, gives: { sandbox: DEFAULT_SANDBOX } },
  "sandbox: none, with a session": {
    sandbox: "none",
    hasSession: true,
    gives: /^invalid: A step with a session runs in a sandbox only: remove "sandbox: none"/,
  },
  "the default, with a session, and none can be made": {
    sandbox: DEFAULT_SANDBOX,
    hasSession: true,
    lacks: { fault: NO_BWRAP },
    gives: /^invalid: its sandbox cannot be made: bubblewrap is not installed/,
  },
};

for (
  const [what, { sandbox, hasAgent = false, hasSession = false, required = "none", lacks, gives }]
    of Object.entries(
      CASES,
    )
) {
  Deno.test(`chooseSandbox: ${what}`, async () => {
    const support = { mounts: [], programs: { bubblewrap: "/bwrap" }, filters: {}, ...lacks };
    const chosen = chooseSandbox(
      sandbox === undefined ? {} : { sandbox },
      { hasAgent, hasSession },
      { required, support: () => Promise.resolve(support) },
    );
    if (!(gives instanceof RegExp)) return deepEqual(await chosen, gives);
    await rejects(
      chosen,
      (error) => error instanceof AppError && gives.test(`${error.code}: ${error.message}`),
    );
  });
}
