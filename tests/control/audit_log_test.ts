/**
 * The audit of the control plane: what a row says is what became of the operation.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/base/clock.ts";
import { idFactory } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import { createAuditLog } from "../../src/control/records/audit_log.ts";
import { connect } from "../../src/api/client.ts";
import { type OperationName, OPERATIONS } from "../../src/api/operations.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { OUTPUT_OF } from "../../src/control/outputs/audited_outputs.ts";
import { RECORDED_OF_PERSONS } from "../../src/control/records/person_changes.ts";
import { DEFAULT_OUTPUTS } from "../../src/resources/may.ts";
import { filesBelow } from "../helpers/files.ts";
import { known } from "../helpers/known_secrets.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { secretStore, toText, trigger } from "../helpers/manifests.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const SOURCES = fileURLToPath(new URL("../../src/control", import.meta.url));
const CRD = `kind: CustomResourceDefinition
metadata: {name: notes.example.org}
spec: {kind: Note, plural: notes, group: example.org, versions: [{name: v1, schema: {type: object}}]}`;
const OUTSIDE = `kind: Workflow
metadata: {name: out}
spec: {steps: [{id: build, run: make}, {id: push, run: git push, sandbox: none}]}`;
const WEBHOOK = { secret: { fromRef: "keys" }, signatureHeader: "X-Line-Signature" };

type Call = (rig: ControlRig, id: string) => readonly [OperationName, Record<string, unknown>];

/** An audited operation: how it succeeds, and how it fails after it has begun. */
interface Line {
  readonly succeeds: Call;
  /** Whether an operator may do it; anybody who may not is denied. */
  readonly forOperators?: true;
  readonly target: (rig: ControlRig, id: string) => string;
  /** Another call, or what makes the database refuse the same one. */
  readonly fails: Call | string;
  readonly reason: RegExp;
}

const refuse = (event: string) =>
  `CREATE TRIGGER broken BEFORE ${event} BEGIN SELECT RAISE(ABORT, 'broken'); END`;
const INTERNAL = /^Internal error, see the daemon's log$/;
const send = (more: Record<string, unknown>) => ({ name: "hook", body: btoa("{}"), ...more });

const AUDITED = {
  "token.create": {
    succeeds: () => ["token.create", { role: "read_only", ttl_secs: 60, name: "laptop" }],
    target: () => "laptop",
    fails: refuse("INSERT ON control_tokens"),
    reason: INTERNAL,
  },
  "token.revoke": {
    succeeds: (_rig, id) => ["token.revoke", { id }],
    target: (_rig, id) => id,
    fails: refuse("UPDATE ON control_tokens"),
    reason: INTERNAL,
  },
  "describe": {
    succeeds: () => ["describe", { what: "secretstore", name: "keys", reveal: true }],
    target: () => "secretstore/keys",
    forOperators: true, // the values are masked
    fails: "ALTER TABLE key_uses RENAME TO elsewhere",
    reason: INTERNAL,
  },
  "apply": {
    succeeds: () => ["apply", { files: [{ name: "-", text: OUTSIDE }], dry_run: false }],
    target: () => "workflow/out: step push, sandbox: none",
    forOperators: true, // who may apply a workflow may also let it out
    fails: refuse("INSERT ON resources"),
    reason: INTERNAL,
  },
  "delete": {
    succeeds: () => ["delete", { targets: [{ what: "crd", names: ["notes.example.org"] }] }],
    target: () => "customresourcedefinition/notes.example.org",
    forOperators: true, // where it has no plugins
    fails: refuse("DELETE ON resources"),
    reason: INTERNAL,
  },
  "db.backup": {
    succeeds: ({ dirs }) => ["db.backup", { file: `${dirs.root}/copy.db`, force: false }],
    target: ({ dirs }) => `${dirs.root}/copy.db`,
    fails: ({ dirs }) => ["db.backup", { file: `${dirs.root}/copy.db`, force: false }],
    reason: /copy\.db" exists/,
  },
  "trigger.sign": {
    succeeds: () => ["trigger.sign", send({})],
    target: () => "trigger/hook",
    fails: () => ["trigger.sign", send({ event: "push" })],
    reason: /^LINE has no header/,
  },
  "trigger.send": {
    succeeds: () => ["trigger.send", send({ url: "http://127.0.0.1:PORT/" })],
    target: () => "http://127.0.0.1:PORT/",
    fails: () => ["trigger.send", send({ url: "http://127.0.0.1:PORT/", event: "push" })],
    reason: /^LINE has no header/,
  },
} satisfies Partial<Record<OperationName, Line>>;

/** Other audited operations, with the tests that call them. */
const AUDITED_ELSEWHERE = {
  "node.drain": "tests/control/nodes_test.ts",
  "node.forget": "tests/control/nodes_test.ts",
  "pause": "tests/control/pause_test.ts",
  "resume": "tests/control/pause_test.ts",
  "task.delete": "tests/e2e/delete_records_test.ts",
  "delivery.delete": "tests/e2e/delete_records_test.ts",
  "connect.github": "tests/e2e/connect_github_test.ts",
  "connect.github_app": "tests/e2e/github_app_test.ts",
  "connect.gitlab": "tests/e2e/connect_gitlab_test.ts",
  "connect.slack": "tests/e2e/connect_slack_test.ts",
  "connect.line": "tests/e2e/connect_line_test.ts",
  "connection.disconnect": "tests/e2e/connect_github_test.ts",
  "agent.check": "tests/e2e/agent_check_test.ts",
  "sandbox.try": "tests/e2e/sandbox_try_test.ts",
  "github.pr_create": "tests/control/audited_outputs_test.ts",
  "gitlab.mr_create": "tests/control/audited_outputs_test.ts",
  "github.pr_update": "tests/control/audited_outputs_test.ts",
  "gitlab.mr_update": "tests/control/audited_outputs_test.ts",
  "github.push": "tests/control/audited_outputs_test.ts",
  "gitlab.push": "tests/control/audited_outputs_test.ts",
  "github.check": "tests/control/audited_outputs_test.ts",
  "github.review": "tests/control/audited_outputs_test.ts",
  "gitlab.review": "tests/control/audited_outputs_test.ts",
  "github.label": "tests/control/audited_outputs_test.ts",
  "gitlab.label": "tests/control/audited_outputs_test.ts",
  "github.issue_create": "tests/control/audited_outputs_test.ts",
  "gitlab.issue_create": "tests/control/audited_outputs_test.ts",
  "outbox.send": "tests/control/held_messages_test.ts",
  "task.continue": "tests/control/task_continue_test.ts",
  "conversation.bind": "tests/control/conversations_test.ts",
  "approval.answer": "tests/e2e/approval_test.ts",
  "person.login": "tests/control/person_changes_test.ts",
} satisfies Partial<Record<OperationName, string>>;

type AuditedName = keyof typeof AUDITED | keyof typeof AUDITED_ELSEWHERE;

/** Recorded of Persons alone: `svc get` shows what became of it. */
const OF_PERSONS = "svc get shows what it did";

/** Why the other operations are not audited; a new operation does not compile without a line. */
const NOT_AUDITED: Readonly<Record<Exclude<OperationName, AuditedName>, string>> = {
  "connect.github_manifest": "changes nothing",
  "status": "changes nothing",
  "stats": "changes nothing",
  "pause.running": "changes nothing",
  "get": "changes nothing",
  "get.watch": "changes nothing",
  "watch": "changes nothing",
  "task": "changes nothing",
  "approval": "changes nothing",
  "task.look": "changes nothing",
  "task.logs": "changes nothing",
  "task.log.read": "changes nothing",
  "task.plan": "changes nothing",
  "task.waits": "changes nothing",
  "task.wait": "changes nothing",
  "sandbox.show": "changes nothing",
  "task.inbox": "changes nothing",
  "task.workspace": "changes nothing",
  "delivery.explain": "changes nothing",
  "delivery.show": "changes nothing",
  "trigger.test": "changes nothing",
  "trigger.backtest": "changes nothing",
  "audit.verify": "changes nothing",
  "outbox.wait": "changes nothing",
  "mcp.tools": "changes nothing",
  "doctor": "changes nothing",
  "db.check": "changes nothing",
  "db.usage": "changes nothing",
  "secret.rotate": OF_PERSONS,
  "secret.remove": OF_PERSONS,
  "task.cancel": OF_PERSONS,
  "task.cancel.matching": OF_PERSONS,
  "task.retry": OF_PERSONS,
  "task.retry.matching": OF_PERSONS,
  "task.inbox.send": OF_PERSONS,
  "task.workspace.clean": OF_PERSONS,
  "delivery.redeliver": OF_PERSONS,
  "trigger.fire": OF_PERSONS,
  "trigger.suspend": OF_PERSONS,
  "trigger.resume": OF_PERSONS,
  "source.replay": OF_PERSONS,
  "source.bind": OF_PERSONS,
  "slack.reply": OF_PERSONS,
  "github.checks": "changes nothing",
  "gitlab.checks": "changes nothing",
  "github.may": "changes nothing",
  "gitlab.may": "changes nothing",
  "github.comment": OF_PERSONS,
  "gitlab.comment": OF_PERSONS,
  "github.status": OF_PERSONS,
  "gitlab.status": OF_PERSONS,
  "github.react": OF_PERSONS,
  "gitlab.react": OF_PERSONS,
  "line.push": OF_PERSONS,
  "outbox.diff": "changes nothing",
  "outbox.retry": OF_PERSONS,
  "outbox.drop": OF_PERSONS,
  "notification.test": OF_PERSONS,
  "connection.repair": OF_PERSONS,
  "db.vacuum": "changes no content",
};

Deno.test("those operations are audited that are listed so", () => {
  const names = filesBelow(SOURCES).flatMap(([, text]) =>
    Array.from(text.matchAll(/operation: "([a-z._]+)"/g), ([, name = ""]) => name)
  );
  // what tasks do beyond answers
  names.push(
    ...Object.entries(OUTPUT_OF).flatMap(([name, output]) =>
      DEFAULT_OUTPUTS.includes(output) || !Object.hasOwn(OPERATIONS, name) ? [] : [name]
    ),
  );
  const listed = [...Object.keys(AUDITED), ...Object.keys(AUDITED_ELSEWHERE)];
  deepEqual(names.toSorted(), listed.toSorted());
  deepEqual(
    [...listed, ...Object.keys(NOT_AUDITED)].toSorted(),
    Object.keys(OPERATIONS).toSorted(),
  );
  const ofPersons = Object.entries(NOT_AUDITED).filter(([, why]) => why === OF_PERSONS);
  deepEqual(ofPersons.map(([name]) => name).toSorted(), [...RECORDED_OF_PERSONS].toSorted());
});

type Row = Record<string, unknown>;

for (const [operation, line] of Object.entries<Line>(AUDITED)) {
  controlTest(`the audit of ${operation} says done, failed or denied`, async (rig) => {
    await rig.apply(toText([secretStore("keys", { one: "a secret of a channel" })]), CRD);
    await rig.apply(toText([trigger("hook", { condition: "true", webhook: WEBHOOK })]));
    await using receiver = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("ok"),
    );
    const token = await rig.client.call("token.create", {
      role: "operator",
      ttl_secs: 60,
      name: "t",
    });
    const port = (text: string) => text.replaceAll("PORT", String(receiver.addr.port));
    const call = async (made: Call, client = rig.client) => {
      const [name, input] = made(rig, token.id);
      const given = JSON.parse(port(JSON.stringify(input)));
      if (name !== "db.backup") {
        await client.call(name as "status", given);
        return;
      }
      for await (const said of client.stream("db.backup", given)) {
        if ("refused" in said) throw new Error(said.refused.message);
      }
    };
    const rows = async (): Promise<Row[]> => {
      const { items } = await rig.client.call("get", { what: "control-audit", limit: 99 });
      return (items as unknown as Row[]).filter((row) => row["target"] !== "t");
    };
    const target = port(line.target(rig, token.id));

    if (line.forOperators !== true) {
      using operator = connect({ socket: rig.dirs.socket }, token.token);
      await rejects(call(line.succeeds, operator));
      deepEqual((await rows()).map(({ operation, result }) => [operation, result]), [
        [operation, "denied"],
      ]);
    }
    const breaks = typeof line.fails === "string" ? line.fails : undefined;
    if (breaks === undefined) await Deno.writeTextFile(`${rig.dirs.root}/copy.db`, "in the way");
    using db = new DatabaseSync(rig.dirs.database);
    if (breaks !== undefined) db.exec(breaks);
    await rejects(call(typeof line.fails === "string" ? line.succeeds : line.fails));
    const [failed] = await rows();
    deepEqual([failed?.["operation"], failed?.["target"], failed?.["result"]], [
      operation,
      target,
      "failed",
    ]);
    match(String(failed?.["reason"]), line.reason);
    await Deno.remove(`${rig.dirs.root}/copy.db`).catch(() => {});
    if (breaks?.startsWith("CREATE")) db.exec("DROP TRIGGER broken");
    else if (breaks !== undefined) db.exec("ALTER TABLE elsewhere RENAME TO key_uses");

    await call(line.succeeds);
    const [done] = await rows();
    deepEqual(
      [done?.["operation"], done?.["target"], done?.["result"], done?.["reason"]],
      [operation, target, "done", null],
    );
    equal(typeof done?.["finished_at"], "string");
  });
}

Deno.test("a row says started while it lasts, and for good where its end cannot be written", async () => {
  await using temp = await tempStore();
  const lines: string[] = [];
  const host = {
    store: temp.store,
    clock: systemClock,
    newId: idFactory(systemClock),
    log: createLog({
      level: "info",
      format: "json",
      clock: systemClock,
      write: (line) => void lines.push(line),
    }),
    secrets: { redact: (text: string) => text.replace("hunter2", "***") },
  };
  const caller = { name: "socket", role: "admin" } as never;
  const what = { operation: "delete", targets: ["a", "b"], caller };
  const results = async () =>
    (await temp.store.listControl({ limit: 9 })).map(({ target, result }) => `${target} ${result}`);
  await using auditLog = createAuditLog(host);
  const { audited } = auditLog;
  const during = await audited(what, results);
  deepEqual(during, ["b started", "a started"]);
  deepEqual(await results(), ["b done", "a done"]);
  await audited({ ...what, targets: [] }, () => Promise.resolve());
  equal((await results()).length, 2);

  const failing = {
    ...temp.store,
    recordControl: temp.store.recordControl,
    finishControl: () => Promise.reject(new Error("no room")),
  };
  await using other = createAuditLog({ ...host, store: failing });
  const answer = await other.audited(what, () => Promise.resolve("the answer"));
  equal(answer, "the answer");
  deepEqual((await results()).slice(0, 2), ["b started", "a started"]);
  match(lines.join(""), /the end of an operation could not be written to the audit.*no room/);
});

Deno.test("refused calls of a run have a row at once, and one a minute with their number", async () => {
  await using temp = await tempStore();
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    format: "json",
    clock,
    write: (line) => void lines.push(line),
  });
  const host = { store: temp.store, clock, newId: idFactory(clock), log, secrets: known() };
  const rows = async () =>
    (await temp.store.listControl({ limit: 99 })).map(({ operation, caller, reason }) =>
      [operation, caller, reason].join(" ").trim()
    ).reverse();
  const step = (taskId: string): Caller => ({
    role: "read_only",
    name: "step",
    client: `client-${"abcdefghij"[lines.length % 10]}`,
    grant: { kind: "step", project: "default", taskId },
  });
  {
    await using auditLog = createAuditLog(host);
    for (let n = 0; n < 500; n++) await auditLog.auditRefusal("apply", step("t1"));
    await auditLog.auditRefusal("delete", step("t1"));
    await auditLog.auditRefusal("apply", step("t2"));
    deepEqual(await rows(), ["apply step", "delete step", "apply step"]);
    await clock.advance(60_000);
    await auditLog.auditRefusal("apply", step("t1"));
    deepEqual((await rows()).slice(3), ["apply step 499 calls within a minute"]);
    await auditLog.auditRefusal("apply", { role: "operator", name: "ci" });
    await auditLog.auditRefusal("apply", { role: "operator", name: "ci" });
  }
  deepEqual((await rows()).slice(4), ["apply ci", "apply ci", "apply step"]);
  equal(lines.length, 7);
});
