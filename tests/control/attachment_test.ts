/**
 * Inputs that come with bytes: they reach the handler as a file, whole and within their limit, and
 * nothing of them stays.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { type Client, connect } from "../../src/api/client.ts";
import { defineOperation, json, TASK } from "../../src/api/operation.ts";
import { OPERATIONS } from "../../src/api/operations.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { AppError } from "../../src/base/errors.ts";
import { createLog } from "../../src/base/log.ts";
import { RuntimeFiles } from "../../src/base/runtime_files.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { AttachedFile } from "../../src/control/server/input_reader.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { controlHandler, type Handlers } from "../../src/control/server/server.ts";
import { serve } from "../../src/http/server/serve.ts";
import { known } from "../helpers/known_secrets.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

const MAX_BYTES = 32 * 1024 * 1024;
const NAME = "test.attached";
const ATTACHED = defineOperation({
  summary: "x",
  input: { task: TASK },
  output: json<unknown>(),
  role: "operator",
  grants: { step: { own: "task", in: "task" } },
  attachment: { maxBytes: MAX_BYTES },
});

type Handle = (input: unknown, attached: AttachedFile) => Promise<unknown>;

/** A server on a socket like that of sandboxes and on a port, and a client of each. */
async function serverRig(handle: Handle) {
  await using opening = new AsyncDisposableStack();
  Object.assign(OPERATIONS, { [NAME]: ATTACHED });
  opening.defer(() => void Reflect.deleteProperty(OPERATIONS, NAME));
  const dir = opening.use(await tempDir());
  const log = createLog({ level: "error", format: "json", clock: systemClock, write: () => {} });
  let count = 0;
  const handler = controlHandler({
    handlers: {
      [NAME]: (input: unknown, _caller: Caller, attached: AttachedFile) => handle(input, attached),
      status: () => Promise.resolve({}),
    } as unknown as Handlers,
    runtime: { filesOf: (name) => new RuntimeFiles(name, dir.path, undefined) },
    resolve: (_record, given) => Promise.resolve(given),
    events: new EventHub<DaemonEvents>({ error() {} }),
    identify({ headers }) {
      const [, taskId] = /^Bearer step-(.*)$/.exec(headers.get("authorization") ?? "") ?? [];
      const caller: Caller = taskId === undefined
        ? { name: "token x", role: "operator" }
        : { name: "step", role: "read_only", grant: { kind: "step", project: "x", taskId } };
      return Promise.resolve(caller);
    },
    auditRefusal: () => Promise.resolve(),
    secrets: known(),
    metrics: () => Promise.resolve(new Response("")),
    signal: new AbortController().signal,
    clock: systemClock,
    log,
    newId: () => `${++count}`,
  });
  const limits = { handler, log, drainMs: 100, maxConnections: 100, streams: true };
  const socket = `${dir.path}/s`;
  opening.use(await serve({ on: { path: socket }, ...limits }));
  const { port } = opening.use(
    await serve({ on: { hostname: "127.0.0.1", port: 0 }, ...limits }),
  );
  const url = `http://127.0.0.1:${port}`;
  const first = opening.use(connect({ socket }, "step-A"));
  const person = opening.use(connect({ url }, "x"));
  const open = opening.move();
  return {
    url,
    port,
    step: (task: string) => open.use(connect({ socket }, `step-${task}`)),
    first,
    person,
    /** The files that lie in the runtime directory now. */
    files: () =>
      [...Deno.readDirSync(dir.path)].map(({ name }) => name).filter((name) => name !== "s"),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const send = (
  client: Client,
  task: string,
  attachment: Uint8Array<ArrayBuffer>,
  signal?: AbortSignal,
) =>
  client.callWith(NAME as never, { task } as never, {
    attachment,
    ...signal === undefined ? {} : { signal },
  }) as Promise<unknown>;

const sumOf = async (bytes: Uint8Array<ArrayBuffer>) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();

function randomBytes(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return bytes;
}

const LOOSE = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "an attachment reaches the handler as a private file, on the socket of sandboxes and by TCP",
  LOOSE,
  async () => {
    await using rig = await serverRig(async (input, { path, bytes }) => {
      const { mode } = await Deno.stat(path);
      return {
        input,
        bytes,
        mode: (mode ?? 0) & 0o777,
        sum: await sumOf(await Deno.readFile(path)),
      };
    });
    for (const client of [rig.first, rig.person]) {
      for (const size of [1, 70_000, 5 * 1024 * 1024, MAX_BYTES]) {
        const sent = randomBytes(size);
        if (size === 70_000) sent.fill(0x0a, 0, 100); // no line feed of the attachment ends anything
        deepEqual(await send(client, "A", sent), {
          input: { task: "A" },
          bytes: size,
          mode: 0o600,
          sum: await sumOf(sent),
        });
      }
    }
    deepEqual(rig.files(), []);
  },
);

Deno.test(
  "nothing stays of an attachment that is refused, or whose handler fails",
  LOOSE,
  async () => {
    let ran = 0;
    await using rig = await serverRig(() => {
      ran++;
      return Promise.reject(new AppError("refused", "no"));
    });
    await rejects(send(rig.first, "A", randomBytes(1_000_000)), { code: "refused", message: "no" });
    equal(ran, 1);
    await rejects(send(rig.first, "B", randomBytes(10)), { code: "forbidden" });
    await rejects(send(rig.first, "A", randomBytes(0)), { code: "invalid", message: /empty/ });
    await rejects(send(rig.first, "A", randomBytes(MAX_BYTES + 1)), { code: "too_large" });
    equal(ran, 1);
    deepEqual(rig.files(), []);
  },
);

/** Posts a body as any program may; gives the code of its refusal. */
async function post(url: string, type: string, body: BodyInit, name = NAME): Promise<unknown> {
  const headers = { "content-type": type };
  const answer = await fetch(`${url}/v1/${name}`, { method: "POST", headers, body });
  return (await answer.json()).code;
}

Deno.test("a body of another form is refused before a handler sees it", LOOSE, async () => {
  let ran = 0;
  await using rig = await serverRig(() => Promise.resolve({ ran: ++ran }));
  const attached = "application/x-svc-attached";
  const endless = () => {
    let sent = 0;
    return new ReadableStream({
      pull(controller) {
        if (sent++ < 40) controller.enqueue(new Uint8Array(1024 * 1024).fill(0x41));
        else controller.close();
      },
    });
  };
  equal(await post(rig.url, "application/json", '{"task":"A"}'), "invalid");
  equal(await post(rig.url, attached, "{}\n", "status"), "invalid");
  equal(await post(rig.url, attached, '{"task":"A"}'), "invalid", "no end of the line");
  equal(await post(rig.url, attached, ""), "invalid", "nothing");
  equal(await post(rig.url, attached, "[]\nx"), "invalid");
  equal(await post(rig.url, attached, '{"task":7}\nx'), "invalid");
  equal(await post(rig.url, attached, endless()), "too_large", "a line without an end");
  const line = new Blob(['{"task":"A"}\n']).stream();
  const long = ReadableStream.from((async function* () {
    yield* line;
    yield* endless();
  })());
  equal(await post(rig.url, attached, long), "too_large");
  equal(ran, 0);
  deepEqual(rig.files(), []);
  equal(await post(rig.url, attached, '{"task":"A"}\nx'), undefined);
  equal(ran, 1);
});

Deno.test("nothing stays of an attachment whose sender goes in its midst", LOOSE, async () => {
  let ran = 0;
  await using rig = await serverRig(() => Promise.resolve({ ran: ++ran }));
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: rig.port });
  const head = `POST /v1/${NAME} HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n` +
    "content-type: application/x-svc-attached\r\n\r\n";
  await connection.write(new TextEncoder().encode(`${head}{"task":"A"}\nsome bytes`));
  await until("the file is there", () => rig.files().length === 1 || undefined);
  connection.close();
  await until("the file is gone", () => rig.files().length === 0 || undefined);
  equal(ran, 0);
});

Deno.test("a handler hears that nobody waits for its answer any more", LOOSE, async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: over, resolve: end } = Promise.withResolvers<boolean>();
  await using rig = await serverRig(async (_input, { signal }) => {
    signal.addEventListener("abort", () => end(true));
    begin();
    return { left: await over };
  });
  const leaving = new AbortController();
  const asking = send(rig.first, "A", new Uint8Array([1]), leaving.signal);
  await begun;
  leaving.abort();
  await rejects(asking);
  equal(await over, true);
});

Deno.test("one task cannot take the room of all attachments", LOOSE, async () => {
  const { promise: end, resolve } = Promise.withResolvers<void>();
  let ran = 0;
  await using rig = await serverRig(async () => {
    ran++;
    await end;
    return {};
  });
  const large = new Uint8Array(MAX_BYTES - 1);
  const held = [1, 2, 3, 4].map(() => send(rig.first, "A", large));
  await until("four are held", () => ran === 4 || undefined);
  await rejects(send(rig.first, "A", large), { code: "overloaded" });
  const other = send(rig.step("B"), "B", large);
  await until("that of another task is taken", () => ran === 5 || undefined);
  resolve();
  await Promise.all([...held, other]);
  deepEqual(rig.files(), []);
  await send(rig.first, "A", large);
});
