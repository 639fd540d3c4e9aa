/**
 * Approvals from outside: asked, shown, answered by those who may and by nobody else, least of all by the
 * steps of the task itself.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const OPEN = { webhook: { allowUnsigned: true } };

const person = (name: string, groups: string[] = [], role = "read_only"): Manifest => ({
  kind: "Person",
  metadata: { name },
  spec: { role, groups },
});

function workflow(name: string, approval: Record<string, unknown>, before = "true"): Manifest {
  const steps = [
    { id: "a", run: before },
    { id: "ok", approval: { ask: "Deploy {{ default(payload.n, 0) }}?", ...approval } },
    { id: "b", run: "true" },
  ];
  return { kind: "Workflow", metadata: { name }, spec: { steps } };
}

async function ask(daemon: TestDaemon, name: string, n = 1): Promise<string> {
  const { status, json } = await daemon.send(`/webhook/${name}`, { body: `{"n":${n}}` });
  equal(status, 200);
  const id = String(json["task_id"]);
  await until(`task ${id} waits`, async () => {
    const task = await daemon.json("get", "task", id) as { state: string };
    return task.state === "waiting" || undefined;
  });
  return id;
}

async function tokenOf(daemon: TestDaemon, name: string): Promise<Record<string, string>> {
  const made = await daemon.svc(["token", "create", "--person", name, "-o", "json"]);
  equal(made.code, 0, made.stderr);
  return { SVC_TOKEN: (JSON.parse(made.stdout) as { token: string }).token };
}

interface Listed {
  readonly task_id: string;
  readonly digest: string;
  readonly protection: string;
}

const digestOf = async (daemon: TestDaemon, id: string) =>
  (await daemon.json("get", "approvals") as Listed[]).find((one) => one.task_id === id)?.digest
    .slice(0, 8) ?? "";

programTest("two people approve, each once, and everybody is told the truth", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const by = ["ada", "@ops"];
  await daemon.apply(
    person("ada"),
    person("bob", ["ops"]),
    person("eve"),
    workflow("ship", { by, need: 2, fields: { where: { type: "choice", of: ["eu", "us"] } } }),
    trigger("ship", { ...OPEN, workflow: "ship" }),
  );
  const [ada, bob, eve] = [
    await tokenOf(daemon, "ada"),
    await tokenOf(daemon, "bob"),
    await tokenOf(daemon, "eve"),
  ];
  const id = await ask(daemon, "ship", 7);
  const digest = await digestOf(daemon, id);
  const answer = (verb: string, env: Record<string, string>, ...more: string[]) =>
    daemon.svc(["task", verb, id, "ok", "--digest", digest, "--yes", ...more], { env });

  match((await daemon.svc(["get", "approvals"])).stdout, /ok +ada,@ops +0 of 2/);
  match(
    (await daemon.svc(["status"])).stdout,
    /\napprovals: +1 question waits for people, the oldest for \S+: svc get approvals\n/,
  );
  match((await daemon.svc(["get", "task", id])).stdout, /asks ada, @ops/);
  const shown = await daemon.svc(["task", "approve", id], { env: ada });
  match(shown.stderr, /Deploy 7\?/);
  match(shown.stderr, /where \(eu, us\): has to be given/);
  match(shown.stderr, /this guards against mistakes only/);

  match((await answer("approve", eve)).stderr, /eve is not among those who may answer: ada, @ops/);
  match((await answer("approve", {})).stderr, /an operator is not among those who may answer/);
  match((await answer("approve", ada)).stderr, /"where" has no value: give it with --set where=eu/);
  const old = await daemon.svc(["task", "approve", id, "--digest", "00000000", "--yes"], {
    env: ada,
  });
  match(old.stderr, new RegExp(`its digest is ${digest} now`));

  match((await answer("approve", ada, "--set", "where=eu")).stdout, /your answer counts, 1 of 2/);
  match((await answer("approve", ada, "--set", "where=eu")).stdout, /your answer already, 1 of 2/);
  match(
    (await answer("approve", bob, "--set", "where=us")).stderr,
    /ada has approved with another/,
  );
  match(
    (await answer("approve", bob, "--set", "where=eu")).stdout,
    /approved, and the task goes on/,
  );
  equal((await daemon.svc(["task", "wait", id])).code, 0);
  match((await answer("reject", eve)).stderr, /ada and bob approved it|has ended/);
  match((await daemon.svc(["describe", `task/${id}`])).stdout, /approved by ada and bob/);
  const audit = JSON.stringify(await daemon.json("get", "control-audits"));
  match(audit, new RegExp(`task/${id}.ok approved ${digest} cli`));
  match(audit, /eve is not among those who may answer/);
});

programTest(
  "four eyes: who fired, sent, redelivered or retried it is known, and is refused",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const names = ["ada", "bob", "eve"];
    await daemon.apply(
      ...names.map((name) => person(name, ["ops"], "operator")),
      workflow("ship", { by: ["@ops"], fourEyes: true }),
      trigger("ship", { ...OPEN, workflow: "ship" }),
    );
    const [ada = {}, bob = {}, eve = {}] = await Promise.all(
      names.map((one) => tokenOf(daemon, one)),
    );
    const waitingTask = async (known: readonly string[]) => {
      const id = await until("another task waits", async () => {
        const open = await daemon.json("get", "approvals") as Listed[];
        return open.find(({ task_id: one }) => !known.includes(one))?.task_id;
      });
      const digest = await digestOf(daemon, id);
      const answer = async (verb: string, env: Record<string, string>) => {
        const args = ["task", verb, id, "ok", "--digest", digest, "--yes"];
        const { stdout, stderr } = await daemon.svc(args, { env });
        return `${stdout}${stderr}`;
      };
      return { id, answer };
    };

    const fired = await daemon.svc(["trigger", "fire", "ship"], { env: ada });
    equal(fired.code, 0, fired.stderr);
    const first = await waitingTask([]);
    match(await first.answer("approve", ada), /ada has started the task, and somebody else has to/);
    match(await first.answer("reject", bob), /rejected/);
    equal((await daemon.svc(["task", "wait", first.id])).code, 1);

    equal((await daemon.svc(["task", "retry", first.id], { env: bob })).code, 0);
    const second = await waitingTask([first.id]);
    match(await second.answer("approve", ada), /ada has started the task/);
    match(await second.answer("approve", bob), /bob has retried the task/);
    match(await second.answer("approve", eve), /approved, and the task goes on/);
    equal((await daemon.svc(["task", "wait", second.id])).code, 0);
    match((await daemon.svc(["describe", `task/${second.id}`])).stdout, /\nRetried by: +bob\n/);

    const [delivery] = await daemon.json("get", "deliveries") as { readonly id: string }[];
    const again = await daemon.svc(["delivery", "redeliver", delivery?.id ?? ""], { env: eve });
    equal(again.code, 0, again.stderr);
    const third = await waitingTask([first.id, second.id]);
    match(await third.answer("approve", eve), /eve has redelivered the task/);
    match(await third.answer("approve", ada), /ada has started the task/);
    match(await third.answer("approve", bob), /approved, and the task goes on/);
    const [newest] = await daemon.json("get", "deliveries") as { readonly id: string }[];
    const shown = await daemon.svc(["describe", `delivery/${newest?.id}`]);
    match(shown.stdout, /\nRedelivered by: +eve\n/);

    // An event that somebody has svc sign may name any user: who had it signed has started the task.
    const file = `${daemon.dataDir}/event.json`;
    await Deno.writeTextFile(file, '{"sender":{"login":"eve","id":7}}');
    const sent = await daemon.svc(["trigger", "send", "ship", "-f", file], { env: bob });
    equal(sent.code, 0, sent.stderr);
    const signed = await waitingTask([first.id, second.id, third.id]);
    const [own] = await daemon.json("get", "deliveries") as { readonly id: string }[];
    match((await daemon.svc(["describe", `delivery/${own?.id}`])).stdout, /\nSent by: +bob\n/);
    match(await signed.answer("approve", bob), /bob has started the task/);
    match(await signed.answer("reject", ada), /rejected/);
    await daemon.svc(["delivery", "redeliver", own?.id ?? ""], { env: eve });
    const repeated = await waitingTask([first.id, second.id, third.id, signed.id]);
    match(await repeated.answer("approve", bob), /bob has started the task/);
    match(await repeated.answer("approve", ada), /approved, and the task goes on/);

    // Nobody in particular may be any of them.
    equal((await daemon.svc(["task", "retry", third.id])).code, 0);
    const last = await waitingTask([first, second, third, signed, repeated].map(({ id }) => id));
    match(await last.answer("approve", bob), /whether bob is somebody else than an operator/);
  },
);

programTest("a rejection ends it, and an admin answers for others with a token", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(
    person("ada"),
    workflow("ship", { by: ["ada"] }),
    trigger("ship", { ...OPEN, workflow: "ship" }),
  );
  const ada = await tokenOf(daemon, "ada");
  const one = await ask(daemon, "ship", 1);
  const digest = await digestOf(daemon, one);
  const no = [
    "task",
    "reject",
    one,
    "ok",
    "--digest",
    digest,
    "--yes",
    "--comment",
    "wrong branch",
  ];
  equal((await daemon.svc(no, { env: ada })).code, 0);
  equal((await daemon.svc(["task", "wait", one])).code, 1);
  match((await daemon.svc(["get", "task", one])).stdout, /rejected by ada: wrong branch/);

  const two = await ask(daemon, "ship", 2);
  const force = [
    "--digest",
    await digestOf(daemon, two),
    "--yes",
    "--force",
    "--reason",
    "on call",
  ];
  match(
    (await daemon.svc(["task", "approve", two, ...force])).stderr,
    /Only a token with the role admin answers in the place of others, never the bare socket/,
  );
  const made = await daemon.svc([
    "token",
    "create",
    "--role",
    "admin",
    "--name",
    "root",
    "-o",
    "json",
  ]);
  const root = { SVC_TOKEN: (JSON.parse(made.stdout) as { token: string }).token };
  const forced = await daemon.svc(["task", "approve", two, ...force], { env: root });
  equal(forced.code, 0, forced.stderr);
  equal((await daemon.svc(["task", "wait", two])).code, 0);
  const described = (await daemon.svc(["describe", `task/${two}`])).stdout;
  match(described, /approved by token root: forced: on call/);
});

programTest("a role that was lowered after the question counts at the answer", async (program) => {
  await using daemon = await startDaemon(program);
  const of = (role: string) => [person("ada", [], role), person("bob", [], role)];
  await daemon.apply(
    ...of("admin"),
    workflow("w", { by: ["bob"] }),
    trigger("w", { ...OPEN, workflow: "w" }),
  );
  const [one, two] = [await ask(daemon, "w", 1), await ask(daemon, "w", 2)];
  const [ada, bob] = [await tokenOf(daemon, "ada"), await tokenOf(daemon, "bob")];
  const digestOf = async (id: string) => {
    const open = await daemon.json("get", "approvals") as { task_id: string; digest: string }[];
    return open.find(({ task_id: of }) => of === id)?.digest ?? "";
  };
  const force = ["--force", "--reason", "on call"];
  const answer = async (id: string, env: Record<string, string>, more: readonly string[] = []) => {
    const shown = ["--digest", await digestOf(id), "--yes"];
    return await daemon.svc(["task", "approve", id, ...shown, ...more], { env });
  };
  await daemon.apply(...of("operator"));
  const late = await answer(one, ada, force);
  equal(late.code === 0, false);
  match(late.stderr, /Only a token with the role admin answers .*, and yours acts as operator/);
  equal((await daemon.json("get", "approvals") as unknown[]).length, 2, "that was no answer");
  await daemon.apply(...of("read_only"));
  const named = await answer(one, bob);
  equal(named.code, 0, named.stderr); // to be named in the question is enough
  await daemon.apply(...of("admin"));
  equal((await answer(two, ada, force)).code, 0, "and it is raised again");
  for (const { state } of await daemon.settled()) equal(state, "succeeded");
});

programTest("no step answers the question of its task, with or without its run token", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const tries = [
    "svc get approvals -o json > seen || true",
    'd=$(sed -n \'s/.*"digest": *"\\([0-9a-f]*\\)".*/\\1/p\' seen | head -n 1)',
    'svc task approve "$SVC_TASK_ID" ok --digest "$d" --yes > by-token 2>&1 || true',
    'SVC_RUN_TOKEN= svc task approve "$SVC_TASK_ID" ok --digest "$d" --yes > bare 2>&1 || true',
    'SVC_RUN_TOKEN= svc task approve "$SVC_TASK_ID" ok --digest "$d" --yes --force --reason x > forced 2>&1 || true',
  ].join("\n");
  const steps = [
    { id: "ok", needs: [], approval: { ask: "Deploy?", by: ["ada"], timeout: "1h" } },
    {
      id: "c",
      needs: [],
      run: `while ! svc get approvals | grep -q ok; do sleep 0.2; done\n${tries}`,
    },
  ];
  await daemon.apply(
    person("ada"),
    { kind: "Workflow", metadata: { name: "ship" }, spec: { steps } },
    trigger("ship", { ...OPEN, workflow: "ship" }),
  );
  const id = await ask(daemon, "ship");
  const said = async (name: string) =>
    await Deno.readTextFile(`${await directoryOf(daemon, id)}/${name}`);
  match(await said("by-token"), /The run token of a step does not allow this/);
  match(await said("bare"), /an operator is not among those who may answer: ada/);
  match(await said("forced"), /never the bare socket/);
  const [open] = await daemon.json("get", "approvals") as Listed[];
  deepEqual([open?.task_id, open?.protection], [id, "none"]);
  match(
    JSON.stringify(await daemon.json("get", "control-audits")),
    /approval\.answer.*denied|denied.*approval\.answer/,
  );
});

async function directoryOf(daemon: TestDaemon, id: string): Promise<string> {
  return (await daemon.svc(["task", "workspace", id])).stdout.trim();
}
