/**
 * A program, run with `--expose-gc`: prints as JSON how many bytes stay on the heap for a full
 * collection, after the quick ones have taken what they can, of each request that is answered as
 * the webhook server does, of each wait in a list, and of each body of ten thousand triggers.
 *
 * @module
 */

import { systemClock } from "../../src/base/clock.ts";
import { memoryUsage } from "node:process";
import { BodyBudget } from "../../src/http/body_budget.ts";
import { readBody } from "../../src/http/read_body.ts";
import { serve } from "../../src/http/server/serve.ts";
import { SharedTimeout } from "../../src/http/shared_timeout.ts";
import { RawClient } from "../helpers/raw_client.ts";

const TIMES = 4000;
/** Times between two quick collections; who survives two of them stays. */
const ROUND = 100;

const collect = Reflect.get(globalThis, "gc") as (how?: { type: "minor" }) => void;

/** What `work` leaves behind each time, once everything is compiled. */
async function bytesLeft(work: () => Promise<unknown>): Promise<number> {
  const repeat = async () => {
    for (let done = 1; done <= TIMES; done++) {
      await work();
      if (done % ROUND === 0) collect({ type: "minor" });
    }
  };
  await repeat();
  collect();
  const before = memoryUsage().heapUsed;
  await repeat();
  return Math.round((memoryUsage().heapUsed - before) / TIMES);
}

async function ofRequest(): Promise<number> {
  const body = "x".repeat(500);
  const headers = Array.from({ length: 12 }, (_, n) => `X-Header-${n}: value ${n}\r\n`).join("");
  const post = `POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${headers}\r\n`;
  const bodies = new BodyBudget(1 << 20);
  await using server = await serve({
    on: { hostname: "127.0.0.1", port: 0 },
    drainMs: 100,
    log: { debug() {}, info() {}, warn: console.error, error: console.error },
    handler: async (request) => {
      const { length } = Object.keys(Object.fromEntries(request.headers));
      const held = bodies.hold("x");
      const bytes = await readBody(request, {
        headers: Object.fromEntries(request.headers),
        limits: { maxBytes: 10_000, deadlineMs: 10_000 },
        held,
      });
      held.release();
      return new Response(`${length} headers, ${bytes.length} bytes`);
    },
  });
  using client = await RawClient.connect(server.port);
  return await bytesLeft(async () => {
    await client.send(post + body);
    const answer = await client.answer();
    if (answer?.body !== "14 headers, 500 bytes") throw new Error(`Answered ${answer?.body}`);
  });
}

async function ofWait(): Promise<number> {
  const list = new SharedTimeout(10_000, systemClock);
  const late = () => new Error("late");
  const open: { resolve: (value: unknown) => void; over: Promise<unknown> }[] = [];
  const left = await bytesLeft(async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    open.push({ resolve, over: list.wait(promise, late) });
    if (open.length < 8) return;
    const first = open.shift();
    first?.resolve(new Array(1000).fill(0));
    await first?.over;
  });
  for (const { resolve } of open) resolve(0);
  return left;
}

async function ofBody(): Promise<number> {
  const bodies = new BodyBudget(1 << 20);
  let n = 0;
  const holdNext = () => {
    const held = bodies.hold(`default/t${n++ % 10_000}`);
    held.take(100, 100);
    held.release();
    return Promise.resolve();
  };
  while (n < 10_000) void holdNext();
  return await bytesLeft(holdNext);
}

const left = { request: await ofRequest(), wait: await ofWait(), body: await ofBody() };
console.log(JSON.stringify(left));
