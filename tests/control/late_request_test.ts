/**
 * Requests that a daemon finds late, because it stood still while they came: what is to be changed
 * is done only for who is still there.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { connect } from "../../src/api/client.ts";
import { ASK_AGAIN, ASKED_HEADER, TIME_HEADER } from "../../src/api/fresh_request.ts";
import { createLog } from "../../src/base/log.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { controlHandler, type Handlers } from "../../src/control/server/server.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { known } from "../helpers/known_secrets.ts";

const TASK = "01J00000000000000000000000";
const INPUTS: Readonly<Record<string, unknown>> = {
  "task.cancel": { ids: [TASK] },
  "approval.answer": { id: TASK, answer: "approved", digest: "7f3a91c2" },
};

/** A server that notes what it did, and its clock. */
function serverRig() {
  const clock = new ManualClock();
  const done: string[] = [];
  const noted = (name: string) => () => Promise.resolve({ name: done.push(name) });
  const answer = controlHandler({
    handlers: {
      "task.cancel": noted("task.cancel"),
      "approval.answer": noted("approval.answer"),
      status: noted("status"),
    } as unknown as Handlers,
    resolve: (_record, given) => Promise.resolve(given),
    events: new EventHub<DaemonEvents>({ error() {} }),
    identify: () =>
      Promise.resolve({ kind: "socket", role: "admin", client: undefined, id: "socket" } as never),
    auditRefusal: () => Promise.resolve(),
    metrics: () => Promise.resolve(new Response("")),
    signal: new AbortController().signal,
    clock,
    secrets: known(),
    log: createLog({ level: "error", format: "json", clock, write: () => {} }),
    newId: () => "01",
    runtime: { filesOf: () => ok(false, "no attachment") as never },
  });
  const ask = (name: string, asked?: string) =>
    answer(
      new Request(`http://svc/v1/${name}`, {
        method: "POST",
        body: JSON.stringify(INPUTS[name] ?? {}),
        ...(asked === undefined ? {} : { headers: { [ASKED_HEADER]: asked } }),
      }),
    );
  return { clock, done, answer, ask };
}

Deno.test("a change begins within a while of the daemon's own time, else the daemon says its time", async () => {
  const { clock, done, ask } = serverRig();
  const first = await ask("task.cancel", "?");
  deepEqual([first.status, done], [ASK_AGAIN, []]);
  const time = first.headers.get(TIME_HEADER) ?? "";
  await clock.advance(10_000);
  equal((await ask("task.cancel", time)).status, 200);
  await clock.advance(10_000);
  const late = await ask("task.cancel", time);
  deepEqual([late.status, done], [ASK_AGAIN, ["task.cancel"]]);
  equal((await ask("task.cancel", late.headers.get(TIME_HEADER) ?? "")).status, 200);
});

Deno.test("a request with a time of another run, a future time or an invalid one begins nothing", async () => {
  const { ask, done } = serverRig();
  const time = (await serverRig().ask("task.cancel", "?")).headers.get(TIME_HEADER) ?? "";
  const own = (await ask("task.cancel", "?")).headers.get(TIME_HEADER) ?? "";
  const [run] = own.split("/");
  for (const asked of [time, "", "/", `${run}/`, `${run}/x`, `${run}/9e99`, `${run}`]) {
    equal((await ask("task.cancel", asked)).status, ASK_AGAIN, asked);
  }
  deepEqual(done, []);
});

Deno.test("an answer to a question is a change, although a reader may give it", async () => {
  const { ask, done } = serverRig();
  const first = await ask("approval.answer", "?");
  deepEqual([first.status, done], [ASK_AGAIN, []]);
  equal((await ask("approval.answer", first.headers.get(TIME_HEADER) ?? "")).status, 200);
});

Deno.test("a read and a request of another program begin at once", async () => {
  const { ask, done } = serverRig();
  equal((await ask("status", "?")).status, 200);
  equal((await ask("task.cancel")).status, 200);
  deepEqual(done, ["status", "task.cancel"]);
});

/** A client over a socket on which this answers. */
async function clientOf(answer: (request: Request) => Promise<Response>) {
  await using opening = new AsyncDisposableStack();
  const path = `${opening.use(await tempDir()).path}/socket`;
  opening.use(Deno.serve({ path, onListen() {} }, answer));
  const client = opening.use(connect({ socket: path }));
  const open = opening.move();
  return { client, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

Deno.test("a client that is there asks again by itself, also of a daemon that stood still", async () => {
  const { clock, done, answer } = serverRig();
  let asked = 0;
  await using over = await clientOf(async (request) => {
    if (++asked === 2) await clock.advance(30_000); // as while it is stopped
    return await answer(request);
  });
  await over.client.call("task.cancel", { ids: [TASK] });
  deepEqual([asked, done], [3, ["task.cancel"]]);
  await over.client.call("status", {});
  equal(asked, 4);
});

Deno.test("a client that is asked to repeat a request again and again gives up", async () => {
  await using over = await clientOf(() =>
    Promise.resolve(new Response(null, { status: ASK_AGAIN }))
  );
  await rejects(over.client.call("status", {}), { code: "unreachable" });
});
