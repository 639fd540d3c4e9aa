/**
 * Conversations: events of one key go to one task while it has not ended, and what it did not read goes to
 * its follow-up.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { defined } from "../../../src/base/defined.ts";
import type { ConversationQuery } from "../../../src/store/conversation_store.ts";
import { MAX_MESSAGES } from "../../../src/store/rules/conversation.ts";
import type { Store } from "../../../src/store/store.ts";
import type { EventConversation, NewTask, StepRecord } from "../../../src/store/task_records.ts";
import { times } from "../../helpers/program.ts";
import { accept, idOf, retry, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf, range } from "./each_store.ts";

/** An event of a conversation. */
const talk = (
  text: string,
  more: Partial<EventConversation> & Pick<Partial<NewTask>, "dedupKey"> = {},
) => {
  const { dedupKey, ...given } = more;
  const conversation = { name: "pr", key: "a/b#1", message: { text }, starts: true, ...given };
  return { task: { conversation, ...dedupKey === undefined ? {} : { dedupKey } } };
};

const textsOf = async (store: Store, taskId: string) =>
  (await store.listInbox(taskId)).map(({ position, message }) => [position, message["text"]]);

const end = (
  store: Store,
  n: number,
  readUpTo: number,
  state: "succeeded" | "failed" = "succeeded",
) =>
  store.finishTask({
    taskId: taskIdOf(n),
    state,
    reason: "",
    now: 90,
    steps: [{ position: 0, id: "build", state, reason: "", ...readUpTo > 0 ? { readUpTo } : {} }],
  });

eachStore("events of one key go to one task until it ends, in their order", async (store) => {
  equal((await accept(store, 1, talk("first")))?.reason, "");
  deepEqual(await accept(store, 2, { ...talk("second"), trigger: "comments" }), {
    outcome: "accepted",
    reason: `to the inbox of task ${taskIdOf(1)}`,
    taskId: taskIdOf(1),
    isMessage: true,
  });
  await store.claimTasks(9, 5);
  await accept(store, 3, talk("third", { starts: false }));
  await accept(store, 4, talk("other", { key: "a/b#2" }));
  deepEqual(await textsOf(store, taskIdOf(1)), [[0, "second"], [1, "third"]]);
  const tasks = (await store.listTasks({ limit: 9 })).map((
    { id, conversation },
  ) => [id, conversation]);
  deepEqual(tasks, [[taskIdOf(4), "pr/a/b#2"], [taskIdOf(1), "pr/a/b#1"]]);

  equal(await end(store, 1, 2), true);
  const skipped = await accept(store, 5, talk("feeds only", { starts: false }));
  equal(skipped?.outcome, "skipped");
  equal((await accept(store, 6, talk("again")))?.reason, "");
  const [next] = await store.findTasks(taskIdOf(6));
  deepEqual([next?.parentId, await textsOf(store, taskIdOf(6))], [taskIdOf(1), []]);
  equal((await accept(store, 7, talk("to the follow-up")))?.taskId, taskIdOf(6));
});

eachStore("of events at once one starts the task, and the others are told it", async (store) => {
  const all = await Promise.all(
    Array.from({ length: 12 }, (_, index) => accept(store, index + 1, talk(`${index + 1}`))),
  );
  const started = all.filter((one) => one?.isMessage !== true);
  equal(started.length, 1);
  const id = started[0]?.taskId ?? "";
  const told = await textsOf(store, id);
  deepEqual(told.map(([position]) => position), Array.from({ length: 11 }, (_, n) => n));
  equal(new Set(told.map(([, text]) => text)).size, 11);
});

eachStore("a repeated event is told once, and one of a failed task again", async (store) => {
  await accept(store, 1, talk("first"));
  await accept(store, 2, talk("second", { dedupKey: "k" }));
  equal((await accept(store, 3, talk("second", { dedupKey: "k" })))?.outcome, "duplicate");
  equal((await textsOf(store, taskIdOf(1))).length, 1);
  await store.claimTasks(9, 5);
  await end(store, 1, 1, "failed");
  equal((await accept(store, 4, talk("second", { dedupKey: "k" })))?.taskId, taskIdOf(4));
});

eachStore("what a task did not read goes over to its follow-up, once", async (store) => {
  await accept(store, 1, talk("start"));
  await store.claimTasks(9, 5);
  for (const n of [2, 3, 4, 5]) await accept(store, n, talk(`${n}`));
  equal(await end(store, 1, 1), "unread");
  const late = await accept(store, 6, talk("6"));
  deepEqual([late?.taskId, late?.isMessage], [taskIdOf(1), true], "behind those before it");
  const follows = { taskId: taskIdOf(1), position: 1 };
  const again = () => accept(store, 7, { ...talk("3", { follows }), once: true });
  equal((await again())?.taskId, taskIdOf(7));
  equal((await again())?.taskId, taskIdOf(7));
  deepEqual((await textsOf(store, taskIdOf(7))).map(([, text]) => text), ["4", "5", "6"]);
  equal((await store.findTasks(taskIdOf(7)))[0]?.parentId, taskIdOf(1));
  await store.forgetTaskEnd(taskIdOf(1), []);
  await accept(store, 8, talk("8"));
  deepEqual((await textsOf(store, taskIdOf(7))).map(([, text]) => text), ["4", "5", "6", "8"]);
  const other = await accept(store, 9, talk("3", { follows }));
  deepEqual([other?.taskId, other?.isMessage], [taskIdOf(7), true], "it goes on elsewhere by now");
});

eachStore("a conversation goes on with the retry of its task", async (store) => {
  await accept(store, 1, talk("start"));
  await store.claimTasks(9, 5);
  await end(store, 1, 0, "failed");
  const { id } = await retry(store, 2, 1);
  equal((await accept(store, 3, talk("more")))?.taskId, id);
  equal((await store.findTasks(id))[0]?.conversation, "pr/a/b#1");
});

/** What a step has read, as the record that ends its task. */
const ended = (
  store: Store,
  n: number,
  state: "succeeded" | "failed" | "cancelled",
  upTo: number,
) =>
  store.finishTask({
    taskId: taskIdOf(n),
    state,
    reason: "",
    now: 90,
    steps: [{
      position: 0,
      id: "build",
      state,
      reason: "",
      ...upTo > 0 ? { readFrom: 0, readUpTo: upTo } : {},
    }],
  });

eachStore("a retry is given what its task had, and what nobody has read", async (store) => {
  await accept(store, 1, talk("start"));
  await store.claimTasks(9, 5);
  for (const n of [2, 3]) await accept(store, n, talk(`${n}`));
  await accept(store, 4, talk("feeds", { starts: false }));
  equal(await ended(store, 1, "failed", 2), "unread");
  const { id, unread } = await retry(store, 5, 1);
  deepEqual([await textsOf(store, id), unread], [[[0, "2"], [1, "3"], [2, "feeds"]], 1]);
  deepEqual(await textsOf(store, taskIdOf(1)), [[0, "2"], [1, "3"]], "it has left that task");
  deepEqual(await store.listUnread(taskIdOf(1)), [], "so that it starts no follow-up, too");
  await accept(store, 6, talk("6"));
  deepEqual((await textsOf(store, id)).at(-1), [3, "6"], "behind the others");
  const [claimed] = (await store.claimTasks(9, 1e6)).tasks;
  deepEqual([claimed?.task.id, claimed?.hasMessages, claimed?.readUpTo], [id, true, 2]);
});

eachStore("of two retries the first has what nobody has read", async (store) => {
  await accept(store, 1, talk("start"));
  await store.claimTasks(9, 5);
  for (const n of [2, 3, 4]) await accept(store, n, talk(`${n}`));
  await ended(store, 1, "failed", 2);
  const again = { position: 0, id: "build", state: "pending", reason: "", readFrom: 1 } as const;
  const { id, unread, steps } = await retry(store, 5, 1, { kept: [again] });
  deepEqual([unread, steps[0]?.readFrom], [1, 1]);
  equal((await retry(store, 6, 1)).unread, undefined);
  deepEqual((await textsOf(store, taskIdOf(6))).map(([, text]) => text), ["2", "3"]);
  equal((await accept(store, 7, talk("7")))?.taskId, id);
});

eachStore("a retry leaves to the follow-up what went over to that", async (store) => {
  await accept(store, 1, talk("start"));
  await store.claimTasks(9, 5);
  for (const n of [2, 3, 4]) await accept(store, n, talk(`${n}`));
  equal(await ended(store, 1, "failed", 1), "unread");
  await accept(store, 5, talk("3", { follows: { taskId: taskIdOf(1), position: 1 } }));
  const { id } = await retry(store, 6, 1);
  deepEqual(await textsOf(store, id), [[0, "2"]]);
  deepEqual(await textsOf(store, taskIdOf(5)), [[0, "4"]]);
  equal((await accept(store, 7, talk("7")))?.taskId, taskIdOf(5));
});

eachStore("a retry of a cancelled task means its messages, too", async (store) => {
  await accept(store, 1, talk("start"));
  await store.claimTasks(9, 5);
  await accept(store, 2, talk("2"));
  await store.addToInbox(taskIdOf(1), { source_event_id: "01REPLY", text: "reply" }, 7);
  equal(await ended(store, 1, "cancelled", 0), true);
  const { id, unread } = await retry(store, 3, 1);
  deepEqual([await textsOf(store, id), unread], [[[0, "2"], [1, "reply"]], 2]);
});

eachStore("a reply that no step has read stays, because it is routed again", async (store) => {
  await accept(store, 1);
  await store.claimTasks(9, 5);
  await store.addToInbox(taskIdOf(1), { source_event_id: "01READ", text: "read" }, 7);
  await store.addToInbox(taskIdOf(1), { source_event_id: "01REPLY", text: "reply" }, 7);
  await store.addToInbox(taskIdOf(1), { from: "ada", text: "by hand" }, 7);
  equal(await ended(store, 1, "failed", 1), "unread");
  const { id } = await retry(store, 3, 1);
  deepEqual(await textsOf(store, id), [[0, "read"], [2, "by hand"]]);
  deepEqual(await textsOf(store, taskIdOf(1)), [[0, "read"], [1, "reply"]]);
});

eachStore("a task gets so many messages, and no more", async (store) => {
  await accept(store, 1, talk("start"));
  for (let n = 0; n < MAX_MESSAGES; n++) await store.addToInbox(taskIdOf(1), { n }, n);
  const skipped = await accept(store, 2, talk("one more"));
  equal(skipped?.outcome, "skipped");
  ok(skipped?.reason.includes("1000 messages"), skipped?.reason);
});

eachStore("after a task is to be stopped, the next event starts another", async (store) => {
  await accept(store, 1, talk("start"));
  await store.claimTasks(9, 5);
  await store.cancelTask(taskIdOf(1), { reason: "by ada", now: 6 });
  equal((await accept(store, 2, talk("feeds", { starts: false })))?.outcome, "skipped");
  equal((await accept(store, 3, talk("after")))?.taskId, taskIdOf(3));
  equal((await store.findTasks(taskIdOf(3)))[0]?.parentId, taskIdOf(1));
});

eachStore("the end of a task is handled again for what came behind its messages", async (store) => {
  await accept(store, 1, talk("start"));
  await store.claimTasks(9, 5);
  await accept(store, 2, talk("only feeds it", { starts: false }));
  equal(await end(store, 1, 0), "unread");
  const [{ unread } = {}] = await store.listTaskEnds(9);
  equal((await accept(store, 3, talk("behind it")))?.isMessage, true);
  await store.forgetTaskEnd(taskIdOf(1), [], unread);
  equal((await store.listTaskEnds(9))[0]?.unread, 2);
  await store.forgetTaskEnd(taskIdOf(1), [], 2);
  deepEqual(await store.listTaskEnds(9), []);
  equal((await accept(store, 4, talk("later")))?.taskId, taskIdOf(4));
});

eachStore("a follow-up counts the messages that went over, and no others", async (store) => {
  await accept(store, 1, talk("start"));
  await store.claimTasks(9, 5);
  const long = "x".repeat(6_000_000);
  for (const [n, text] of [[2, long], [3, long], [4, "a"], [5, "b"]] as const) {
    await accept(store, n, talk(text));
  }
  equal((await accept(store, 6, talk(long)))?.outcome, "skipped");
  equal(await end(store, 1, 2), "unread");
  const follows = { taskId: taskIdOf(1), position: 2 };
  equal((await accept(store, 7, talk("a", { follows })))?.taskId, taskIdOf(7));
  for (const n of [8, 9]) equal((await accept(store, n, talk(long)))?.taskId, taskIdOf(7));
  equal((await accept(store, 10, talk(long)))?.outcome, "skipped");
});

eachStore("who deletes a delivery deletes its message in every inbox", async (store) => {
  const said = (n: number) => talk("", { message: { delivery_id: idOf(n), text: `${n}` } });
  await accept(store, 1, said(1));
  await store.claimTasks(9, 5);
  for (const n of [2, 3, 4]) await accept(store, n, said(n));
  await rejects(
    store.deleteDelivery(idOf(3), { cascade: false, dryRun: false }),
    /is running: cancel it first/,
  );
  equal(await end(store, 1, 0), "unread");
  await accept(store, 5, {
    task: {
      conversation: { ...said(2).task.conversation, follows: { taskId: taskIdOf(1), position: 0 } },
    },
  });
  await store.forgetTaskEnd(taskIdOf(1), []);
  await store.claimTasks(9, 95);
  await end(store, 5, 3);
  equal((await textsOf(store, (await retry(store, 6, 5)).id)).length, 2);
  await store.cancelTask(taskIdOf(6), { reason: "", now: 98 });
  await store.deleteDelivery(idOf(3), { cascade: false, dryRun: false });
  await store.deleteBodies({ ids: [idOf(4)], before: 1e15, now: 99 });
  const left = async (n: number) =>
    (await store.listInbox(taskIdOf(n))).map(({ message }) => message["text"]);
  deepEqual([await left(1), await left(5), await left(6)], [["2"], [], []]);
});

eachStore(
  "the furthest that any step has read counts, in whatever order steps are stored",
  async (store) => {
    await accept(store, 1);
    await store.claimTasks(9, 5);
    for (const text of ["a", "b", "c"]) await store.addToInbox(taskIdOf(1), { text }, 6);
    const steps = [3, 1].map((readUpTo, position) => ({
      position,
      id: `step${position}`,
      state: "succeeded" as const,
      reason: "",
      readUpTo,
    }));
    const ended = { taskId: taskIdOf(1), state: "succeeded", reason: "", now: 90, steps } as const;
    equal(await store.finishTask(ended), true);
    equal((await store.findTasks(taskIdOf(1)))[0]?.unread, undefined);
  },
);

/** Records of a step, one after the other, and what the task has read after them of three messages. */
const MOVES: readonly (readonly [
  moves: readonly Partial<Pick<StepRecord, "readUpTo" | "unreadFrom">>[],
  position: number,
])[] = [
  [[{ readUpTo: 2 }, { unreadFrom: 1 }], 1],
  [[{ readUpTo: 2 }, { unreadFrom: 0 }, { readUpTo: 3 }], 3],
  [[{ unreadFrom: 1 }], 0],
  [[{ readUpTo: 1 }, { readUpTo: 3 }, { readUpTo: 1, unreadFrom: 1 }], 1],
  [[{ readUpTo: 3 }, { unreadFrom: 1 }, { unreadFrom: 2 }], 1],
  [[{ readUpTo: 3 }, { unreadFrom: 0 }, { readUpTo: 1 }, { readUpTo: 0 }], 1],
];

eachStore(
  "what a step has not read after all is unread, also if all is stored at once",
  async (store) => {
    let n = 0;
    for (const [moves, position] of MOVES) {
      for (const isAtOnce of [false, true]) {
        const taskId = taskIdOf(++n);
        await accept(store, n);
        await store.claimTasks(9, 5);
        for (const text of ["a", "b", "c"]) await store.addToInbox(taskId, { text }, 6);
        const step = { position: 0, id: "build", state: "running", reason: "" } as const;
        const saving = moves.map((move) => () => store.saveStep(taskId, { ...step, ...move }));
        if (isAtOnce) await Promise.all(saving.map((save) => save()));
        else for (const save of saving) await save();
        const unread = (await store.listUnread(taskId)).map((one) => one.position);
        deepEqual(unread, [0, 1, 2].slice(position), JSON.stringify([moves, isAtOnce]));
        const end = { taskId, state: "failed", reason: "", now: 90 } as const;
        equal(await store.finishTask(end), position === 3 ? true : "unread");
      }
    }
  },
);

eachStore("a delivery says that its event is a message, and no other does", async (store) => {
  await accept(store, 1, talk("first"));
  const told = await accept(store, 2, talk("told"));
  equal(told?.isMessage, true);
  const found = await store.readDeliveries([1, 2].map(idOf));
  const said = found.map(({ delivery: { id, detail } }) => [id, detail.isMessage]);
  deepEqual(said.toSorted(), [[idOf(1), undefined], [idOf(2), true]]);
});

eachStore(
  "retention keeps the delivery of a message, and its body, for the task that has it",
  async (store) => {
    const said = (n: number) => talk("", { message: { delivery_id: idOf(n), text: `${n}` } });
    const bodies = async () =>
      await store.deleteBodies({ ids: [idOf(2), idOf(3)], before: 1e15, now: 99 });
    const kept = { deleted: 0, needed: [idOf(2), idOf(3)] };
    await accept(store, 1, said(1));
    await store.claimTasks(9, 5);
    for (const n of [2, 3]) await accept(store, n, said(n));
    deepEqual(await bodies(), kept, "an open task has it");
    equal(await end(store, 1, 0), "unread");
    deepEqual(await bodies(), kept, "a follow-up is to start with it");
    await accept(store, 5, {
      task: {
        conversation: {
          ...said(2).task.conversation,
          follows: { taskId: taskIdOf(1), position: 0 },
        },
      },
    });
    await store.forgetTaskEnd(taskIdOf(1), []);
    equal((await store.pruneTasks({ before: 1e15, limit: 9 })).length, 1);
    deepEqual(await store.deleteBodies({ ids: [idOf(3)], before: 1e15, now: 99 }), {
      deleted: 0,
      needed: [idOf(3)],
    }, "it has gone over to the follow-up");
    equal(
      await store.pruneDeliveries({ before: 1e15, limit: 9 }),
      2,
      "the first, and that of the event",
    );
    const pruned = await store.pruneRecords({ tasks: [], deliveries: [idOf(3)], before: 1e15 });
    equal(pruned.deliveries, 0);
    await store.claimTasks(9, 95);
    await end(store, 5, 1);
    equal((await store.pruneTasks({ before: 1e15, limit: 9 })).length, 1);
    equal(await store.pruneDeliveries({ before: 1e15, limit: 9 }), 2);
  },
);

const list = (store: Store, query: Partial<ConversationQuery> = {}) =>
  store.listConversations({ limit: 9, ...query });

eachStore("conversations are listed with the task that each goes on with", async (store) => {
  await accept(store, 1, talk("start"));
  await accept(store, 2, talk("other", { key: "a/b#2\0" }));
  await accept(store, 3, talk("more"));
  const [other, first, ...none] = await list(store);
  deepEqual([other?.name, other?.key, none], ["pr", "a/b#2\u2400", []]);
  deepEqual(first, {
    id: taskIdOf(1),
    project: "default",
    name: "pr",
    key: "a/b#1",
    taskId: taskIdOf(1),
    taskState: "pending",
    unread: 1,
    lastMessageAt: first?.lastMessageAt,
    createdAt: first?.createdAt,
    updatedAt: first?.createdAt,
  });
  ok((first?.lastMessageAt ?? 0) > (first?.createdAt ?? 0));
  equal(other?.lastMessageAt, undefined);
  deepEqual((await list(store, { project: "shop" })).length, 0);
  deepEqual((await list(store, { project: "default", before: taskIdOf(2) })).length, 1);
  deepEqual((await store.findConversations(taskIdOf(1)))[0]?.key, "a/b#1");
  await store.claimTasks(1, 5);
  await end(store, 1, 1);
  equal((await accept(store, 4, talk("again")))?.taskId, taskIdOf(4));
  const again = (await store.findConversations(taskIdOf(1)))[0];
  deepEqual([again?.taskId, again?.unread, again?.createdAt], [taskIdOf(4), 0, first?.createdAt]);
});

eachStore("who binds a conversation sends its next messages to another task", async (store) => {
  const bind = (key: string, task: number, id = 90) =>
    store.bindConversation({
      id: idOf(id),
      project: "default",
      name: "pr",
      key,
      taskId: taskIdOf(task),
      now: 99,
    });
  await accept(store, 1, talk("start"));
  await accept(store, 2);
  await store.claimTasks(9, 5);
  await accept(store, 3, talk("to the first"));
  deepEqual(await bind("a/b#1", 2), { id: taskIdOf(1), before: taskIdOf(1) });
  deepEqual(await bind("a/b#1", 2), { id: taskIdOf(1), before: taskIdOf(2) });
  equal((await accept(store, 4, talk("to the second")))?.taskId, taskIdOf(2));
  deepEqual(await textsOf(store, taskIdOf(1)), [[0, "to the first"]]);
  deepEqual(await textsOf(store, taskIdOf(2)), [[0, "to the second"]]);
  equal((await store.findTasks(taskIdOf(2)))[0]?.conversation, "pr/a/b#1");
  equal(await end(store, 1, 0), "unread");
  const follows = { taskId: taskIdOf(1), position: 0 };
  equal((await accept(store, 5, talk("to the first", { follows })))?.taskId, taskIdOf(2));

  await accept(store, 6);
  deepEqual(await bind("a/b#9\0", 6), { id: idOf(90) }, "a new one");
  equal((await accept(store, 7, talk("to the sixth", { key: "a/b#9\0" })))?.taskId, taskIdOf(6));
  const refused = (key: string, task: number, message: RegExp) =>
    rejects(bind(key, task, 91), message);
  await refused("a/b#1", 6, /belongs to the conversation pr\/a\/b#9.* already/);
  await refused("a/b#1", 1, /has ended/);
  await refused("a/b#1", 77, /No task/);
  await store.cancelTask(taskIdOf(2), { reason: "", now: 6 });
  await refused("a/b#1", 2, /is being cancelled/);
  equal((await list(store)).length, 2);
});

eachStore(
  "of binding and events at once, each event goes to the task of its moment",
  async (store) => {
    await accept(store, 1, talk("start"));
    await accept(store, 2);
    await store.claimTasks(9, 5);
    const bound = { id: idOf(90), project: "default", name: "pr", key: "a/b#1", now: 9 };
    const told = await Promise.all(
      range(3, 43).map(async (n) => {
        if (n % 4 > 0) return await accept(store, n, talk(`${n}`));
        await store.bindConversation({ ...bound, taskId: taskIdOf(1 + (n / 4) % 2) }).catch(
          (error) => {
            ok(/belongs to/.test(String(error)), String(error));
          },
        );
        return undefined;
      }),
    );
    const ids = told.flatMap((one) => one?.taskId ?? []);
    equal(ids.length, 30);
    const got = [...await textsOf(store, taskIdOf(1)), ...await textsOf(store, taskIdOf(2))];
    equal(new Set(got.map(([, text]) => text)).size, 30);
  },
);

/** Messages that meet the end of a task. */
const MEETINGS = times(10_000, 200);
/** Conversations in which that happens at once. */
const WIDTH = 100;

eachStore(
  `a message that comes as its task ends is read, kept, or starts the next task${MEETINGS.inName}`,
  async (store) => {
    let number = 0;
    const outcomes = { read: 0, kept: 0, started: 0 };
    const running = new Map<string, number>();
    const tell = (key: string, follows?: EventConversation["follows"]) => {
      const n = ++number;
      return accept(store, n, talk(key, { key, ...defined({ follows }) }));
    };
    const start = async (key: string, follows?: EventConversation["follows"]) => {
      const begun = await tell(key, follows);
      equal(begun?.isMessage, undefined);
      running.set(key, numberOf(begun?.taskId ?? ""));
    };
    /** Lets a message meet the end of the task of its conversation, whose step has read it or not. */
    const meet = async (key: string, isRead: boolean) => {
      const n = running.get(key) ?? 0;
      const [told, ended] = await Promise.all([tell(key), end(store, n, isRead ? 1 : 0)]);
      if (told?.isMessage !== true) {
        equal(ended, true);
        outcomes.started++;
        running.set(key, numberOf(told?.taskId ?? ""));
        return;
      }
      equal(told.taskId, taskIdOf(n));
      outcomes[ended === true ? "read" : "kept"]++;
      equal(ended, isRead ? true : "unread");
      await start(key, isRead ? undefined : { taskId: taskIdOf(n), position: 0 });
      if (!isRead) await store.forgetTaskEnd(taskIdOf(n), [], 1);
    };
    const keys = range(0, WIDTH).map((one) => `key ${one}`);
    await Promise.all(keys.map((key) => start(key)));
    for (let turn = 0; turn < MEETINGS.count / WIDTH; turn++) {
      await store.claimTasks(WIDTH, 1e6);
      await Promise.all(keys.map((key, at) => meet(key, (turn + at) % 3 === 0)));
    }
    equal(outcomes.read + outcomes.kept + outcomes.started, MEETINGS.count);
    deepEqual(await store.listTaskEnds(9), []);
  },
);
