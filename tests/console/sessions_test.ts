/**
 * Tickets and keys of the console: what is good for how long, how often, and how many there are.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { KEY_MS, Sessions, TICKET_MS } from "../../src/console/sessions.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

/** A key, by a new ticket. */
function newKey(sessions: Sessions): string {
  return sessions.exchange(sessions.issue().text)?.text ?? "";
}

function holds(sessions: Sessions, key: string): boolean {
  return sessions.find(key) !== undefined;
}

Deno.test("a ticket is good once", async () => {
  using sessions = new Sessions(new ManualClock());
  const ticket = sessions.issue();
  const key = sessions.exchange(ticket.text);
  match(key?.text ?? "", /^[0-9a-f]{64}$/);
  match(ticket.text, /^[0-9a-f]{64}$/);
  equal(await ticket.over, true);
  equal(sessions.exchange(ticket.text), undefined);
  equal(holds(sessions, key?.text ?? ""), true);
});

Deno.test("a ticket is good for a minute, and then over without anybody asking", async () => {
  equal(TICKET_MS, 60_000);
  const clock = new ManualClock();
  using sessions = new Sessions(clock);
  const [used, late] = [sessions.issue(), sessions.issue()];
  await clock.advance(59_999);
  equal(sessions.exchange(used.text) === undefined, false);
  await clock.advance(1);
  equal(sessions.exchange(late.text), undefined);
  deepEqual([await used.over, await late.over], [true, false]);
  equal(clock.waiting, 1, "no timer is left but that of the key");
});

Deno.test("a ticket whose timer has not run, on a machine that slept, is not good either", () => {
  const clock = new ManualClock();
  using sessions = new Sessions(clock);
  const { text } = sessions.issue();
  clock.time += 60_000;
  equal(sessions.exchange(text), undefined);
});

Deno.test("a key is good for twelve hours", async () => {
  equal(KEY_MS, 12 * 60 * 60 * 1000);
  const clock = new ManualClock();
  using sessions = new Sessions(clock);
  const key = newKey(sessions);
  await clock.advance(KEY_MS - 1);
  equal(holds(sessions, key), true);
  await clock.advance(1);
  equal(holds(sessions, key), false);
});

Deno.test("there are sixteen keys and sixteen tickets at most: the oldest goes", async () => {
  using sessions = new Sessions(new ManualClock());
  const keys = Array.from({ length: 17 }, () => newKey(sessions));
  deepEqual(keys.map((key) => holds(sessions, key)), [false, ...Array(16).fill(true)]);
  const tickets = Array.from({ length: 17 }, () => sessions.issue());
  equal(await tickets[0]?.over, false);
  const good = tickets.map(({ text }) => sessions.exchange(text) !== undefined);
  deepEqual(good, [false, ...Array(16).fill(true)]);
});

Deno.test("a ticket is no key, a key is no ticket, and neither is a guess", () => {
  using sessions = new Sessions(new ManualClock());
  const ticket = sessions.issue().text;
  equal(holds(sessions, ticket), false);
  const key = newKey(sessions);
  equal(sessions.exchange(key), undefined);
  for (const guess of ["", "0", ticket.slice(1), `${ticket}0`, ticket.toUpperCase() + " "]) {
    deepEqual([sessions.exchange(guess), holds(sessions, guess)], [undefined, false], guess);
  }
  equal(sessions.exchange(ticket) === undefined, false, "guesses have not used it up");
});

Deno.test("the end of the console ends them all", async () => {
  const clock = new ManualClock();
  const sessions = new Sessions(clock);
  const key = newKey(sessions);
  const ticket = sessions.issue();
  sessions[Symbol.dispose]();
  equal(await ticket.over, false);
  deepEqual([holds(sessions, key), sessions.exchange(ticket.text)], [false, undefined]);
  equal(clock.waiting, 0);
});
