/**
 * The sender: nothing is lost and nothing is sent twice, whatever the other system answers and
 * whenever the daemon ends.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import type { Draft, SendResult } from "../../src/outbox/message_kind.ts";
import { passUntil } from "../helpers/manual_clock.ts";
import { draft, outboxRig, SECRET } from "../rigs/outbox_rig.ts";

const SENT: SendResult = { result: "sent", externalId: "77" };
const GONE: SendResult = { result: "refused", reason: "it is gone" };
const AWAY: SendResult = { result: "later", reason: "it is away", mayHaveArrived: false };
const LOST: SendResult = { result: "later", reason: "no answer", mayHaveArrived: true };

const MINUTE = 60_000;

Deno.test("messages of a Connection go one after the other, in their order", async () => {
  await using rig = await outboxRig();
  const first = Promise.withResolvers<SendResult>();
  rig.answers = [first.promise, SENT];
  const outbox = rig.start();
  await outbox.enqueue([draft("a"), draft("b", { target: { number: 2 } }), draft("c")]);
  await rig.tries(1);
  await outbox.enqueue([draft("d", { connection: "other" })]);
  await rig.message("d");
  deepEqual(rig.sent.map(({ message }) => message.body["text"]), ["a", "d"]);
  first.resolve(SENT);
  await rig.message("c");
  deepEqual(rig.sent.map(({ message }) => message.body["text"]), ["a", "d", "b", "c"]);
  equal((await rig.message("a")).externalId, "77");
});

Deno.test("a message of a task comes after the message about its start", async () => {
  await using rig = await outboxRig();
  const outbox = rig.start();
  const making = Promise.withResolvers<readonly Draft[]>();
  const started = outbox.enqueueStart("01TASK", making.promise);
  const said = outbox.enqueue([draft("said", { taskId: "01TASK" })]);
  await outbox.enqueue([draft("another task", { taskId: "02TASK" })]);
  await rig.tries(1);
  making.resolve([draft("started", { taskId: "01TASK" })]);
  await Promise.all([started, said]);
  await rig.tries(3);
  deepEqual(rig.sent.map(({ message }) => message.body["text"]), [
    "another task",
    "started",
    "said",
  ]);
  const failing = outbox.enqueueStart("01TASK", Promise.reject(new Error("no thread")));
  await outbox.enqueue([draft("said all the same", { taskId: "01TASK" })]);
  await rejects(failing, /no thread/);
  await rig.tries(4);
});

Deno.test("an unreachable target is tried after 1, 5, 25 and then every 60 minutes, for 36 hours", async () => {
  await using rig = await outboxRig();
  rig.answers = [AWAY];
  await rig.start().enqueue([draft("a", { taskId: "01TASK" })]);
  const pauses: number[] = [];
  for (let tries = 1; tries < 12; tries++) {
    await rig.tries(tries);
    const waiting = await rig.message("a", (one) => one.tries === tries && one.nextAt > 0);
    pauses.push((waiting.nextAt - rig.clock.now()) / MINUTE);
    equal(waiting.uncertainSince, undefined, "it is known not to have arrived");
    await rig.clock.advance(waiting.nextAt - rig.clock.now());
  }
  deepEqual(pauses, [1, 5, 25, 60, 60, 60, 60, 60, 60, 60, 60]);
  rig.clock.time += 36 * 60 * MINUTE;
  await rig.clock.advance(MINUTE);
  const failed = await rig.message("a");
  match(failed.reason, /^given up after 1[23] tries: it is away$/);
  deepEqual(rig.incidents.map(({ kind, taskId }) => [kind, taskId]), [["answer.failed", "01TASK"]]);
});

Deno.test("a refusal ends a message at once; one that answers no task is no incident", async () => {
  await using rig = await outboxRig();
  rig.answers = [GONE];
  const outbox = rig.start();
  await outbox.enqueue([draft("a"), draft("b", { taskId: "01TASK" }), draft("c", { kind: "new" })]);
  deepEqual([(await rig.message("a")).state, (await rig.message("a")).reason], [
    "failed",
    "it is gone",
  ]);
  await rig.message("b");
  match((await rig.message("c")).reason, /knows no messages of kind "new"/);
  equal(rig.sent.length, 2);
  equal(rig.incidents.length, 1);
});

Deno.test("a pause that is asked for holds the whole lane, and is not longer than an hour", async () => {
  await using rig = await outboxRig();
  rig.answers = [{ ...AWAY, afterSecs: 90 }, SENT];
  const outbox = rig.start();
  await outbox.enqueue([draft("a"), draft("b", { target: { number: 2 } })]);
  await rig.message("a", ({ nextAt }) => nextAt > 0);
  await rig.clock.advance(89_000);
  equal(rig.sent.length, 1);
  await rig.clock.advance(1000);
  await rig.message("a");
  await rig.message("b");
  equal(rig.sent.length, 3);
  rig.answers = [{ ...AWAY, afterSecs: 1e9 }];
  await outbox.enqueue([draft("c")]);
  const waiting = await rig.message("c", ({ nextAt }) => nextAt > 0);
  equal(waiting.nextAt - rig.clock.now(), 60 * MINUTE);
});

Deno.test("one message that another system cannot take does not hold up the others for long", async () => {
  await using rig = await outboxRig();
  rig.answers = [AWAY, AWAY, AWAY, SENT];
  const outbox = rig.start();
  await outbox.enqueue([draft("a")]);
  for (const [tries, minutes] of [[1, 1], [2, 5]] as const) {
    await rig.message("a", (one) => one.tries === tries && one.nextAt > 0);
    await rig.clock.advance(minutes * MINUTE);
  }
  await rig.message("a", (one) => one.tries === 3 && one.nextAt > 0);
  await outbox.enqueue([draft("b", { target: { number: 2 } })]);
  await rig.clock.advance(MINUTE);
  equal((await rig.message("b")).state, "sent");
});

Deno.test("the rate of a kind is kept: so many within so long", async () => {
  await using rig = await outboxRig();
  const rates = [{ most: 1, perMs: 1000 }, { most: 3, perMs: MINUTE }];
  rig.kind = { ...rig.kind, rates };
  const outbox = rig.start();
  const start = rig.clock.now();
  const at: number[] = [];
  for (let n = 0; n < 5; n++) await outbox.enqueue([draft(String(n), { target: { n } })]);
  for (let n = 0; n < 5; n++) {
    const sent = rig.message(String(n));
    await passUntil(rig.clock, sent, 1000);
    at.push((rig.clock.now() - start) / 1000);
  }
  ok((at[1] ?? 0) >= 1 && (at[2] ?? 0) >= 2 && (at[3] ?? 0) >= 60 && (at[4] ?? 0) >= 61, `${at}`);
});

Deno.test("a message that may have arrived is looked for, and then updated or sent", async () => {
  for (const [found, previous] of [["", ""], ["55", "55"]] as const) {
    await using rig = await outboxRig();
    rig.answers = [LOST, SENT];
    rig.found = found === "" ? { result: "absent" } : { result: "found", externalId: found };
    await rig.start().enqueue([draft("a", { key: "k" })]);
    const uncertain = await rig.message("a", ({ nextAt }) => nextAt > 0);
    ok(uncertain.uncertainSince !== undefined);
    await rig.clock.advance(MINUTE);
    equal((await rig.message("a")).state, "sent");
    deepEqual(rig.sent.map(({ previousId }) => previousId), ["", previous]);
  }
});

Deno.test("a message that may be new although an earlier one is known is looked for, too", async () => {
  for (const isReplaced of [true, undefined] as const) {
    await using rig = await outboxRig();
    rig.kind = { ...rig.kind, ...defined({ isReplaced }) };
    rig.answers = [{ result: "sent", externalId: "1" }, LOST, SENT];
    rig.found = { result: "found", externalId: "2" };
    const outbox = rig.start();
    await outbox.enqueue([draft("a", { key: "k" })]);
    await rig.message("a");
    await outbox.enqueue([draft("b", { key: "k" })]);
    await rig.message("b", ({ nextAt }) => nextAt > 0);
    await rig.clock.advance(MINUTE);
    equal((await rig.message("b")).state, "sent");
    deepEqual(rig.sent.map(({ previousId }) => previousId), ["", "1", isReplaced ? "2" : "1"]);
  }
});

Deno.test("while the target cannot be searched, the message is not sent again", async () => {
  await using rig = await outboxRig();
  rig.answers = [LOST, SENT];
  rig.found = AWAY;
  await rig.start().enqueue([draft("a")]);
  await rig.message("a", ({ tries, nextAt }) => tries === 1 && nextAt > 0);
  await rig.clock.advance(MINUTE);
  const waiting = await rig.message("a", ({ tries, nextAt }) => tries === 2 && nextAt > 0);
  ok(waiting.uncertainSince !== undefined, "still");
  equal(rig.sent.length, 1);
  rig.found = { result: "refused", reason: "no right to look" };
  await rig.clock.advance(5 * MINUTE);
  const failed = await rig.message("a");
  deepEqual([failed.state, failed.reason], ["failed", "no right to look"]);
  ok(failed.uncertainSince !== undefined, "the next one of its key looks again");
});

Deno.test("a message that may have arrived and cannot be searched for is given up, and says so", async () => {
  await using rig = await outboxRig();
  const { find: _none, ...kind } = rig.kind;
  rig.kind = { ...kind, again: "never" };
  rig.answers = [LOST];
  const outbox = rig.start();
  await outbox.enqueue([draft("a")]);
  match((await rig.message("a")).reason, /^no answer; it may have arrived.* svc outbox retry /);
  await rig.stop();
  await rig.store.addToOutbox(outbox.prepare([draft("b")]));
  await rig.store.claimMessages({ limit: 5, now: rig.clock.now(), busy: [] }); // and then a crash
  rig.start();
  match((await rig.message("b")).reason, /^the daemon ended while it was being sent; it may/);
  equal(rig.sent.length, 1);
});

Deno.test("a message under way when the daemon ended continues at its next start", async () => {
  await using rig = await outboxRig();
  rig.answers = [new Promise<SendResult>(() => {}), SENT];
  const { kind } = rig;
  let given = 0;
  rig.kind = {
    ...kind,
    send(claimed, host) {
      if (given++ > 0) return kind.send(claimed, host);
      rig.sent.push(claimed);
      return new Promise((resolve) =>
        host.signal.addEventListener("abort", () => resolve({ ...LOST, reason: "stopped" }))
      );
    },
  };
  await rig.start().enqueue([draft("a")]);
  await rig.tries(1);
  const stopped = rig.stop();
  await rig.clock.advance(2000);
  await stopped;
  const waiting = await rig.message("a", () => true);
  deepEqual([waiting.state, waiting.nextAt, waiting.uncertainSince !== undefined], [
    "pending",
    0,
    true,
  ]);
  rig.start();
  const sent = await passUntil(rig.clock, rig.message("a"), 1000);
  equal(sent.state, "sent");
});

Deno.test("secrets are hidden before anything is stored, and in reasons", async () => {
  await using rig = await outboxRig();
  rig.answers = [{ ...GONE, reason: `the token ${SECRET} is wrong` }];
  await rig.start().enqueue([draft("a", { body: { text: "a", more: [`x ${SECRET} y`] } })]);
  const failed = await rig.message("a");
  ok(!JSON.stringify([failed, rig.logged, rig.incidents]).includes(SECRET));
});

Deno.test("a message whose sending throws is tried again, not lost", async () => {
  await using rig = await outboxRig();
  let calls = 0;
  const send = rig.kind.send;
  rig.kind = {
    ...rig.kind,
    send: (claimed, host) =>
      ++calls === 1 ? Promise.reject(new Error("a bug")) : send(claimed, host),
  };
  await rig.start().enqueue([draft("a")]);
  await rig.message("a", ({ nextAt }) => nextAt > 0);
  await rig.clock.advance(MINUTE);
  equal((await rig.message("a")).state, "sent");
});
