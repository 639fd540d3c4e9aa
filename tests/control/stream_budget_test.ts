/**
 * How many streams callers may have open at once, whether or not anybody reads them.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import type { Role } from "../../src/base/roles.ts";
import { defined } from "../../src/base/defined.ts";
import { createLog } from "../../src/base/log.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { controlHandler, type Handlers } from "../../src/control/server/server.ts";
import { KnownSecrets } from "../../src/secrets/known_secrets.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { until } from "../helpers/until.ts";

/** More than may be open. */
const MANY = 200;

/** A server whose streams have no end of their own, and how many of those run. */
function serverRig() {
  const clock = new ManualClock();
  const running = { streams: 0, lines: 0 };
  const answer = controlHandler({
    handlers: {
      async *"get.watch"(_input: unknown, _caller: unknown, signal: AbortSignal) {
        running.streams++;
        try {
          while (!signal.aborted) {
            running.lines++;
            yield { text: "x".repeat(1000) };
          }
        } finally {
          running.streams--;
        }
      },
      status: () => Promise.resolve({}),
    } as unknown as Handlers,
    resolve: (_record, given) => Promise.resolve(given),
    events: new EventHub<DaemonEvents>({ error() {} }),
    identify: ({ headers }) =>
      Promise.resolve({ name: "socket", role: headers.get("x-role") as Role }),
    auditRefusal: () => Promise.resolve(),
    secrets: new KnownSecrets(),
    metrics: () => Promise.resolve(new Response("")),
    signal: new AbortController().signal,
    clock,
    log: createLog({ level: "error", format: "json", clock, write: () => {} }),
    newId: () => "01",
    runtime: { filesOf: () => ok(false, "no attachment") as never },
  });
  const ask = (role: Role, name = "get.watch", signal?: AbortSignal) =>
    answer(
      new Request(`http://svc/v1/${name}`, {
        method: "POST",
        body: name === "status" ? "{}" : JSON.stringify({ what: "task" }),
        headers: { "x-role": role },
        ...defined({ signal }),
      }),
    );
  return { ask, running };
}

/** Asks for streams without reading them, until one is refused. */
async function fill(
  ask: () => Promise<Response>,
): Promise<{ open: Response[]; refused: Response }> {
  const open: Response[] = [];
  while (open.length < MANY) {
    const response = await ask();
    if (response.status !== 200) return { open, refused: response };
    open.push(response);
  }
  throw new Error(`${MANY} streams are open`);
}

Deno.test("streams that nobody reads are bounded for each role, and hold few lines", async () => {
  const { ask, running } = serverRig();
  const { open, refused } = await fill(() => ask("read_only"));
  equal(refused.status, 503);
  ok(refused.headers.has("retry-after"));
  const { code, detail } = await refused.json();
  equal(code, "overloaded");
  match(detail, /role read_only have \d+ streams open, .* end some/);
  ok(running.lines <= 2 * open.length, `${running.lines} lines of ${open.length} streams`);

  equal((await ask("read_only", "status")).status, 200, "what is no stream");
  const other = await ask("operator");
  equal(other.status, 200, "another role");
  for (const { body } of [...open, other]) await body?.cancel();
  equal(running.streams, 0);
});

Deno.test("a stream that has ended, or whose client has gone, makes room for another", async () => {
  const { ask, running } = serverRig();
  const gone = new AbortController();
  const { open } = await fill(() => ask("read_only", "get.watch", gone.signal));
  await open[0]?.body?.cancel();
  const next = await ask("read_only");
  equal(next.status, 200, "after one that was cancelled");
  equal((await ask("read_only")).status, 503);
  gone.abort();
  await until("the streams of the client are over", () => running.streams === 1 || undefined);
  const again = await fill(() => ask("read_only"));
  equal(again.open.length, open.length - 1);
  for (const { body } of [next, ...again.open]) await body?.cancel();
  equal(running.streams, 0);
});

Deno.test("a stream that is refused takes no room", async () => {
  const { ask } = serverRig();
  const { open } = await fill(() => ask("admin"));
  for (let times = 0; times < MANY; times++) equal((await ask("admin")).status, 503);
  for (const { body } of open) await body?.cancel();
  const again = await fill(() => ask("admin"));
  equal(again.open.length, open.length);
  for (const { body } of again.open) await body?.cancel();
});
