/**
 * Who may use which operation, asked of the control server itself: every operation, by every
 * caller. A new operation does not compile here without its line, and nobody may use what its line
 * leaves out.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { ofForge } from "../../src/base/forge_names.ts";
import { ATTACHED_TYPE } from "../../src/api/attached_type.ts";
import { defineOperation, json } from "../../src/api/operation.ts";
import {
  findOperation,
  type Input,
  type OperationName,
  OPERATIONS,
} from "../../src/api/operations.ts";
import { RUN_KINDS, type RunKind } from "../../src/api/roles.ts";
import { type Role, ROLES } from "../../src/base/roles.ts";
import { checkCaller, checkOwn } from "../../src/auth/authorize.ts";
import { identify, identifyByToken } from "../../src/auth/caller.ts";
import { type Grant, RunTokens } from "../../src/auth/run_tokens.ts";
import { keepToken, newToken } from "../../src/auth/tokens.ts";
import type { RecordName } from "../../src/resources/record_names.ts";
import { systemClock } from "../../src/base/clock.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { AppError } from "../../src/base/errors.ts";
import { idFactory } from "../../src/base/ids.ts";
import { RuntimeFiles } from "../../src/base/runtime_files.ts";
import { createLog } from "../../src/base/log.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { controlHandler, type Handlers } from "../../src/control/server/server.ts";
import { known } from "../helpers/known_secrets.ts";
import { tempStore } from "../helpers/temp_store.ts";

/** What an input names: what is the run's own, or what is not. */
interface Named {
  readonly task: string;
  readonly delivery: string;
  readonly project: string;
}

const OWN: Named = { task: "01OWNTASK", delivery: "01OWNDELIVERY", project: "team" };
const OTHER: Named = { task: "01STRANGETASK", delivery: "01STRANGEDELIVERY", project: "default" };

/** Who may use one operation; a run that is left out may not. */
interface Line<Name extends OperationName> {
  readonly role: Role;
  readonly step?: "all" | "own";
  readonly plugin?: "all" | "own";
  readonly cron?: "all" | "own";
  readonly input: (named: Named) => Input<Name>;
}

const READ = { role: "read_only", step: "all", plugin: "all", cron: "all" } as const;
const OPERATE = { role: "operator" } as const;
const ADMINISTER = { role: "admin" } as const;

const none = () => ({});
const id = ({ task }: Named) => ({ id: task });
const trigger = ({ project }: Named) => ({ name: "push", project });

const CHANGE = { start: "a".repeat(40), tree: "b".repeat(40) };

/** The operations of each forge. */
const AT_FORGE = {
  comment: { ...OPERATE, step: "own", input: ({ task }: Named) => ({ task, text: "x" }) },
  status: {
    ...OPERATE,
    step: "own",
    input: ({ task }: Named) => ({ task, state: "success", context: "x" } as const),
  },
  react: {
    ...OPERATE,
    step: "own",
    input: ({ task }: Named) => ({ task, content: "eyes" } as const),
  },
  issue_create: {
    ...OPERATE,
    step: "own",
    input: ({ task }: Named) => ({ task, title: "x", body: "x" }),
  },
  label: { ...OPERATE, step: "own", input: ({ task }: Named) => ({ task, add: ["x"] }) },
  review: { ...OPERATE, step: "own", input: ({ task }: Named) => ({ task, body: "x" }) },
  may: { role: "read_only", step: "own", input: ({ task }: Named) => ({ task }) },
  checks: {
    role: "read_only",
    step: "own",
    input: ({ task }: Named) => ({ task, commit: CHANGE.start }),
  },
  push: { ...OPERATE, step: "own", input: ({ task }: Named) => ({ task, ...CHANGE }) },
} as const;
const CREATE_PULL = {
  ...OPERATE,
  step: "own",
  input: ({ task }: Named) => ({ task, title: "x", ...CHANGE }),
} as const;
const UPDATE_PULL = {
  ...OPERATE,
  step: "own",
  input: ({ task }: Named) => ({ task, title: "x" }),
} as const;

const EXPECTED: { readonly [Name in OperationName]: Line<Name> } = {
  "connect.github": { ...ADMINISTER, input: () => ({ repository: "a/b" }) },
  "connect.gitlab": { ...ADMINISTER, input: () => ({ repository: "a/b" }) },
  "connect.github_manifest": {
    ...ADMINISTER,
    input: () => ({ url: "https://hooks.example.com", redirect_url: "https://svc.invalid/" }),
  },
  "connect.github_app": { ...ADMINISTER, input: () => ({ url: "https://hooks.example.com" }) },
  "connect.slack": { input: () => ({ name: "slack" }), role: "admin" },
  "connect.line": { input: () => ({ url: "https://hooks.example.com" }), role: "admin" },
  "connection.repair": { ...OPERATE, input: () => ({ name: "x", dry_run: true }) },
  "connection.disconnect": { ...ADMINISTER, input: () => ({ name: "x", all: false }) },
  "status": { ...READ, input: none },
  "stats": { ...READ, input: none },
  "apply": { ...OPERATE, input: () => ({ files: [], dry_run: false }) },
  "get": { ...READ, input: () => ({ what: "task" }) },
  "get.watch": { ...READ, input: () => ({ what: "task" }) },
  "watch": {
    ...READ,
    input: ({ task }) => ({ subjects: [{ key: "a", get: { what: "task" } }, { key: "b", task }] }),
  },
  "describe": { ...READ, input: () => ({ what: "task", name: "x", reveal: true }) },
  "delete": { ...OPERATE, input: () => ({ targets: [{ what: "workflow", names: ["x"] }] }) },
  "secret.rotate": {
    ...OPERATE,
    cron: "own",
    input: ({ project }) => ({ store: "s", key: "k", value: "v", project, create: false }),
  },
  "secret.remove": {
    ...OPERATE,
    cron: "own",
    input: ({ project }) => ({ store: "s", key: "k", project, force: false }),
  },
  "sandbox.show": { role: "read_only", input: none },
  "agent.check": { ...ADMINISTER, input: () => ({ name: "x", prompt: false }) },
  "sandbox.try": { ...ADMINISTER, input: () => ({ command: ["true"], directory: "/srv" }) },
  "task": { ...READ, input: id },
  "task.logs": { ...READ, input: ({ task }) => ({ id: task, follow: false }) },
  "task.plan": { ...READ, input: id },
  "task.waits": { ...READ, input: id },
  "task.log.read": { ...READ, input: id },
  "task.wait": { ...READ, input: ({ task }) => ({ ids: [task] }) },
  "task.workspace": { ...READ, input: id },
  "task.workspace.clean": { ...OPERATE, input: id },
  "task.cancel": { ...OPERATE, step: "own", input: ({ task }) => ({ ids: [task] }) },
  "approval": { role: "read_only", input: id },
  "approval.answer": {
    role: "read_only",
    input: ({ task }) => ({ id: task, answer: "approved", digest: "00000000" } as const),
  },
  "task.continue": { ...OPERATE, input: ({ task }) => ({ id: task, step: "build", reason: "x" }) },
  "task.cancel.matching": { ...OPERATE, input: () => ({ trigger: "push" }) },
  "task.retry.matching": { ...OPERATE, input: () => ({ state: "failed" }) },
  "task.retry": { ...OPERATE, input: id },
  "task.delete": { ...ADMINISTER, input: id },
  "task.look": { role: "read_only", step: "own", input: ({ task }) => ({ task }) },
  "task.inbox": { role: "read_only", step: "own", input: id },
  "task.inbox.send": {
    ...OPERATE,
    step: "own",
    input: ({ task }) => ({ id: task, text: "x" }),
  },
  "trigger.test": { ...OPERATE, input: (named) => ({ ...trigger(named), ...REQUEST }) },
  "trigger.backtest": {
    ...OPERATE,
    input: (named) => ({ ...trigger(named), since_secs: 60 }),
  },
  "trigger.send": { ...OPERATE, input: (named) => ({ ...trigger(named), body: "" }) },
  "trigger.sign": { ...ADMINISTER, input: (named) => ({ ...trigger(named), body: "" }) },
  "trigger.fire": { ...OPERATE, input: (named) => ({ ...trigger(named), payload: "{}" }) },
  "trigger.suspend": { ...OPERATE, input: trigger },
  "trigger.resume": { ...OPERATE, input: trigger },
  "delivery.explain": { ...READ, input: ({ delivery }) => ({ id: delivery }) },
  "delivery.show": { ...OPERATE, step: "own", input: ({ delivery }) => ({ id: delivery }) },
  "delivery.delete": { ...ADMINISTER, input: ({ delivery }) => ({ id: delivery }) },
  "delivery.redeliver": { ...OPERATE, input: ({ delivery }) => ({ id: delivery }) },
  "source.replay": { ...OPERATE, input: () => ({ id: "01EVENT" }) },
  "source.bind": { ...OPERATE, input: ({ task }) => ({ id: "01EVENT", task }) },
  "conversation.bind": {
    ...OPERATE,
    input: ({ task }) => ({ name: "comments", key: "a/b#1", task }),
  },
  "slack.reply": { ...OPERATE, step: "own", input: ({ task }) => ({ task, text: "x" }) },
  ...ofForge("github", AT_FORGE),
  ...ofForge("gitlab", AT_FORGE),
  "github.pr_create": CREATE_PULL,
  "github.pr_update": UPDATE_PULL,
  "gitlab.mr_create": CREATE_PULL,
  "gitlab.mr_update": UPDATE_PULL,
  "github.check": {
    ...OPERATE,
    step: "own",
    input: ({ task }) => ({ task, name: "x", status: "in_progress" }),
  },
  "line.push": { ...OPERATE, step: "own", input: ({ task }) => ({ task, text: "x" }) },
  "outbox.wait": { ...READ, input: () => ({ id: "01MESSAGE" }) },
  "mcp.tools": { role: "read_only", step: "own", input: ({ task }) => ({ task }) },
  "outbox.retry": { ...OPERATE, input: () => ({ id: "01MESSAGE" }) },
  "notification.test": {
    ...OPERATE,
    input: ({ project }) => ({ name: "n", project }),
  },
  "outbox.send": { ...OPERATE, input: () => ({ id: "01MESSAGE" }) },
  "outbox.diff": { role: "read_only", input: () => ({ id: "01MESSAGE" }) },
  "outbox.drop": { ...OPERATE, input: () => ({ id: "01MESSAGE" }) },
  "token.create": {
    ...ADMINISTER,
    input: () => ({ role: "read_only", ttl_secs: 60, name: "x" }),
  },
  // only of a gateway, which a role says nothing about
  "person.login": { role: "read_only", input: none },
  "token.revoke": { ...ADMINISTER, input: () => ({ id: "01TOKEN" }) },
  "node.drain": { ...OPERATE, input: () => ({ name: "box", drained: true }) },
  "node.forget": { ...ADMINISTER, input: () => ({ name: "box", force: true }) },
  "pause": { ...OPERATE, input: () => ({ reason: "x" }) },
  "pause.running": { role: "read_only", input: none },
  "resume": { ...OPERATE, input: none },
  "audit.verify": { ...READ, input: none },
  "db.backup": { ...ADMINISTER, input: () => ({ file: "/x", force: false }) },
  "db.check": { ...OPERATE, input: none },
  "db.usage": { ...OPERATE, input: none },
  "db.vacuum": { ...OPERATE, input: none },
  "doctor": { ...OPERATE, input: none },
};

const REQUEST = { body: "", headers: {}, sign: false };

const GRANTS: Readonly<Record<RunKind, Grant>> = {
  step: { kind: "step", project: OWN.project, taskId: OWN.task, deliveryId: OWN.delivery },
  plugin: { kind: "plugin", project: OWN.project },
  cron: { kind: "cron", project: OWN.project },
};

const NAMES = Object.keys(EXPECTED) as OperationName[];
/** Of any operation: what ties a name to its input is checked above. */
const lineOf = (name: OperationName) => EXPECTED[name] as Line<never>;

/** Completes the ids above from their beginnings; others are taken as they are. */
function resolve(record: RecordName, given: string): Promise<string> {
  if (record !== "task" && record !== "delivery") return Promise.resolve(given);
  const found = [OWN[record], OTHER[record]].find((whole) => whole.startsWith(given));
  return found === undefined
    ? Promise.reject(new AppError("not_found", `No ${record} "${given}"`))
    : Promise.resolve(found);
}

/** A control server whose operations do nothing but tell what they were given. */
async function serverRig() {
  const temp = await tempStore();
  const dirs = dataDirAt(temp.dir);
  await Deno.mkdir(dirs.controlPlane, { recursive: true, mode: 0o700 });
  const tokens = new RunTokens();
  const clock = systemClock;
  const newId = idFactory(clock);
  const ran: { name: string; input: unknown }[] = [];
  const refused: string[] = [];
  const handlers = Object.fromEntries(
    Object.entries(OPERATIONS).map(([name, { output }]) => {
      const note = (input: unknown) => void ran.push({ name, input });
      const call = (input: unknown) => Promise.resolve(note(input)).then(() => ({}));
      async function* stream(input: unknown) {
        yield await call(input);
      }
      return [name, output.form === "lines" ? stream : call];
    }),
  ) as unknown as Handlers;
  const host = {
    handlers,
    resolve,
    events: new EventHub<DaemonEvents>({ error() {} }),
    auditRefusal: (operation: string) => Promise.resolve(void refused.push(operation)),
    metrics: () => Promise.resolve(new Response("")),
    signal: new AbortController().signal,
    log: createLog({ level: "error", format: "json", clock, write: () => {} }),
    newId,
    runtime: { filesOf: (name: string) => new RuntimeFiles(name, temp.dir, undefined) },
    clock,
    secrets: known(),
  };
  const base = { store: temp.store, catalog: new Catalog(), clock, newId, dirs, tokens };
  const onSocket = controlHandler({ ...host, identify: (request) => identify(request, base) });
  const overNetwork = controlHandler({
    ...host,
    identify: (request) => identifyByToken(request, base),
  });
  return {
    dirs,
    tokens,
    ran,
    refused,
    async bearer(role: Role): Promise<string> {
      const made = newToken({ role, ttlSecs: 60, name: role }, base);
      await keepToken(made, temp.store);
      return made.token;
    },
    /** Calls an operation; gives the code of its refusal, `unknown token`, or `done`. */
    async call(
      name: string,
      input: unknown,
      { token, network = false }: { token?: string; network?: boolean } = {},
    ): Promise<string> {
      const isAttached = findOperation(name)?.attachment !== undefined;
      const [before, refusals] = [ran.length, refused.length];
      const response = await (network ? overNetwork : onSocket)(
        new Request(`http://svc/v1/${name}`, {
          method: "POST",
          body: JSON.stringify(input) + (isAttached ? "\nbytes" : ""),
          headers: {
            "content-type": isAttached ? ATTACHED_TYPE : "application/json",
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
        }),
      );
      const text = await response.text();
      const { code: refusal, detail } = response.ok
        ? { code: "done", detail: "" }
        : JSON.parse(text);
      const code = /^Unknown or expired token/.test(detail) ? "unknown token" : String(refusal);
      equal(
        ran.length - before,
        code === "done" ? 1 : 0,
        `${name}: ${code}, yet it ran or did not`,
      );
      equal(refused.length - refusals, code === "forbidden" ? 1 : 0, `${name}: audited`);
      return code;
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

const atLeast = (role: Role, needed: Role) => ROLES.indexOf(role) >= ROLES.indexOf(needed);

for (const role of ROLES) {
  Deno.test(`a caller of role ${role} may use exactly what takes no higher role`, async () => {
    await using rig = await serverRig();
    await Deno.writeTextFile(rig.dirs.udsPolicy, `max_role: ${role}\n`, { mode: 0o600 });
    const token = await rig.bearer(role);
    for (const name of NAMES) {
      const line = lineOf(name);
      const expected = atLeast(role, line.role) ? "done" : "forbidden";
      const input = line.input(OTHER);
      equal(await rig.call(name, input), expected, `${name} on the socket`);
      equal(await rig.call(name, input, { token }), expected, `${name} by token on the socket`);
      equal(await rig.call(name, input, { token, network: true }), expected, `${name} by token`);
    }
    const unknown = role === "admin" ? "not_found" : "forbidden";
    equal(await rig.call("nonsense", {}), unknown);
    equal(rig.refused.filter((name) => name === "nonsense").length, 0, "its text is anybody's");
  });
}

for (const kind of RUN_KINDS) {
  Deno.test(`the run token of a ${kind} allows what is granted, whatever the policy says`, async () => {
    await using rig = await serverRig();
    using issued = rig.tokens.issue(GRANTS[kind]);
    for (const policy of ROLES) {
      await Deno.writeTextFile(rig.dirs.udsPolicy, `max_role: ${policy}\n`, { mode: 0o600 });
      for (const name of NAMES) {
        const { [kind]: reach, input } = lineOf(name);
        const call = (named: Named) => rig.call(name, input(named), { token: issued.token });
        const outcomes = [await call(OWN), await call(OTHER)];
        const other = reach === "all" ? "done" : "forbidden";
        deepEqual(outcomes, [reach === undefined ? "forbidden" : "done", other], name);
        const { token } = issued;
        const overNetwork = await rig.call(name, input(OWN), { token, network: true });
        equal(overNetwork, "unknown token", `${name}: run tokens are for the socket`);
      }
      equal(await rig.call("nonsense", {}, { token: issued.token }), "forbidden");
    }
  });
}

Deno.test("the run token of a step with control: task allows what is its own, and nothing else", async () => {
  await using rig = await serverRig();
  using issued = rig.tokens.issue({ ...GRANTS.step, ownOnly: true });
  const { token } = issued;
  let allowed = 0;
  for (const name of NAMES) {
    const { step, input } = lineOf(name);
    const call = (named: Named) => rig.call(name, input(named), { token });
    const own = step === "own" ? "done" : "forbidden";
    deepEqual([await call(OWN), await call(OTHER)], [own, "forbidden"], name);
    if (own === "done") allowed++;
  }
  ok(allowed > 8, `${allowed} allowed`);
});

Deno.test("a run token allows nothing once its run is over", async () => {
  await using rig = await serverRig();
  const issued = rig.tokens.issue(GRANTS.step);
  equal(await rig.call("status", {}, { token: issued.token }), "done");
  issued[Symbol.dispose]();
  equal(await rig.call("status", {}, { token: issued.token }), "unknown token");
});

Deno.test("a run that names the beginning of an id acts on the whole id", async () => {
  await using rig = await serverRig();
  using issued = rig.tokens.issue(GRANTS.step);
  const { token } = issued;
  const asStep = async (name: string, input: unknown) => {
    const code = await rig.call(name, input, { token });
    return code === "done" ? rig.ran.at(-1)?.input : code;
  };
  deepEqual(await asStep("task.cancel", { ids: ["01OWN", OWN.task], reason: "x" }), {
    ids: [OWN.task, OWN.task],
    reason: "x",
  });
  deepEqual(await asStep("slack.reply", { task: "01O", text: "x" }), { task: OWN.task, text: "x" });
  deepEqual(await asStep("delivery.show", { id: "01O" }), { id: OWN.delivery });
  equal(await asStep("task.cancel", { ids: [OWN.task, OTHER.task] }), "forbidden");
  equal(await asStep("task.cancel", { ids: [OTHER.task, OWN.task] }), "forbidden");
  // Not even whether there are others with such an id is said to a run.
  equal(await asStep("task.cancel", { ids: [OWN.task, "01NONE"] }), "forbidden");
  equal(await asStep("task.cancel", { ids: [] }), "invalid");
  equal(await asStep("task.inbox", { id: "01NONE" }), "forbidden");
});

Deno.test("a cron plugin that names no project means the default one", async () => {
  await using rig = await serverRig();
  const input = { store: "s", key: "k", value: "v", create: false };
  for (const [project, expected] of [["team", "forbidden"], ["default", "done"]] as const) {
    using issued = rig.tokens.issue({ kind: "cron", project });
    equal(await rig.call("secret.rotate", input, { token: issued.token }), expected, project);
  }
});

/** The message of a refusal; `allowed` when there is none. */
async function refusal(check: () => unknown): Promise<string> {
  try {
    await check();
    return "allowed";
  } catch (error) {
    ok(error instanceof AppError && error.code === "forbidden", String(error));
    return error.message;
  }
}

Deno.test("an operation that says neither role nor grants is for admins, and for no run", async () => {
  const silent = defineOperation({ summary: "x", input: {}, output: json<unknown>() });
  for (const role of ROLES) {
    equal(
      await refusal(() => checkCaller(silent, { role, name: "socket" })),
      role === "admin" ? "allowed" : `This needs the role admin, and you have ${role}`,
    );
  }
  for (const kind of RUN_KINDS) {
    const caller = { role: "admin", name: kind, grant: GRANTS[kind] } as const;
    equal(
      await refusal(() => checkCaller(silent, caller)),
      `The run token of a ${kind === "cron" ? "cron plugin" : kind} does not allow this`,
    );
    ok(await refusal(() => checkOwn({}, silent, caller)) !== "allowed");
  }
});

Deno.test("nothing is a run's own that the run has not, or that is not named", async () => {
  const access = { role: "admin", grants: { step: { own: "task", in: "ids" } } } as const;
  const check = (grant: Grant, input: Record<string, never[] | string>) =>
    refusal(() => checkOwn(input, access, { role: "read_only", name: "step", grant }));
  const only = "The run token of a step allows this only with its own task";
  equal(await check({ kind: "step", project: "team" }, { ids: OWN.task }), only);
  equal(await check(GRANTS.step, { ids: [] }), only);
  equal(await check(GRANTS.step, { ids: OTHER.task }), only);
  equal(await check(GRANTS.step, { ids: OWN.task }), "allowed");
});
