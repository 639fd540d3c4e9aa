/**
 * What the console hands on to the daemon and back: which operations, with which input, how many
 * streams at once, and never its own credential.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type OperationName, OPERATIONS } from "../../src/api/operations.ts";
import { AppError } from "../../src/base/errors.ts";
import { PATIENCE_MS, until } from "../helpers/until.ts";
import { post, statusOf } from "../rigs/console_process.ts";
import { codeOf, type ConsoleRig, consoleRig, DAEMON_TOKEN } from "../rigs/console_rig.ts";

/** A connection that was cut is gone a moment later, which the sanitizers take for a leak. */
const LOOSE = { sanitizeOps: false, sanitizeResources: false };

/** The operations that their definitions allow in the console. */
const CONSOLE_OPERATIONS = (Object.keys(OPERATIONS) as OperationName[])
  .filter((name) => OPERATIONS[name].console);

/** Calls an operation with a good key. */
async function call(
  rig: ConsoleRig,
  name: string,
  input: unknown = {},
  signal?: AbortSignal,
): Promise<Response> {
  const options = signal === undefined ? {} : { signal };
  return await post(`${rig.server.url}/v1/${name}`, input, { key: await rig.key(), ...options });
}

/** Whether it got through to the daemon, or with which code it was refused. */
async function outcomeOf(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  const { code = "done" } = await response.json() as { code?: string };
  return `${response.status} ${code}`;
}

Deno.test("nothing that only an admin may do, or that takes a secret, is in the console", () => {
  const forbidden = CONSOLE_OPERATIONS.filter((name) => {
    const { role, input } = OPERATIONS[name];
    return role === "admin" ||
      Object.values(input.properties).some((field) => "writeOnly" in field);
  });
  deepEqual(forbidden, []);
});

Deno.test("every operation that the console may call gets through, and no other", async () => {
  ok(CONSOLE_OPERATIONS.length > 5);
  await using rig = await consoleRig();
  const allowed: readonly string[] = CONSOLE_OPERATIONS;
  const inputs: Readonly<Record<string, unknown>> = { apply: { files: [], dry_run: true } };
  for (const name of Object.keys(OPERATIONS)) {
    const expected = allowed.includes(name) ? "200 done" : "403 forbidden";
    equal(await outcomeOf(call(rig, name, inputs[name] ?? {})), expected, name);
  }
  deepEqual(rig.calls.map(({ path }) => path.slice(4)).toSorted(), allowed.toSorted());
  for (const name of ["nothing", "constructor", "to", "valueof"]) {
    equal(await outcomeOf(call(rig, name)), "403 forbidden", name);
  }
});

const isRead = (name: OperationName) => !OPERATIONS[name].changes;

Deno.test("only an answer to a question changes something with the role read_only", () => {
  const answers = CONSOLE_OPERATIONS.filter((name) =>
    OPERATIONS[name].role === "read_only" && OPERATIONS[name].changes
  );
  deepEqual(answers, ["approval.answer"]);
});

Deno.test("--read-only leaves the operations that change nothing", async () => {
  await using rig = await consoleRig({ readOnly: true });
  for (const name of CONSOLE_OPERATIONS) {
    const reads = isRead(name);
    const answer = outcomeOf(call(rig, name, { dry_run: true }));
    equal(await answer, reads ? "200 done" : "403 forbidden", name);
  }
  const asked = rig.calls.map(({ path }) => path.slice(4) as OperationName);
  ok(asked.length > 5);
  deepEqual(asked.filter((name) => !isRead(name)), []);
  const session = await post(`${rig.server.url}/session`, {
    ticket: rig.server.issueTicket().text,
  });
  equal((await session.json()).read_only, true);
});

Deno.test("describe never reveals a secret, even if the page asks for it", async () => {
  await using rig = await consoleRig();
  const secret = { what: "secretstore", name: "hook" };
  for (const asked of [{ reveal: true }, { reveal: "true" }, { reveal: false }, {}]) {
    equal(await outcomeOf(call(rig, "describe", { ...secret, ...asked })), "200 done");
  }
  const twice = `{"what":"secretstore","reveal":false,"name":"hook","reveal":true}`;
  const headers = { "content-type": "application/json", "origin": rig.server.url };
  await statusOf(fetch(`${rig.server.url}/v1/describe`, {
    method: "POST",
    headers: { ...headers, authorization: `Bearer ${await rig.key()}` },
    body: twice,
  }));
  equal(rig.calls.length, 5);
  for (const { input } of rig.calls) deepEqual(input, { ...secret, reveal: false });
});

Deno.test("the daemon gets its own token and the console's name, and nothing of the page's", async () => {
  await using rig = await consoleRig();
  const key = await rig.key();
  const change = {
    "authorization": `Bearer ${key}`,
    "cookie": "a=b",
    "svc-client": "somebody-else",
  };
  equal((await rig.page("/v1/status", {}, change)).status, 200);
  const { headers } = rig.calls[0] ?? { headers: new Headers() };
  equal(headers.get("authorization"), `Bearer ${DAEMON_TOKEN}`);
  equal(headers.get("svc-client"), "console");
  deepEqual([...headers.keys()].toSorted(), ["authorization", "content-type", "svc-client"]);
});

Deno.test("a body of more than a mebibyte, or one that is no JSON object, is refused", async () => {
  await using rig = await consoleRig();
  const most = 1024 * 1024;
  const padding = (bytes: number) => ({ a: "x".repeat(bytes - `{"a":""}`.length) });
  equal(await outcomeOf(call(rig, "task", padding(most))), "200 done");
  equal(await outcomeOf(call(rig, "task", padding(most + 1))), "413 too_large");
  for (const input of [[], "text", null, 1]) {
    equal(await outcomeOf(call(rig, "task", input)), "400 invalid", JSON.stringify(input));
  }
  equal(rig.calls.length, 1);
  const large = { ticket: "x".repeat(2000) };
  equal(codeOf(await rig.page("/session", large)), "413 too_large", "a stranger's");
});

Deno.test("without a good key, a body is not even read", async () => {
  await using rig = await consoleRig();
  const headers = {
    "host": rig.host,
    "origin": `http://${rig.host}`,
    "content-type": "application/json",
    "content-length": "1000",
  };
  equal(codeOf(await rig.send("POST /v1/status", headers)), "401 unauthorized");
});

Deno.test("a refusal of the daemon comes as it is, with what it says about trying again", async () => {
  const problem = '{"type":"about:blank","status":429,"code":"rate_limited","detail":"not now"}\n';
  const headers = { "content-type": "application/problem+json", "retry-after": "7" };
  await using rig = await consoleRig({
    daemon: () => new Response(problem, { status: 429, headers }),
  });
  const answer = await call(rig, "trigger.fire", { name: "a" });
  equal(answer.status, 429);
  equal(answer.headers.get("content-type"), "application/problem+json");
  equal(answer.headers.get("retry-after"), "7");
  equal(await answer.text(), problem);
});

Deno.test("a daemon that is away is 503 unreachable, and the console goes on when it is back", async () => {
  let answer: () => Response = () => {
    throw new AppError("unreachable", "The daemon is not running");
  };
  await using rig = await consoleRig({ daemon: () => answer() });
  equal(await outcomeOf(call(rig, "status")), "503 unreachable");
  answer = () => new Response(null, { status: 503 }); // it is stopping
  equal(await outcomeOf(call(rig, "status")), "503 unreachable");
  answer = () => new Response("<h1>Bad gateway</h1>", { status: 502 });
  equal(await outcomeOf(call(rig, "status")), "503 unreachable");
  answer = () => Response.json({ version: "1" });
  equal(await outcomeOf(call(rig, "status")), "200 done");
});

/** A daemon whose streams give one line each and then wait. */
function waitingStreams() {
  let cancelled = 0;
  return {
    get cancelled() {
      return cancelled;
    },
    daemon: ({ path }: { readonly path: string }) => {
      if (path !== "/v1/watch") return Response.json({});
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"n":1}\n')),
        cancel: () => void cancelled++,
      });
      return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
    },
  };
}

Deno.test(
  "of seven tabs four get a stream, and every one of them still gets answers",
  LOOSE,
  async () => {
    const streams = waitingStreams();
    await using rig = await consoleRig({ daemon: streams.daemon });
    const tabs = Array.from({ length: 7 }, () => new AbortController());
    const opened = await Promise.all(tabs.map(({ signal }) => call(rig, "watch", {}, signal)));
    const statuses = opened.map(({ status }) => status);
    deepEqual(statuses.toSorted(), [200, 200, 200, 200, 429, 429, 429]);
    for (const answer of opened) {
      if (answer.status !== 429) continue;
      ok(Number(answer.headers.get("retry-after")) > 0);
      match((await answer.json()).detail, /^The console has 4 streams open: close another tab/);
    }
    for (const _ of tabs) equal(await outcomeOf(call(rig, "status")), "200 done");

    tabs[statuses.indexOf(200)]?.abort(); // a tab is closed
    await until("the end of its stream at the daemon", () => streams.cancelled === 1 || undefined);
    const again = new AbortController();
    const next = await call(rig, "watch", {}, again.signal);
    equal(next.status, 200, "there is room for another one");
    for (const tab of [...tabs, again]) tab.abort();
    await until("the end of them all", () => streams.cancelled === 5 || undefined);
  },
);

Deno.test(
  "a stream that is refused, fails or ends by itself gives its place back",
  LOOSE,
  async () => {
    const problem = { status: 404, headers: { "content-type": "application/problem+json" } };
    const ends: readonly (() => Response)[] = [
      () => Response.json({ code: "not_found" }, problem),
      () => {
        throw new AppError("unreachable", "away");
      },
      () => new Response('{"n":1}\n'),
      () => new Response(null),
      () => new Response(ReadableStream.from(breaking())),
    ];
    let turn = 0;
    await using rig = await consoleRig({
      daemon: () => (ends[turn++ % ends.length] ?? ends[0]!)(),
    });
    const key = await rig.key();
    for (let tries = 0; tries < 5 * ends.length; tries++) {
      const answer = await post(`${rig.server.url}/v1/watch`, {}, { key });
      ok(answer.status !== 429, `try ${tries}`);
      await answer.text().catch(() => {}); // one breaks off
    }
  },
);

async function* breaking() {
  yield new TextEncoder().encode('{"n":1}\n');
  await Promise.resolve();
  throw new Error("the daemon is gone");
}

Deno.test("a line of a stream arrives when the daemon sends it, in the same bytes", async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const headers = { "content-type": "application/x-ndjson" };
  await using rig = await consoleRig({ daemon: () => new Response(readable, { headers }) });
  const daemon = writable.getWriter();
  const answering = call(rig, "watch");
  const chunks = ["{ not even JSON \u0000", "\u{1F600}".repeat(10), "\n\n"];
  const sent = (async () => {
    const answer = await answering;
    equal(answer.headers.get("content-type"), "application/x-ndjson");
    const reader = answer.body!.getReader();
    for (const chunk of chunks) {
      const bytes = new TextEncoder().encode(chunk);
      await daemon.write(bytes);
      let got = new Uint8Array();
      while (got.length < bytes.length) {
        const { value = new Uint8Array() } = await reader.read();
        got = Uint8Array.from([...got, ...value]);
      }
      deepEqual(got, bytes);
    }
    await daemon.close();
    equal((await reader.read()).done, true);
  })();
  await sent;
});

Deno.test("the end of the console ends its streams", LOOSE, async () => {
  const streams = waitingStreams();
  const rig = await consoleRig({ daemon: streams.daemon });
  const answer = await call(rig, "watch");
  const body = answer.text().catch(() => "broken off");
  await rig[Symbol.asyncDispose]();
  equal(await body, "broken off");
  await until("its end at the daemon", () => streams.cancelled === 1 || undefined, PATIENCE_MS);
});
