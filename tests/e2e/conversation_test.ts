/**
 * Conversations from outside: the example of docs/workflows.md, and messages that nobody has read when
 * their task ends.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { programTest, ROOT, slowTest } from "../helpers/program.ts";
import { until, untilFile } from "../helpers/until.ts";

type Listed = Readonly<Record<string, unknown>> & { readonly id: string };

const tasksOf = async (daemon: TestDaemon) =>
  (await daemon.settled()).toSorted((a, b) => a.id < b.id ? -1 : 1) as unknown as Listed[];

/** Writes a comment on an issue; gives the task that it went to. */
async function comment(daemon: TestDaemon, text: string, issue = 7): Promise<string> {
  const body = JSON.stringify({
    repository: { full_name: "acme/site" },
    issue: { number: issue },
    comment: { body: text },
  });
  const { status, json } = await daemon.send("/webhook/comments", { body });
  deepEqual([status, json["status"]], [200, "accepted"]);
  return String(json["task_id"]);
}

/** The text of the comment that started a task. */
async function startedBy(daemon: TestDaemon, task: Listed): Promise<string> {
  const shown = await daemon.svc(["delivery", "show", String(task["delivery_id"]), "--body"]);
  return JSON.parse(shown.stdout).comment.body;
}

programTest("the example of the manual: comments go to the task that is open", async (program) => {
  await using daemon = await startDaemon(program);
  const page = await Deno.readTextFile(join(ROOT, "docs/workflows.md"));
  const [, example = ""] = /## Conversations\n[^]*?```yaml\n([^]*?)```/.exec(page) ?? [];
  const site = `---\nkind: Workspace\nmetadata: {name: site}\nspec: {path: ${daemon.workspace}}\n`;
  const file = `${daemon.workspace}/example.yaml`;
  await Deno.writeTextFile(file, `${example}${site}`);
  await Deno.writeTextFile(
    `${daemon.workspace}/work.sh`,
    "echo > begun; until [ -e go ]; do sleep 0.05; done",
  );
  const applied = await daemon.svc(["apply", "-f", file]);
  equal(applied.code, 0, applied.stderr);
  const first = await comment(daemon, "please build it");
  await untilFile(`${daemon.workspace}/begun`);
  for (const text of ["and test it", "and deploy it"]) equal(await comment(daemon, text), first);
  const inbox = await daemon.svc(["task", "inbox", first]);
  equal(inbox.stdout.split("\n").length, 3);
  const table = await daemon.svc(["task", "inbox", first, "-o", "table"]);
  match(table.stdout, / comments +and test it\n/, "the trigger stands in the place of a sender");
  const [newest] = await daemon.json("get", "deliveries") as { reason: string }[];
  equal(newest?.reason, `to the inbox of task ${first}`);
  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  const read = (await untilFile(`${daemon.workspace}/comments`)).trimEnd().split("\n");
  deepEqual(read.map((line) => JSON.parse(line).text), ["and test it", "and deploy it"]);
  equal((await tasksOf(daemon)).length, 1);
  ok(await comment(daemon, "of another issue", 8) !== first);
  const next = await comment(daemon, "once more");
  const task = (await tasksOf(daemon)).find(({ id }) => id === next);
  equal(task?.["parent_id"], first);
});

const TALK = {
  key: 'payload.repository.full_name + "#" + string(payload.issue.number)',
  text: "{{ payload.comment.body }}",
};
const COMMENTS = trigger("comments", { webhook: { allowUnsigned: true }, workflow: "talk" });
const TALKING = { ...COMMENTS, spec: { ...COMMENTS.spec, conversation: TALK } };

programTest("who binds a conversation to a task sends its next events there", async (program) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(workflow("talk", "until [ -e go ]; do sleep 0.05; done"), TALKING, {
    ...COMMENTS,
    metadata: { name: "by-hand" },
  });
  const first = await comment(daemon, "begin");
  const { json } = await daemon.send("/webhook/by-hand", { body: "{}" });
  const other = String(json["task_id"]);
  equal(await comment(daemon, "one"), first);
  const bind = (...args: string[]) => daemon.svc(["conversation", "bind", ...args]);
  deepEqual(await bind("comments", "acme/site#7", other), {
    code: 0,
    stdout:
      `conversation comments/acme/site#7 bound to task/${other}, before that to task/${first}\n`,
    stderr: "",
  });
  equal(await comment(daemon, "two"), other);
  const unknown = await bind("coments", "acme/site#7", other);
  deepEqual([unknown.code, /did you mean "comments"\?/.test(unknown.stderr)], [4, true]);
  const taken = await bind("comments", "acme/site#8", other);
  equal(taken.code, 1);
  match(taken.stderr, /belongs to the conversation comments\/acme\/site#7 already/);
  const table = await daemon.svc(["get", "conversations"]);
  match(
    table.stdout,
    /^NAME +KEY +TASK +STATE +UNREAD +LAST\ncomments +acme\/site#7 +\S+ +\w+ +1 +\d/,
  );
  const described = await daemon.svc(["describe", `task/${other}`]);
  match(
    described.stdout,
    /\nConversation: +comments\/acme\/site#7\nUnread: +1 message\n/,
  );
  const shown = (await daemon.json("get", "task", first)) as Listed;
  deepEqual([shown["conversation"], shown["unread"]], ["comments/acme/site#7", 1]);
});

programTest("the retry of a task gives its agent the messages that it had", async (program) => {
  await using daemon = await startDaemon(program);
  const command =
    'cat > "prompt-$SVC_TASK_ID"; cat "$SVC_INBOX" > "inbox-$SVC_TASK_ID"; test -e well';
  const spec = { command, promptDelivery: "stdin", timeout: "1m", sandbox: "none" };
  const steps = [
    { id: "first", run: "echo > begun; until [ -e go ]; do sleep 0.05; done" },
    { id: "work", agent: "reader", prompt: "Fix it." },
  ];
  await daemon.apply(
    { kind: "Agent", metadata: { name: "reader" }, spec },
    { kind: "Workflow", metadata: { name: "talk" }, spec: { steps } },
    TALKING,
  );
  const first = await comment(daemon, "begin");
  await untilFile(`${daemon.workspace}/begun`);
  for (const text of ["one", "two"]) equal(await comment(daemon, text), first);
  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  equal((await daemon.svc(["task", "wait", first])).code, 1);
  await Deno.writeTextFile(`${daemon.workspace}/well`, "");
  const retried = await daemon.svc(["task", "retry", first]);
  equal(retried.code, 0, retried.stderr);
  const all = await tasksOf(daemon);
  deepEqual(
    all.map(({ state, retry_of, unread }) => [state, retry_of, unread]),
    [["failed", null, undefined], ["succeeded", first, undefined]],
  );
  const read = async (what: string, at: number) =>
    (await Deno.readTextFile(`${daemon.workspace}/${what}-${all[at]?.id}`))
      .replaceAll(/outside-[0-9a-f]+/g, "outside");
  match(await read("prompt", 0), /Fix it\.[^]*one[^]*two/);
  equal(await read("prompt", 1), await read("prompt", 0));
  equal(await read("inbox", 1), await read("inbox", 0));
});

programTest("messages to a task whose agent is not there start a follow-up", async (program) => {
  await using daemon = await startDaemon(program);
  const spec = { command: "no-such-agent -p", timeout: "1m", sandbox: "none" };
  const steps = [
    { id: "first", run: "echo > begun; until [ -e go ]; do sleep 0.05; done" },
    { id: "work", agent: "gone", prompt: "Fix it." },
  ];
  await daemon.apply(
    { kind: "Agent", metadata: { name: "gone" }, spec },
    { kind: "Workflow", metadata: { name: "talk" }, spec: { steps } },
    TALKING,
  );
  const first = await comment(daemon, "begin");
  await untilFile(`${daemon.workspace}/begun`);
  equal(await comment(daemon, "do not forget this"), first);
  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  const [, next] = await until("a follow-up", async () => {
    const all = await tasksOf(daemon);
    return all[1]?.["state"] === "failed" ? all : undefined;
  });
  deepEqual([next?.["parent_id"], next?.["state"]], [first, "failed"]);
  ok(next !== undefined && await startedBy(daemon, next) === "do not forget this");
});

slowTest(
  "what nobody has read starts one follow-up after the other, also after kill -9",
  async (program) => {
    await using directory = await initDataDirectory(program);
    const texts = ["late", "later", "latest"];
    let first = "";
    {
      await using daemon = await startDaemon(program, { directory });
      const line = "echo > begun; until [ -e go ]; do sleep 0.05; done";
      await daemon.apply(workflow("talk", line), TALKING);
      first = await comment(daemon, "begin");
      await untilFile(`${daemon.workspace}/begun`);
      for (const text of texts) equal(await comment(daemon, text), first);
      await daemon.crash();
    }
    {
      await using daemon = await startDaemon(program, { directory });
      await Deno.writeTextFile(`${daemon.workspace}/go`, "");
      await until(
        "the end of the first",
        async () =>
          (await daemon.tasks()).some(({ id, state }) => id === first && state === "succeeded") ||
          undefined,
      );
      await daemon.crash();
    }
    await using daemon = await startDaemon(program, { directory });
    const tasks = await until("a task for each", async () => {
      const all = await tasksOf(daemon);
      return all.length === 4 ? all : undefined;
    });
    const parents = [null, ...tasks.map(({ id }) => id).slice(0, -1)];
    deepEqual(tasks.map((task) => task["parent_id"]), parents);
    const followed = await Promise.all(tasks.slice(1).map((task) => startedBy(daemon, task)));
    deepEqual(followed, texts);
    equal((await daemon.json("db", "check") as { faults?: unknown[] }).faults?.length ?? 0, 0);
  },
);
