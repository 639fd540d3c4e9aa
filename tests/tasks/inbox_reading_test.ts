/**
 * What the steps of a running task have read of its inbox, with real processes: what is left unread starts
 * a follow-up when the task ends.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { findFile, until, untilFile } from "../helpers/until.ts";
import { type RunRig, runRig } from "../rigs/run_rig.ts";

function test(name: string, body: (rig: RunRig) => Promise<void>): void {
  Deno.test(name, async () => {
    await using rig = await runRig();
    await body(rig);
  });
}

/** An Agent that notes its prompt, and waits for the file `go`. */
const AGENT = {
  more: `kind: Agent
metadata: {name: a}
spec: {command: 'cat > prompt.$SVC_STEP; echo > at.$SVC_STEP; until [ -e go ]; do sleep 0.02; done'}`,
};

const WAIT = "echo > at.a; until [ -e go ]; do sleep 0.02; done";

const go = (rig: RunRig) => Deno.writeTextFile(`${rig.workspace}/go`, "");

/** The texts of the messages that no step has read. */
const unread = async ({ store }: RunRig, id: string) =>
  (await store.listUnread(id)).map(({ message }) => message["text"]);

/** Runs a workflow; gives it "before", and "during" once step `a` runs. What is unread then. */
async function leftBy(rig: RunRig, workflow: string): Promise<unknown[]> {
  const claimed = await rig.claim(workflow, AGENT);
  const { task: { id } } = claimed;
  await rig.host.inboxes.add(id, { text: "before" });
  const running = rig.run(claimed);
  await untilFile(`${rig.workspace}/at.a`);
  await rig.host.inboxes.add(id, { text: "during" });
  await go(rig);
  const { state, reason } = await running;
  deepEqual([state, reason], ["succeeded", ""]);
  return await unread(rig, id);
}

test("a shell line that names its inbox has read what was written into it when it ended", async (rig) => {
  deepEqual(await leftBy(rig, `{steps: [{id: a, run: '${WAIT}; cat "$SVC_INBOX" > got'}]}`), []);
  match(await findFile(`${rig.workspace}/got`) ?? "", /before.*\n.*during/);
});

test("one that does not name it has read nothing", async (rig) => {
  await Deno.writeTextFile(`${rig.workspace}/answer`, 'cat "$SVC_INBOX" > got');
  const left = await leftBy(rig, `{steps: [{id: a, run: '${WAIT}; sh answer'}]}`);
  deepEqual(left, ["before", "during"]);
});

test("an agent has read what its prompt had, and the next one gets the others", async (rig) => {
  const one = "agent: a, prompt: work";
  deepEqual(await leftBy(rig, `{steps: [{id: a, ${one}}]}`), ["during"]);
  await Deno.remove(`${rig.workspace}/go`);
  await Deno.remove(`${rig.workspace}/at.a`);
  deepEqual(await leftBy(rig, `{steps: [{id: a, ${one}}, {id: b, ${one}}]}`), []);
  const prompt = await findFile(`${rig.workspace}/prompt.a`) ?? "";
  match(
    prompt,
    /work\n\nMessages for this task.*\n\n<outside-\w+ from="message 1 of the inbox">before</,
  );
  ok(!prompt.includes("during"));
  const next = await findFile(`${rig.workspace}/prompt.b`) ?? "";
  match(next, /from="message 2 of the inbox">during</);
  ok(!next.includes("before"));
});

test("an agent whose prompt names the inbox reads it while it works", async (rig) => {
  deepEqual(await leftBy(rig, `{steps: [{id: a, agent: a, prompt: "See $SVC_INBOX"}]}`), []);
  match(await findFile(`${rig.workspace}/prompt.a`) ?? "", />before</);
});

test("a message that comes after the program has ended is unread", async (rig) => {
  const claimed = await rig.claim(`{steps: [{id: a, run: 'cat "$SVC_INBOX"; ${WAIT}'}]}`);
  const { id } = claimed.task;
  const running = rig.run(claimed);
  await untilFile(`${rig.workspace}/at.a`);
  await rig.store.addToInbox(id, { text: "stored, and not written yet" }, Date.now());
  await go(rig);
  await running;
  deepEqual(await unread(rig, id), ["stored, and not written yet"]);
});

test("a retry, and a run after a crash, get again what was given, and what has come", async (rig) => {
  const claimed = await rig.claim(
    `{steps: [{id: a, agent: b, prompt: work, retry: {attempts: 2, backoffSecs: 0}}]}`,
    {
      more: `kind: Agent
metadata: {name: b}
spec: {command: 'cat > prompt.$SVC_ATTEMPT; echo > at.a; until [ -e go ]; do sleep 0.02; done; [ $SVC_ATTEMPT = 2 ]'}`,
    },
  );
  const { task: { id } } = claimed;
  await rig.host.inboxes.add(id, { text: "one" });
  const killed = new AbortController();
  const stopped = rig.run(claimed, { stop: killed.signal });
  await untilFile(`${rig.workspace}/at.a`);
  // Stored when it has begun: a crash before that gives the messages again.
  await until(
    "what it was given",
    async () => (await rig.task(id)).steps[0]?.readFrom === 0 || undefined,
  );
  deepEqual(await unread(rig, id), []);
  killed.abort();
  equal((await stopped).state, "interrupted");
  await rig.store.requeueTask(id, { now: 5, steps: (await rig.task(id)).steps });
  await go(rig);
  const again = await rig.reclaim(id);
  await rig.host.inboxes.add(id, { text: "two" });
  equal((await rig.run(again)).state, "succeeded");
  for (const attempt of [1, 2]) {
    const prompt = await findFile(`${rig.workspace}/prompt.${attempt}`) ?? "";
    match(prompt, />one<[^]*>two</, `attempt ${attempt}`);
  }
  deepEqual(await unread(rig, id), []);
});

test("a later round gets what is unread", async (rig) => {
  const claimed = await rig.claim(
    `{steps: [{id: r, repeat: {max: 2, until: 'steps.a.outputs.round == "2"', steps: [
       {id: a, agent: c, prompt: work}]}}]}`,
    {
      more: `kind: Agent
metadata: {name: c}
spec: {command: 'cat > prompt.$SVC_ROUND; echo round=$SVC_ROUND >> "$SVC_OUTPUT"; echo > at.$SVC_ROUND; until [ -e go ]; do sleep 0.02; done'}`,
    },
  );
  const { id } = claimed.task;
  await rig.host.inboxes.add(id, { text: "one" });
  const running = rig.run(claimed);
  await untilFile(`${rig.workspace}/at.1`);
  await rig.host.inboxes.add(id, { text: "two" });
  await go(rig);
  equal((await running).state, "succeeded");
  const prompt = await findFile(`${rig.workspace}/prompt.2`) ?? "";
  match(prompt, />two</);
  ok(!prompt.includes(">one<"));
});

test("messages beyond the room of a prompt stay unread", async (rig) => {
  const claimed = await rig.claim(`{steps: [{id: a, agent: a, prompt: work}]}`, AGENT);
  const { id } = claimed.task;
  for (const letter of ["x", "y", "z"]) {
    await rig.host.inboxes.add(id, { text: letter.repeat(30_000) });
  }
  await go(rig);
  equal((await rig.run(claimed)).state, "succeeded");
  deepEqual(await unread(rig, id), ["z".repeat(30_000)]);
  match(
    await findFile(`${rig.workspace}/prompt.a`) ?? "",
    /1 more came, for which there is no room/,
  );
});

test("the message that ends a wait is read, and those after it are not", async (rig) => {
  const claimed = await rig.claim(
    `{steps: [{id: w, waitFor: {message: true, timeout: 1h}}, {id: a, agent: a, prompt: work}]}`,
    AGENT,
  );
  const { id } = claimed.task;
  for (const text of ["ends it", "comes after"]) await rig.host.inboxes.add(id, { text });
  await go(rig);
  equal((await rig.run(claimed)).state, "succeeded");
  const prompt = await findFile(`${rig.workspace}/prompt.a`) ?? "";
  match(prompt, />comes after</);
  ok(!prompt.includes("ends it"));
  deepEqual(await unread(rig, id), []);
});

/** What agents print whose model was never asked, and one whose model has answered before. */
const REFUSED = '{"type":"result","is_error":true,"api_error_status":401,"result":"Invalid key"}';
const LIMITED = '{"type":"result","is_error":true,"api_error_status":429,"result":"limit"}';
const HALF = '{"type":"result","is_error":false,"result":"Half.","usage":{"output_tokens":7}}';
const prints = (...lines: string[]) =>
  `cat > prompt.$SVC_STEP; printf '%s\\n' ${lines.map((line) => `'${line}'`).join(" ")}; exit 1`;

const agentWith = (command: string, more = {}, name = "a") =>
  JSON.stringify({ kind: "Agent", metadata: { name }, spec: { command, ...more } });

const CLAUDE = { output: "claude" };
const ONE = "agent: a, prompt: work";

/** What fails, the agent, what its step says, and whether it has read its message. */
const FAILED: readonly (readonly [what: string, agent: string, step: string, hasRead: boolean])[] =
  [
    ["an agent that is not there", agentWith("no-such-agent -p"), ONE, false],
    ["one that cannot be run", agentWith("./not-executable"), ONE, false],
    [
      "one that is not there, and whose prompt names the inbox",
      agentWith("no-such-agent -p"),
      'agent: a, prompt: "See $SVC_INBOX"',
      false,
    ],
    ["one that is not logged in", agentWith(prints(REFUSED), CLAUDE), ONE, false],
    ["one at its limit", agentWith(prints(LIMITED), CLAUDE), `${ONE}, onLimit: fail`, false],
    [
      "one whose limit came after an answer",
      agentWith(prints(HALF, LIMITED), CLAUDE),
      `${ONE}, onLimit: fail`,
      true,
    ],
    ["an agent that fails", agentWith("cat > prompt.a; exit 1"), ONE, true],
    ["a line with a program that is not there", "", `run: 'no-such-one "$SVC_INBOX"'`, false],
    ["a line that fails", "", `run: 'cat "$SVC_INBOX"; exit 1'`, true],
  ];

for (const [what, more, step, hasRead] of FAILED) {
  test(`${what} has read ${hasRead ? "what it was given" : "nothing"}`, async (rig) => {
    await Deno.writeTextFile(`${rig.workspace}/not-executable`, "");
    const claimed = await rig.claim(`{steps: [{id: a, ${step}}]}`, more === "" ? {} : { more });
    const { id } = claimed.task;
    await rig.host.inboxes.add(id, { text: "one" });
    equal((await rig.run(claimed)).state, "failed");
    deepEqual(await unread(rig, id), hasRead ? [] : ["one"]);
  });
}

test("the agent that takes over is given the messages, and has read them", async (rig) => {
  const claimed = await rig.claim(`{steps: [{id: a, agent: [gone, a], prompt: work}]}`, {
    more: `${agentWith("no-such-agent -p", {}, "gone")}\n---\n${AGENT.more}`,
  });
  const { id } = claimed.task;
  await rig.host.inboxes.add(id, { text: "one" });
  await go(rig);
  equal((await rig.run(claimed)).state, "succeeded");
  match(await findFile(`${rig.workspace}/prompt.a`) ?? "", />one</);
  deepEqual(await unread(rig, id), []);
});

test("a step waits for an agent with its messages unread, and is given them again", async (rig) => {
  const claimed = await rig.claim(`{steps: [{id: a, ${ONE}}]}`, {
    more: agentWith(`[ -e go ] || { ${prints(LIMITED)}; }; cat > prompt.a`, CLAUDE),
  });
  const { id } = claimed.task;
  await rig.host.inboxes.add(id, { text: "one" });
  equal((await rig.run(claimed)).state, "waiting");
  deepEqual(await unread(rig, id), ["one"]);
  equal((await rig.task(id)).steps[0]?.readFrom, 0);
});

test("what an attempt has read stays read where the next one could not begin", async (rig) => {
  const claimed = await rig.claim(
    `{steps: [{id: a, ${ONE}, retry: {attempts: 2, backoffSecs: 0}}]}`,
    {
      more: agentWith(
        "[ $SVC_ATTEMPT = 1 ] || exit 127; echo > at.a; until [ -e go ]; do sleep 0.02; done; exit 1",
      ),
    },
  );
  const { id } = claimed.task;
  await rig.host.inboxes.add(id, { text: "one" });
  const running = rig.run(claimed);
  await untilFile(`${rig.workspace}/at.a`);
  await rig.host.inboxes.add(id, { text: "two" });
  await go(rig);
  equal((await running).state, "failed");
  deepEqual(await unread(rig, id), ["two"]);
});

test("an agent beside one that could not begin makes nothing read of what that was given", async (rig) => {
  const slow = "echo > at.a; until [ -e fail ]; do sleep 0.02; done; exit 127";
  const claimed = await rig.claim(
    `{steps: [{id: a, agent: slow, prompt: work, needs: []},
       {id: c, run: 'until [ -e next ]; do sleep 0.02; done', needs: []},
       {id: b, agent: a, prompt: work, needs: [c]}]}`,
    { more: `${agentWith(slow, {}, "slow")}\n---\n${AGENT.more}` },
  );
  const { id } = claimed.task;
  await rig.host.inboxes.add(id, { text: "one" });
  const running = rig.run(claimed);
  await untilFile(`${rig.workspace}/at.a`);
  await rig.host.inboxes.add(id, { text: "two" });
  await Deno.writeTextFile(`${rig.workspace}/next`, "");
  await untilFile(`${rig.workspace}/at.b`);
  const prompt = await findFile(`${rig.workspace}/prompt.b`) ?? "";
  ok(prompt.includes(">two<") && !prompt.includes(">one<"));
  await Deno.writeTextFile(`${rig.workspace}/fail`, "");
  await until(
    "the end of a",
    async () => (await rig.task(id)).steps[0]?.state === "failed" || undefined,
  );
  deepEqual(await unread(rig, id), ["one", "two"]);
  await go(rig);
  equal((await running).state, "failed");
  deepEqual(await unread(rig, id), ["one", "two"]);
});

test("after a crash, messages are unread that were given to an agent which is not there", async (rig) => {
  const more = agentWith("no-such-agent -p");
  const claimed = await rig.claim(`{steps: [{id: a, ${ONE}}]}`, { more });
  const { id } = claimed.task;
  await rig.host.inboxes.add(id, { text: "one" });
  // It began, and the daemon was killed before the end of the step was stored.
  const begun = { position: 0, id: "a", state: "running", reason: "", startedAt: 1 } as const;
  await rig.store.saveStep(id, { ...begun, readFrom: 0, readUpTo: 1 });
  await rig.store.requeueTask(id, { now: 5 });
  equal((await rig.run(await rig.reclaim(id))).state, "failed");
  deepEqual(await unread(rig, id), ["one"]);
});
