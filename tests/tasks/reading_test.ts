/**
 * Which steps read the messages to their task: the rule, as a table.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import type { Plan, PlannedStep } from "../../src/tasks/plan.ts";
import { hasReadAll, type Reading, readingOf, readsMessages } from "../../src/tasks/reading.ts";

const agent = (command = "claude -p") =>
  ({ name: "a", command, promptDelivery: "stdin", env: {} }) as const;

const STEPS: readonly (readonly [step: Omit<PlannedStep, "id">, reads: Reading])[] = [
  [{ run: "make test" }, "nothing"],
  [{ run: 'cat "$SVC_INBOX"' }, "file"],
  [{ run: "cat $SVC_INBOX | jq .text" }, "file"],
  [{ run: "cat ${SVC_INBOX:-/dev/null}" }, "file"],
  [{ run: "./answer # reads $SVC_INBOX" }, "file"],
  [{ run: "./answer" }, "nothing"],
  [{ run: "./answer", env: { SVC_INBOX: "x", BOX: "$SVC_INBOX" } }, "nothing"],
  [{ run: "cat inbox $svc_inbox" }, "nothing"],
  [{ run: "svc task inbox $SVC_TASK_ID" }, "nothing"],
  [{ agent: agent(), prompt: "Fix it." }, "prompt"],
  [{ agent: agent() }, "prompt"],
  [{ agent: agent(), prompt: "Look into $SVC_INBOX from time to time." }, "file"],
  [{ agent: agent('claude -p --more "$SVC_INBOX"'), prompt: "Fix it." }, "file"],
  [{ waitFor: { message: true } }, "nothing"],
  [{ approval: { ask: "$SVC_INBOX?", by: ["ada"], timeout: "1h" } }, "nothing"],
  [{ repeat: { max: 3, until: "true" } }, "nothing"],
];

Deno.test("a step reads the inbox that its own text names, an agent what its prompt had", () => {
  for (const [step, reads] of STEPS) {
    equal(readingOf({ id: "a", ...step }), reads, JSON.stringify(step));
  }
});

const PLANS: readonly (readonly [plan: Partial<Plan>, reads: boolean])[] = [
  [{ steps: [] }, false],
  [{ steps: [{ id: "a", run: "make" }, { id: "b", waitFor: { for: "1h" } }] }, false],
  [{ steps: [{ id: "a", run: "make" }, { id: "b", run: "cat $SVC_INBOX" }] }, true],
  [{ steps: [{ id: "a", agent: agent() }] }, true],
  [{ steps: [{ id: "a", within: "r", run: "cat $SVC_INBOX" }] }, true],
  [{ steps: [{ id: "a", waitFor: { message: true, timeout: "1h" } }] }, true],
  [{ steps: [{ id: "a", waitFor: { any: [{ for: "1h" }, { message: true }] } }] }, true],
  [{ steps: [], finally: [{ id: "z", run: "cat $SVC_INBOX" }] }, true],
];

Deno.test("a task can read messages if one of its steps does, or waits for one", () => {
  for (const [plan, reads] of PLANS) {
    equal(readsMessages(plan as Plan), reads, JSON.stringify(plan));
  }
});

const FAILED = { state: "failed", exitCode: 1, hasAnswered: false };
const ENDS: readonly (readonly [end: Parameters<typeof hasReadAll>[0], reads: boolean])[] = [
  [{ state: "succeeded", exitCode: 0, hasAnswered: false }, true],
  [{ ...FAILED, failure: "error" }, true],
  [{ ...FAILED, failure: "timeout", exitCode: 143 }, true],
  [{ ...FAILED, failure: "budget" }, true],
  [{ ...FAILED, exitCode: 126 }, false],
  [{ ...FAILED, exitCode: 127 }, false],
  [{ ...FAILED, exitCode: 128 }, true],
  [{ ...FAILED, failure: "limit" }, false],
  [{ ...FAILED, failure: "auth", exitCode: 0 }, false],
  [{ ...FAILED, failure: "limit", hasAnswered: true }, true],
  [{ ...FAILED, failure: "auth", hasAnswered: true }, true],
  [{ ...FAILED, exitCode: 127, hasAnswered: true }, true],
  [{ state: "cancelled", exitCode: 127, hasAnswered: false }, true],
  [{ state: "pending", exitCode: 127, hasAnswered: false }, true],
];

Deno.test("a program has read what it was given unless it could not do its work", () => {
  for (const [end, reads] of ENDS) equal(hasReadAll(end), reads, JSON.stringify(end));
});
