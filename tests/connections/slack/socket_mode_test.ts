/**
 * Socket Mode against a stand-in for Slack: what is acknowledged and what is not, and how one socket
 * follows another.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../../src/base/errors.ts";
import type { Envelope } from "../../../src/connections/slack/frames.ts";
import { SocketMode, type SocketModeHost } from "../../../src/connections/slack/socket_mode.ts";
import { openSocket } from "../../../src/connections/slack/websocket.ts";
import {
  APP_TOKEN,
  BOT_TOKEN,
  type FakeSlack,
  fakeSlack,
  rateLimited,
  refusal,
} from "../../fakes/slack.ts";
import { ManualClock } from "../../helpers/manual_clock.ts";
import { NOT_SLOW } from "../../helpers/program.ts";
import { skippable } from "../../helpers/requirements.ts";
import { until } from "../../helpers/until.ts";

/** A socket under test, and what it did. */
interface Rig extends AsyncDisposable {
  readonly slack: FakeSlack;
  readonly socket: SocketMode;
  readonly clock: ManualClock;
  readonly stored: Envelope[];
  readonly broken: string[];
  readonly missed: number[];
  readonly log: string[];
}

function rig(how: { slack?: FakeSlack } & Partial<SocketModeHost> = {}): Rig {
  const stack = new AsyncDisposableStack();
  const { slack = fakeSlack(), ...host } = how;
  stack.use(slack);
  const clock = new ManualClock();
  const [stored, broken, missed, log] = [[], [], [], []] as [
    Envelope[],
    string[],
    number[],
    string[],
  ];
  const write = (message: string, facts = {}) =>
    void log.push(`${message} ${JSON.stringify(facts)}`);
  const socket = stack.use(
    new SocketMode({
      name: "default/slack",
      api: slack.url,
      token: () => APP_TOKEN.token,
      store: (envelope) => Promise.resolve(void stored.push(envelope)),
      noted: (problem, isBroken) => void (isBroken && broken.push(problem ?? "")),
      countSiblings: () => Promise.resolve(0),
      missed: (from, to) => void missed.push(to - from),
      openSocket,
      clock,
      log: { debug: write, info: write, warn: write, error: write },
      ...host,
    }),
  );
  return {
    slack,
    socket,
    clock,
    stored,
    broken,
    missed,
    log,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function connected({ socket }: Rig, isIt = true): Promise<true> {
  return until(
    "the connection",
    () => (socket.state.connectedSince !== undefined) === isIt ? true : undefined,
  );
}

Deno.test("SocketMode acknowledges an envelope once it is stored, never before", async () => {
  const { promise: committed, resolve: commit } = Promise.withResolvers<undefined>();
  const began = Promise.withResolvers<void>();
  await using it = rig({
    store() {
      began.resolve();
      return committed;
    },
  });
  const line = await it.slack.next();
  let acknowledged = false;
  const ack = line.deliver({ payload: { event_id: "Ev1" } }).finally(() => acknowledged = true);
  await began.promise;
  await it.clock.advance(5000);
  equal(acknowledged, false);
  commit(undefined);
  deepEqual(Object.keys(await ack ?? {}), ["envelope_id"]);
});

Deno.test("SocketMode keeps the payload as it was sent, with the fields that mark a repetition", async () => {
  await using it = rig();
  const line = await it.slack.next();
  line.send(
    '{"payload" : {"n": 1.0, "big": 12345678901234567890, "a":"\\u00e9"}, "retry_attempt": 2,' +
      '"retry_reason": "timeout", "type": "events_api", "envelope_id": "e1"}',
  );
  await until("the envelope", () => it.stored[0]);
  deepEqual(it.stored, [{
    is: "envelope",
    id: "e1",
    type: "events_api",
    payload: '{"n": 1.0, "big": 12345678901234567890, "a":"\\u00e9"}',
    retry: { attempt: "2", reason: "timeout" },
  }]);
});

Deno.test("SocketMode sends the answer along with the acknowledgement", async () => {
  await using it = rig({ store: () => Promise.resolve({ options: [] }) });
  const line = await it.slack.next();
  const ack = await line.deliver({ type: "interactive", payload: { type: "block_suggestion" } });
  deepEqual(ack?.payload, { options: [] });
});

Deno.test("SocketMode does not acknowledge an envelope that was not stored, and accepts its repetition", async () => {
  let fails = true;
  await using it = rig({
    store: () =>
      fails
        ? Promise.reject(new AppError("overloaded", "The database cannot be written"))
        : Promise.resolve(undefined),
  });
  const line = await it.slack.next();
  const first = line.deliver({ payload: { event_id: "Ev1" } });
  await until("a line of the log", () => it.log.find((text) => text.includes("not stored")));
  fails = false;
  const second = await line.deliver({ payload: { event_id: "Ev1" }, attempt: 1 });
  ok(second?.envelope_id);
  line.drop();
  equal(await first, undefined);
});

Deno.test("SocketMode stores in the order of arrival, one after the other", async () => {
  const order: string[] = [];
  await using it = rig({
    async store({ payload }) {
      order.push(`begin ${payload}`);
      await new Promise((resolve) => setTimeout(resolve));
      order.push(`end ${payload}`);
    },
  });
  const line = await it.slack.next();
  await Promise.all([1, 2, 3].map((payload) => line.deliver({ payload })));
  deepEqual(order, ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
});

Deno.test("SocketMode opens the next socket before the old one ends, and goes on with both", async () => {
  await using it = rig();
  const old = await it.slack.next();
  await connected(it);
  await it.clock.advance(20_000);
  const next = it.slack.next();
  old.send({ type: "disconnect", reason: "refresh_requested" });
  const young = await next;
  deepEqual([it.slack.lines.length, it.socket.state.connectedSince !== undefined], [2, true]);
  ok(await old.deliver({ payload: 1 }), "the old one goes on acknowledging");
  ok(await young.deliver({ payload: 2 }));
  old.close();
  await old.ended;
  await it.clock.advance(60_000);
  equal(it.socket.state.problem, undefined);
  equal(it.slack.opened(), 2);
});

Deno.test("SocketMode ends an old socket that Slack leaves open", async () => {
  await using it = rig();
  const old = await it.slack.next();
  await connected(it);
  await it.clock.advance(20_000);
  const next = it.slack.next();
  old.send({ type: "disconnect", reason: "warning" });
  const young = await next;
  await until("the second hello", () => it.log.filter((text) => text.startsWith("connected"))[1]);
  await it.clock.advance(25_000);
  equal(it.slack.lines.length, 2);
  young.ping();
  await it.clock.advance(6_000);
  await old.ended;
  deepEqual([it.slack.lines.length, it.slack.opened()], [1, 2]);
});

Deno.test("SocketMode opens another socket at once when its own ends", async () => {
  await using it = rig();
  const line = await it.slack.next();
  await connected(it);
  await it.clock.advance(20_000);
  const next = it.slack.next();
  line.drop();
  await next;
  await connected(it);
  equal(it.missed.length, 0);
});

/** Refusals of `apps.connections.open`, what is said of each, and whether somebody has to mend it. */
const REFUSALS: Readonly<Record<string, [() => Response, RegExp, boolean]>> = {
  "a wrong token": [() => refusal("invalid_auth"), /wrong or was revoked/, true],
  "a token of the other type": [() => refusal("not_allowed_token_type"), /begin with xoxb-/, true],
  "a missing scope": [
    () =>
      refusal("missing_scope", { needed: "connections:write", provided: "authorizations:read" }),
    /needs the scope connections:write, and has authorizations:read/,
    true,
  ],
  "a word that nobody knows": [() => refusal("some_new_word"), /with some_new_word$/, true],
  "a fault of Slack's": [() => refusal("internal_error"), /internal_error/, false],
  "a status": [() => new Response("<html>", { status: 502 }), /status 502/, false],
  "no JSON": [() => new Response("fine"), /status 200/, true],
  "an address that is not encrypted": [
    () => Response.json({ ok: true, url: "ftp://wss-primary.slack.com" }),
    /no wss:\/\/ address/,
    false,
  ],
};

for (const [name, [answer, said, isBroken]] of Object.entries(REFUSALS)) {
  Deno.test(`SocketMode says what is wrong at ${name}`, async () => {
    const slack = fakeSlack();
    slack.interfere = answer;
    await using it = rig({ slack });
    ok(said.test(await until("a problem", () => it.socket.state.problem)), it.socket.state.problem);
    deepEqual(it.broken.length, isBroken ? 1 : 0);
    ok(!JSON.stringify([it.log, it.broken, it.socket.state]).includes(APP_TOKEN.token));
    slack.interfere = undefined;
    void it.socket.retry();
    await connected(it);
    equal(it.socket.state.problem, undefined);
  });
}

Deno.test("SocketMode tells once that it is broken, and again after it worked", async () => {
  const slack = fakeSlack();
  slack.interfere = () => refusal("invalid_auth");
  await using it = rig({ slack });
  for (let calls = 1; calls <= 3; calls++) {
    await until("a call", () => slack.calls.length >= calls ? true : undefined);
    void it.socket.retry();
  }
  await until("a call", () => slack.calls.length >= 4 ? true : undefined);
  equal(it.broken.length, 1);
  slack.interfere = undefined;
  void it.socket.retry();
  await connected(it);
  await it.clock.advance(20_000);
  slack.interfere = () => refusal("token_revoked");
  slack.lines[0]?.drop();
  await until("a second telling", () => it.broken[1]);
});

Deno.test("SocketMode waits as long as Slack asks for, and twice as long after each failure", async () => {
  const slack = fakeSlack();
  let answer = () => rateLimited(7);
  slack.interfere = () => answer();
  await using it = rig({ slack });
  const count = (calls: number) =>
    until(`call ${calls}`, async () => {
      await it.clock.advance(0);
      return slack.calls.length >= calls && it.clock.waiting === 1 ? true : undefined;
    });
  await count(1);
  await it.clock.advance(6999);
  equal(slack.calls.length, 1);
  answer = () => new Response(null, { status: 503 });
  await it.clock.advance(1);
  await count(2); // the second failure: 2 s
  for (const [index, pause] of [2, 4, 8, 16, 32, 60, 60].entries()) {
    await it.clock.advance(pause * 1000 - 1);
    equal(slack.calls.length, index + 2);
    await it.clock.advance(1);
    await count(index + 3);
  }
});

for (const asked of [7200, 999_999, 1e20]) {
  Deno.test(`SocketMode tries again within an hour where Slack asks for ${asked} s`, async () => {
    const slack = fakeSlack();
    slack.interfere = () => rateLimited(asked);
    await using it = rig({ slack });
    ok((await until("a problem", () => it.socket.state.problem)).includes("a pause of 3600 s"));
    await until("the pause", () => it.clock.waiting === 1 ? true : undefined);
    await it.clock.advance(3_599_999);
    equal(slack.calls.length, 1);
    await it.clock.advance(1);
    await until("another call", () => slack.calls[1]);
  });
}

Deno.test("SocketMode waits before it opens another socket where one ended at once", async () => {
  const slack = fakeSlack();
  await using it = rig({ slack });
  const line = await slack.next();
  await connected(it);
  line.drop();
  ok((await until("a problem", () => it.socket.state.problem)).includes("ended: "));
  equal(slack.calls.length, 1);
  const next = slack.next();
  await until("a pause", () => it.clock.waiting > 0 ? true : undefined);
  await it.clock.advance(1000);
  await next;
});

Deno.test("SocketMode gives a socket up that is not greeted", async () => {
  const slack = fakeSlack();
  slack.greeting = "nothing";
  await using it = rig({ slack });
  const line = await slack.next();
  await it.clock.advance(15_000);
  await line.ended;
  ok((await until("a problem", () => it.socket.state.problem)).includes("ended: "));
});

Deno.test("SocketMode notices after a minute of silence that the connection is dead", async () => {
  await using it = rig();
  const line = await it.slack.next();
  await connected(it);
  for (let pings = 0; pings < 5; pings++) {
    await it.clock.advance(30_000);
    line.ping();
    await line.deliver({ payload: pings }); // the ping before it has arrived, then
  }
  equal(it.slack.opened(), 1);
  const next = it.slack.next();
  await it.clock.advance(60_000);
  await next;
  await line.ended; // dropped, once there is another one
  await connected(it);
  equal(it.slack.lines.length, 1);
});

Deno.test("SocketMode opens another socket when the machine has slept", async () => {
  await using it = rig();
  const line = await it.slack.next();
  await connected(it);
  await it.clock.advance(20_000);
  line.ping();
  await line.deliver({ payload: 1 });
  const next = it.slack.next();
  it.clock.time += 3_600_000;
  await it.clock.advance(10_000);
  await next;
  await line.ended;
  await until("what was missed", () => it.missed[0]);
  ok((it.missed[0] ?? 0) >= 3_600_000);
});

Deno.test("SocketMode says that Socket Mode was switched off, and looks again", async () => {
  await using it = rig();
  const line = await it.slack.next();
  await connected(it);
  line.send({ type: "disconnect", reason: "link_disabled" });
  await line.ended;
  ok((await until("the telling", () => it.broken[0])).includes("switch it on"));
  equal(it.socket.state.connectedSince, undefined);
  const next = it.slack.next();
  await until("a pause", () => it.clock.waiting > 0 ? true : undefined);
  await it.clock.advance(5 * 60_000);
  await next;
});

Deno.test("SocketMode says when the app has too many sockets", async () => {
  const slack = fakeSlack();
  slack.others = 10;
  await using it = rig({ slack });
  ok((await until("the telling", () => it.broken[0])).includes("more sockets than Slack allows"));
  slack.others = 0;
  void it.socket.retry();
  await connected(it);
});

Deno.test("SocketMode says when another program takes part of the events", async () => {
  const slack = fakeSlack();
  slack.others = 1;
  await using it = rig({ slack });
  const problem = await until("the problem", () => it.socket.state.problem);
  ok(problem.startsWith("Another socket is open for this app"));
  deepEqual(it.broken, []);
});

Deno.test("SocketMode takes the sockets of daemons over the same database for no other program's", async () => {
  const slack = fakeSlack();
  slack.others = 2;
  let asked = 0;
  const countSiblings = () => Promise.resolve(++asked > 1 ? 1 : 2);
  await using it = rig({ slack, countSiblings });
  const line = await it.slack.next();
  await connected(it);
  await until("the question", () => asked || undefined);
  equal(it.socket.state.problem, undefined);
  await it.clock.advance(20_000);
  line.drop();
  const problem = await until("the problem", () => it.socket.state.problem);
  ok(problem.startsWith("Another socket is open for this app"));
});

const GARBAGE: Readonly<Record<string, string | Uint8Array>> = {
  "no JSON": "hello?",
  "a list": "[]",
  "half an envelope": '{"type": "events_api", "envelope_id": "e1"',
  "an id that is no text": '{"type": "events_api", "envelope_id": {}, "payload": {}}',
  "bytes": new Uint8Array([0, 255, 1]),
};

for (const [name, frame] of Object.entries(GARBAGE)) {
  Deno.test(`SocketMode goes on after a frame with ${name}`, async () => {
    await using it = rig();
    const line = await it.slack.next();
    if (typeof frame === "string") line.send(frame);
    else line.sendBytes(frame);
    ok(await line.deliver({ payload: { event_id: "Ev1" } }));
    equal(it.stored.length, 1);
    ok(it.log.some((text) => text.startsWith("Slack sent something that svc cannot read")));
  });
}

for (const [name, frame] of Object.entries(GARBAGE)) {
  Deno.test(`SocketMode gives a socket up that sends nothing but frames with ${name}`, async () => {
    const slack = fakeSlack();
    await using it = rig({ slack });
    for (const pause of [1000, 2000, 4000]) {
      const line = slack.lines.at(-1) ?? await slack.next();
      await connected(it);
      const opened = slack.opened();
      const next = slack.next();
      for (let n = 0; n < 3000; n++) {
        if (typeof frame === "string") line.send(frame);
        else line.sendBytes(frame);
      }
      await line.ended;
      const problem = await until("a problem", () => it.socket.state.problem);
      ok(problem.includes("Slack never sends"), problem);
      await it.clock.advance(pause - 1);
      equal(slack.opened(), opened, "attempts become rarer");
      await it.clock.advance(1);
      await next;
    }
    const lines = it.log.filter((text) =>
      text.startsWith(
        "Slack sent something that svc " +
          "cannot read",
      )
    );
    equal(lines.length, 1);
  });
}

Deno.test("SocketMode keeps a socket that now and then sends an unreadable message", async () => {
  await using it = rig();
  const line = await it.slack.next();
  await connected(it);
  for (let n = 0; n < 5; n++) {
    for (let frames = 0; frames < 90; frames++) line.send("x");
    ok(await line.deliver({ payload: n }));
    await it.clock.advance(10_000);
  }
  equal(it.slack.opened(), 1);
});

Deno.test("SocketMode says once a minute that too many events wait, or are not stored", async () => {
  const { promise: stuck, resolve: go } = Promise.withResolvers<void>();
  await using it = rig({
    store: () => stuck.then(() => Promise.reject(new AppError("overloaded", "Not now"))),
  });
  const line = await it.slack.next();
  const count = 1200;
  const type = "x".repeat(10_000);
  for (let n = 0; n < count; n++) void line.deliver({ type, payload: { n } });
  const said = (what: string) => it.log.filter((text) => text.includes(what));
  await until("too many", () => said("too many events")[0]);
  go();
  await until("not stored", () => said("not stored")[0]);
  line.drop();
  await it.socket[Symbol.asyncDispose]();
  for (const what of ["too many events", "not stored"]) {
    const counts = said(what).map((text) => Number(/"count":(\d+)/.exec(text)?.[1]));
    ok(counts.length <= 2 && counts[0] === 1, `${what}: ${counts}`);
  }
  ok(it.log.every((text) => text.length < 1000));
});

/** Has Slack ask for another socket after so long, and again; gives the sockets that stay open. */
async function refreshed(it: Rig, times: number, afterMs: number): Promise<number> {
  let most = 0;
  for (let n = 0; n < times; n++) {
    const line = it.slack.lines.at(-1) ?? await it.slack.next();
    await until("hello", () => it.log.filter((text) => text.startsWith("connected"))[n]);
    it.slack.lines.forEach((one) => one.ping());
    await it.clock.advance(afterMs);
    it.slack.lines.forEach((one) => one.ping());
    const next = it.slack.next();
    line.send({ type: "disconnect", reason: "refresh_requested" });
    let isThere = false;
    void next.then(() => isThere = true);
    await until("the next socket", async () => {
      if (!isThere) await it.clock.advance(1000); // the pause after one that was short
      return isThere ? true : undefined;
    });
    most = Math.max(most, it.slack.lines.length);
  }
  return most;
}

for (const afterMs of [10_500, 5000, 100]) {
  const name =
    `SocketMode keeps few sockets where Slack asks for another each ${afterMs} ms and closes none`;
  const skip = afterMs === 10_500 ? undefined : NOT_SLOW;
  Deno.test({ ...skippable(name, skip), fn: () => keepsFewSockets(afterMs) });
}

async function keepsFewSockets(afterMs: number): Promise<void> {
  await using it = rig();
  const most = await refreshed(it, 12, afterMs);
  ok(most <= 4, `${most} sockets`); // one that was dropped may not have ended yet
  await until("three at most", () => it.slack.lines.length <= 3 ? true : undefined);
  await until("the last hello", () => it.log.filter((text) => text.startsWith("connected"))[12]);
  const young = it.slack.lines.at(-1);
  for (let n = 0; n < 4; n++) {
    young?.ping();
    ok(await young?.deliver({ payload: n }), "the newest stays");
    await it.clock.advance(10_000);
  }
  await until("one", () => it.slack.lines.length === 1 ? true : undefined);
}

Deno.test("SocketMode takes another socket after a frame that is larger than any of Slack's", async () => {
  await using it = rig();
  const line = await it.slack.next();
  await connected(it);
  await it.clock.advance(20_000);
  const next = it.slack.next();
  line.send({ type: "events_api", envelope_id: "e1", payload: "x".repeat(1024 * 1024) });
  ok(await (await next).deliver({ payload: 1 }));
  equal(it.stored.length, 1);
});

Deno.test("SocketMode survives a socket that ends while its event is stored", async () => {
  const { promise: committed, resolve: commit } = Promise.withResolvers<undefined>();
  await using it = rig({ store: () => committed });
  const line = await it.slack.next();
  await connected(it);
  await it.clock.advance(20_000);
  const next = it.slack.next();
  const ack = line.deliver({ payload: 1 });
  await until("the event", () => it.socket.state.lastEventAt);
  line.drop();
  equal(await ack, undefined);
  const young = await next;
  commit(undefined);
  ok(await young.deliver({ payload: 1, attempt: 1 }));
});

Deno.test("SocketMode that ends acknowledges what it is storing, and closes its socket", async () => {
  const began = Promise.withResolvers<void>();
  const { promise: committed, resolve: commit } = Promise.withResolvers<undefined>();
  await using it = rig({
    store() {
      began.resolve();
      return committed;
    },
  });
  const line = await it.slack.next();
  const acks = [line.deliver({ payload: 1 }), line.deliver({ payload: 2 })];
  await began.promise;
  const ended = it.socket[Symbol.asyncDispose]();
  commit(undefined);
  await ended;
  const [first, second] = await Promise.all(acks);
  deepEqual([first !== undefined, second], [true, undefined]);
});

Deno.test("SocketMode does not load the token of the bot, and shows none", async () => {
  await using it = rig();
  await connected(it);
  deepEqual(it.slack.calls.map(({ method, token }) => [method, token]), [
    ["apps.connections.open", APP_TOKEN.token],
  ]);
  const told = JSON.stringify([it.log, it.socket.state]);
  ok(
    !told.includes(APP_TOKEN.token) && !told.includes(BOT_TOKEN.token) && !told.includes("ticket"),
  );
});
