/**
 * Who may post to a task's thread: what the definition of `slack.reply` grants, and what the outbox
 * gets then.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { OPERATIONS } from "../../src/api/operations.ts";
import { checkCaller, checkOwn } from "../../src/auth/authorize.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { AppError } from "../../src/base/errors.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { sourceEventHandlers, type SourceEventHost } from "../../src/control/source_events.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";

const run = (grant: Caller["grant"] & object): Caller => ({
  role: "read_only",
  name: grant.kind,
  grant,
});

const CALLERS: Readonly<Record<string, readonly [Caller, string]>> = {
  "an admin": [{ role: "admin", name: "socket" }, "posted"],
  "an operator": [{ role: "operator", name: "socket" }, "posted"],
  "who may read only": [{ role: "read_only", name: "socket" }, "forbidden"],
  "a step of that task": [run({ kind: "step", project: "default", taskId: taskIdOf(1) }), "posted"],
  "a step of another task": [
    run({ kind: "step", project: "default", taskId: taskIdOf(2) }),
    "forbidden",
  ],
  "a plugin": [run({ kind: "plugin", project: "default" }), "forbidden"],
  "a cron plugin": [run({ kind: "cron", project: "default" }), "forbidden"],
};

const ENVELOPE = { project: "default", metadata: {}, generation: 1, createdAt: 0, updatedAt: 0 };
const CATALOG = new Catalog([
  {
    ...ENVELOPE,
    kind: "Trigger",
    name: "t",
    spec: {
      event: {
        source: "webhook",
        webhook: { slack: { botToken: { fromSecret: { store: "slack", key: "bot_token" } } } },
      },
      action: { workflow: "w", workspace: "default" },
    },
  },
  { ...ENVELOPE, kind: "SecretStore", name: "slack", spec: { data: { bot_token: "xoxb-1" } } },
]);

for (const [name, [caller, wanted]] of Object.entries(CALLERS)) {
  Deno.test(`slack.reply by ${name}: ${wanted}`, async () => {
    await using temp = await tempStore();
    await accept(temp.store, 1);
    const posted: unknown[] = [];
    const place = { project: "default", trigger: "t", installationId: "A/T" };
    const thread = { ...place, conversationId: "C1", threadId: "1.1" };
    const host = {
      catalog: CATALOG,
      clock: systemClock,
      store: {
        findTasks: (prefix: string) => temp.store.findTasks(prefix),
        findThreadOfTask: () => Promise.resolve(thread),
      },
      outbox: {
        enqueue: (drafts: readonly unknown[]) => {
          posted.push(...drafts);
          return Promise.resolve(drafts.map(() => "id"));
        },
      },
    } as unknown as SourceEventHost;
    const access = OPERATIONS["slack.reply"];
    const asked = async () => {
      checkCaller(access, caller);
      const input = { task: taskIdOf(1), text: "hi" };
      checkOwn(input, access, caller);
      await sourceEventHandlers(host)["slack.reply"](input, caller);
    };
    const outcome = await asked().then(() => "posted", (error: AppError) => error.code);
    deepEqual([outcome, posted.length], [wanted, Number(wanted === "posted")]);
  });
}
