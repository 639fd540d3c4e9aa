/**
 * The paths of the public server, matched as they were sent.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { MANIFEST, type Rig, sign, webhookRig } from "../rigs/webhook_rig.ts";

const BODY = "{}";

/** A request whose URL is exactly this text, as a server hands it on. */
function requestTo(path: string, method = "POST", host = "127.0.0.1:19090"): Request {
  const body = method === "POST" ? { body: new TextEncoder().encode(BODY) } : {};
  const headers = { ...sign(BODY), host };
  const request = new Request("http://127.0.0.1:19090/", { method, headers, ...body });
  Object.defineProperty(request, "url", { value: `http://${host}${path}` });
  return request;
}

async function statusOf(rig: Rig, request: Request): Promise<number> {
  const response = await rig.handler(request, "192.0.2.7");
  await response.body?.cancel();
  return response.status;
}

const FOUND = [
  "/webhook/push",
  "/webhook/default/push",
  "/webhook/push?a=b",
  "/webhook/push?/webhook/none",
  "/webhook/default/push?",
  "/webhook/push??x",
];

const NOT_FOUND = [
  "/",
  "",
  "/webhook",
  "/webhook/",
  "/webhook//",
  "/webhook//push",
  "//webhook/push",
  "/webhook/push/",
  "/webhook/default/push/",
  "/webhook/a/b/c",
  "/webhook/default/default/push",
  "/webhook/%70ush",
  "/webhook/push%20",
  "/webhook/push%2f",
  "/webhook/push%00",
  "/%77ebhook/push",
  "/webhook/default%2Fpush",
  "/webhook/..",
  "/webhook/../push",
  "/webhook/./push",
  "/webhook/.push",
  "/x/../webhook/push",
  "/webhook/x/../push",
  "/webhook/push;x=1",
  "/webhook/push#x",
  "/WEBHOOK/push",
  "/webhook/Push",
  "/webhook/push\\",
  "/webhook/pu sh",
  "/webhook/pùsh",
  "/hook/push",
  "/v1/status",
  "/webhook/push-",
  "/webhook/-push",
  `/webhook/${"p".repeat(254)}`,
  "/source/slack/push",
  "/source/slack/default/push/",
  "/source/github/default/push",
  "/healthz/",
  "/readyz/x",
  "/HEALTHZ",
  "/webhook/push&x",
  "/?/webhook/push",
  "/metrics",
];

Deno.test("POST finds a trigger by its plain path and no other way", async (t) => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  for (const path of FOUND) {
    await t.step(path, async () => equal(await statusOf(rig, requestTo(path)), 200));
  }
  equal((await rig.tasks()).length, FOUND.length);
  for (const path of NOT_FOUND) {
    await t.step(path, async () => equal(await statusOf(rig, requestTo(path)), 404));
  }
  equal((await rig.tasks()).length, FOUND.length);
});

Deno.test("any method but POST is answered 405 with Allow, whether the trigger exists or not", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "post2"]) {
    for (const path of ["/webhook/push", "/webhook/nobody", "/webhook/default/push"]) {
      const response = await rig.handler(requestTo(path, method), "192.0.2.7");
      equal(response.status, 405, method);
      equal(response.headers.get("allow"), "POST");
      equal((await response.json()).code, "method_not_allowed");
    }
    equal(await statusOf(rig, requestTo("/nowhere", method)), 404);
  }
  deepEqual(await rig.tasks(), []);
  deepEqual(await rig.deliveries(), []);
});

Deno.test("GET /healthz and /readyz tell whether the daemon lives, and takes requests", async () => {
  const state = { ready: true };
  await using rig = await webhookRig({ manifest: MANIFEST, ready: () => state.ready });
  equal(await statusOf(rig, requestTo("/healthz", "GET")), 200);
  equal(await statusOf(rig, requestTo("/healthz?probe=1", "GET")), 200);
  equal(await statusOf(rig, requestTo("/readyz", "GET")), 200);
  state.ready = false;
  equal(await statusOf(rig, requestTo("/healthz", "GET")), 200);
  const response = await rig.handler(requestTo("/readyz", "GET"), "192.0.2.7");
  equal(response.status, 503);
  match(response.headers.get("retry-after") ?? "", /^\d+$/);
  equal((await response.json()).code, "overloaded");
});

Deno.test("a Host that is none is refused on every path, before anything else", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const hosts = [
    "a/webhook",
    "a/webhook/push?",
    "a?b",
    "a#b",
    "user@a",
    "a b",
    "a\\b",
    "[x]",
    "a:",
    ":80",
  ];
  for (const host of hosts) {
    for (const path of ["/webhook/push", "/push", "/healthz", "/"]) {
      equal(await statusOf(rig, requestTo(path, "POST", host)), 400, `${host} ${path}`);
    }
  }
  for (
    const host of ["a", "a.example", "a-b_c.example:80", "127.0.0.1:65535", "[::1]", "[::1]:19090"]
  ) {
    equal(await statusOf(rig, requestTo("/webhook/push", "POST", host)), 200, host);
  }
});

Deno.test("headers may have 64 KiB in sum, names and values", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const base = [...requestTo("/webhook/push").headers]
    .reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  const post = (bytes: number) =>
    statusOf(
      rig,
      new Request(requestTo("/webhook/push"), {
        headers: { ...Object.fromEntries(requestTo("/").headers), "x-fill": "y".repeat(bytes) },
      }),
    );
  equal(await post(64 * 1024 - base - "x-fill".length), 404, "the path of the copy is /");
  equal(await post(64 * 1024 - base - "x-fill".length + 1), 431);
});

Deno.test("no answer carries CORS headers, names the server, or repeats what was sent", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  for (const path of ["/webhook/push", "/webhook/zzz-sent", "/zzz-sent", "/healthz", "/readyz"]) {
    for (const method of ["POST", "GET", "OPTIONS"]) {
      const request = requestTo(path, method);
      request.headers.set("origin", "https://evil.example");
      const response = await rig.handler(request, "192.0.2.7");
      const names = [...response.headers.keys()];
      deepEqual(names.filter((name) => /^access-control|^server$|powered/.test(name)), []);
      ok(!(await response.text()).includes("zzz-sent"));
    }
  }
});
