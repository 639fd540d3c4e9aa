/**
 * Conversations as a list, and `svc conversation bind`, through the control plane.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, rejects } from "node:assert/strict";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { controlTest } from "../rigs/control_rig.ts";

const talking = (name: string, conversation: string) =>
  `kind: Trigger
metadata: {name: ${name}}
spec:
  event: {source: webhook, webhook: {allowUnsigned: true, endpoint: prs}}
  conversation: {${conversation}key: payload.pr, text: "{{ payload.text }}"}
  action: {workflow: answer, workspace: default}
`;

/** Of each task, what it is for. */
const [ENDED, PENDING, OTHER, OF_SHOP] = [taskIdOf(1), taskIdOf(2), taskIdOf(3), taskIdOf(4)];

/** Tasks that do not run, so that the test says when one ends. */
async function prepare({ database }: { readonly database: string }): Promise<void> {
  await using store = await openStore(database);
  const [now, conversation] = [
    Date.now(),
    { name: "prs", key: "a/b#1", message: { text: "hello" }, starts: true },
  ];
  await accept(store, 1);
  await store.claimTasks(1, now);
  await store.finishTask({ taskId: ENDED, state: "succeeded", reason: "", now });
  await store.pauseTasks({ project: "", reason: "test", by: "ada", pausedAt: now });
  await accept(store, 2, { task: { conversation } });
  await accept(store, 3);
  await accept(store, 4, { task: { project: "shop" } });
}

controlTest("a conversation is listed, and bound to another task, in the audit", async (rig) => {
  const { client } = rig;
  await rig.apply(talking("comments", ""), talking("reviews", "name: reviews, "));
  const listed = await client.call("get", { what: "conversations" });
  const [one] = listed.items as Readonly<Record<string, unknown>>[];
  deepEqual({ ...one, created_at: "", updated_at: "" }, {
    id: PENDING,
    project: "default",
    name: "prs",
    key: "a/b#1",
    task_id: PENDING,
    task_state: "pending",
    unread: 0,
    last_message_at: null,
    created_at: "",
    updated_at: "",
  });
  deepEqual(listed.columns?.map(({ header }) => header).slice(0, 6), [
    "NAME",
    "KEY",
    "TASK",
    "STATE",
    "UNREAD",
    "LAST",
  ]);
  const bind = (name: string, key: string, task: string) =>
    client.call("conversation.bind", { name, key, task });
  const bound = { id: PENDING, project: "default", name: "prs", key: "a/b#1", task_id: OTHER };
  deepEqual(await bind("prs", "a/b#1", OTHER), { ...bound, before: PENDING });
  deepEqual(await bind("prs", "a/b#1", OTHER), { ...bound, before: OTHER });
  const [task] = (await client.call("get", { what: "task", name: OTHER })).items;
  deepEqual([task?.["conversation"], task?.["unread"]], ["prs/a/b#1", undefined]);
  await client.call("task.inbox.send", { id: OTHER, text: "hello" });
  const shown = await client.call("describe", {
    what: "conversation",
    name: PENDING,
    reveal: false,
  });
  deepEqual([shown["task_id"], shown["unread"]], [OTHER, 1]);
  match(String(shown["last_message_at"]), /^20\S+Z$/);
  const { items } = await client.call("get", { what: "control-audit", limit: 9 });
  deepEqual(
    items.filter(({ operation }) => operation === "conversation.bind")
      .map(({ target, result }) => [target, result]),
    [[`task/${OTHER}`, "done"], [`task/${OTHER}`, "done"]],
  );
}, { prepare });

controlTest("a watch of conversations shows what becomes of their tasks", async ({ client }) => {
  const stop = new AbortController();
  const stream = client.stream("get.watch", { what: "conversations" }, stop.signal);
  const lines = stream[Symbol.asyncIterator]();
  try {
    const next = async (): Promise<unknown> => {
      for (;;) {
        const { value } = await lines.next();
        const [one] = value?.items ?? [];
        if (one !== undefined) return [one["unread"], one["task_state"]];
      }
    };
    deepEqual(await next(), [0, "pending"]);
    await client.call("task.inbox.send", { id: PENDING, text: "hello" });
    deepEqual(await next(), [1, "pending"]);
    await client.call("task.cancel", { ids: [PENDING] });
    deepEqual(await next(), [1, "cancelled"]);
  } finally {
    stop.abort();
  }
}, { prepare });

controlTest("who binds to what cannot be is told why", async (rig) => {
  const { client } = rig;
  await rig.apply(talking("comments", ""), talking("reviews", "name: reviews, "));
  const refused = async (
    [name, key, task]: readonly [string, string, string],
    code: string,
    message: RegExp,
  ) => await rejects(client.call("conversation.bind", { name, key, task }), { code, message });
  const none = 'No trigger in project "default" has a conversation';
  await refused(
    ["prz", "a/b#1", OTHER],
    "not_found",
    new RegExp(`^${none} "prz", did you mean "prs"`),
  );
  await refused(
    ["comments", "x", OTHER],
    "not_found",
    new RegExp(`^${none} "comments": there are prs, reviews$`),
  );
  await refused(
    ["prs", "x", OF_SHOP],
    "not_found",
    /^No trigger in project "shop" has a conversation, /,
  );
  await refused(["prs", "", OTHER], "usage", /^The key is empty: /);
  await refused(["prs", "ä".repeat(513), OTHER], "usage", /has 1026 bytes, and .* 1024 at most$/);
  await refused(["prs", "x", "01NONE"], "not_found", /^No task "01NONE"/);
  await refused(["prs", "x", ENDED], "conflict", /has ended: bind one that has not, or retry it/);
  await refused(
    ["prs", "x", PENDING],
    "conflict",
    /belongs to the conversation prs\/a\/b#1 already/,
  );
  deepEqual((await client.call("get", { what: "conversations" })).items.length, 1);
  await rejects(client.call("get", { what: "conversations", trigger: "x" }), /--trigger is for /);
}, { prepare });
