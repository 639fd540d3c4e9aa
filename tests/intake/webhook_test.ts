/**
 * The webhook pipeline, one test for each way through it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { lockDatabase } from "../helpers/sqlite_file.ts";
import { NOW } from "../rigs/intake_state.ts";
import {
  MANIFEST,
  manifestResources,
  type Rig,
  type RigOptions,
  SECRET,
  sign,
  triggerYaml,
  webhookRig,
} from "../rigs/webhook_rig.ts";

/** A test with a server of its own. */
function test(
  name: string,
  body: (rig: Rig) => Promise<void>,
  options: Partial<RigOptions> = {},
): void {
  Deno.test(name, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST, ...options });
    await body(rig);
  });
}

const BODY = '{"action":"opened","number":7,"id":9007199254740993,"nested":{"ok":true}}';
const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** Whether any task can be seen in any way. */
async function startedNothing(rig: Rig): Promise<void> {
  deepEqual(await rig.tasks(), []);
  equal(rig.kicks.count, 0);
}

test("POST /webhook/{trigger} answers 200 once delivery and task are stored", async (rig) => {
  const response = await rig.post("/webhook/push", BODY, sign(BODY));
  equal(response.status, 200);
  equal(response.headers.get("content-type"), "application/json");
  const answer = await response.json();
  deepEqual(Object.keys(answer), ["status", "trigger", "delivery_id", "task_id"]);
  equal(answer.status, "accepted");
  equal(answer.trigger, "push");
  match(answer.delivery_id, ULID);
  const [task, ...others] = await rig.tasks();
  deepEqual(others, []);
  equal(task?.id, answer.task_id);
  equal(task?.deliveryId, answer.delivery_id);
  equal(task?.state, "pending");
  equal(rig.kicks.count, 1);
  const [delivery] = await rig.deliveries();
  equal(delivery?.id, answer.delivery_id);
  equal(delivery?.outcome, "accepted");
  equal(delivery?.status, 200);
  equal(delivery?.secretKey, "current");
  equal(delivery?.remote, "192.0.2.7");
  equal(delivery?.receivedAt, NOW);
  equal(delivery?.bodyBytes, BODY.length);
  const { tasks: [claimed] } = await rig.store.claimTasks(1, NOW);
  equal(new TextDecoder().decode(claimed?.payload), BODY);
  equal(claimed?.headers["x-hub-signature-256"], sign(BODY)["x-hub-signature-256"]);
});

test("POST /webhook/{trigger} accepts a signature by any value of the store", async (rig) => {
  const older = "the one before, still valid today";
  equal((await rig.post("/webhook/push", BODY, sign(BODY, older))).status, 200);
  deepEqual((await rig.deliveries()).map(({ secretKey }) => secretKey), ["previous"]);
});

test("POST /webhook/{trigger} accepts GitHub's own example of a signature", async (rig) => {
  // docs.github.com, "Validating webhook deliveries"; the body is no JSON, so it goes past 401 to 400
  const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const headers = { "x-hub-signature-256": signature };
  equal((await rig.post("/webhook/docs", "Hello, World!", headers)).status, 400);
  equal((await rig.post("/webhook/docs", "Hello, World?", headers)).status, 401);
  const upper = { "x-hub-signature-256": `sha256=${signature.slice(7).toUpperCase()}` };
  equal((await rig.post("/webhook/docs", "Hello, World!", upper)).status, 400);
}, {
  manifest: `${MANIFEST}
---
kind: SecretStore
metadata: {name: docs}
spec: {data: {webhook_secret: "It's a Secret to Everybody"}}
${
    triggerYaml("docs", {
      webhook: "secret: {fromRef: docs}, signatureHeader: X-Hub-Signature-256",
    })
  }`,
});

const SHOP = `${MANIFEST}
---
kind: SecretStore
metadata: {name: github, project: shop}
spec: {data: {key: "the secret of another project"}}
${triggerYaml("push", { project: "shop", condition: "true" })}`;

test("POST /webhook/{project}/{trigger} fires the trigger of that project only", async (rig) => {
  const other = "the secret of another project";
  equal((await rig.post("/webhook/shop/push", BODY, sign(BODY))).status, 401);
  equal((await rig.post("/webhook/push", BODY, sign(BODY, other))).status, 401);
  await startedNothing(rig);
  equal((await rig.post("/webhook/shop/push", BODY, sign(BODY, other))).status, 200);
  equal((await rig.post("/webhook/default/push", BODY, sign(BODY))).status, 200);
  deepEqual((await rig.tasks()).map(({ project }) => project), ["default", "shop"]);
}, { manifest: SHOP });

test("POST /webhook/{trigger} fires no other trigger of the same store", async (rig) => {
  equal((await rig.post("/webhook/two", BODY, sign(BODY))).status, 200);
  deepEqual((await rig.tasks()).map(({ trigger }) => trigger), ["two"]);
}, { manifest: `${MANIFEST}${triggerYaml("one")}${triggerYaml("two")}` });

test(
  "POST /webhook/{trigger} accepts an event whose workflow is missing, and its task says so",
  async (rig) => {
    const answer = await (await rig.post("/webhook/push", BODY, sign(BODY))).json();
    equal(answer.status, "accepted");
    const [task] = await rig.tasks();
    equal(task?.id, answer.task_id);
    equal(task?.state, "failed");
    match(task?.reason ?? "", /Workflow "ci".*Workspace "repo"/);
  },
  { manifest: MANIFEST.split("---").slice(2).join("---") },
);

test("POST /webhook/{trigger} uses a resource from the moment it is committed", async (rig) => {
  const put = (manifest: string) =>
    rig.catalog.change(
      manifestResources(manifest).map((resource) => ({ op: "put", resource })),
    );
  equal((await rig.post("/webhook/push", BODY, sign(BODY, "a later value, long"))).status, 401);
  put(MANIFEST.replace(SECRET, "a later value, long"));
  equal((await rig.post("/webhook/push", BODY, sign(BODY))).status, 401);
  equal((await rig.post("/webhook/push", BODY, sign(BODY, "a later value, long"))).status, 200);
  put(triggerYaml("push", { condition: "false" }));
  const late = sign(BODY, "a later value, long");
  equal((await (await rig.post("/webhook/push", BODY, late)).json()).status, "filtered");
  rig.catalog.change([{
    op: "delete",
    key: { kind: "Trigger", project: "default", name: "push" },
  }]);
  equal((await rig.post("/webhook/push", BODY, late)).status, 404);
});

const CONDITIONS: readonly { condition: string; outcome: string; reason?: RegExp }[] = [
  { condition: 'payload_action == "opened"', outcome: "accepted" },
  { condition: 'payload_action != "opened"', outcome: "filtered", reason: /is false/ },
  { condition: "payload.nested.ok && payload_number > 6", outcome: "accepted" },
  { condition: "payload_nested.ok", outcome: "accepted" },
  { condition: "payload_id == 9007199254740993", outcome: "accepted" },
  { condition: "payload_id == 9007199254740992", outcome: "filtered", reason: /is false/ },
  { condition: 'headers["x-github-event"] == "push"', outcome: "accepted" },
  { condition: 'trigger.name == "t" && trigger.project == "default"', outcome: "accepted" },
  { condition: 'delivery.received_at == "2026-01-02T03:04:05.678Z"', outcome: "accepted" },
  { condition: "payload_missing == 1", outcome: "filtered", reason: /payload_missing/ },
  { condition: "payload.missing == 1", outcome: "filtered", reason: /failed/ },
  { condition: "payload_constructor != null", outcome: "filtered", reason: /failed/ },
  { condition: "payload_number / 0 == 1", outcome: "filtered", reason: /failed/ },
  { condition: "payload_action > 5", outcome: "filtered", reason: /failed/ },
  { condition: "payload_number", outcome: "filtered", reason: /neither true nor false/ },
  { condition: '"true"', outcome: "filtered", reason: /neither true nor false/ },
  { condition: "null", outcome: "filtered", reason: /neither true nor false/ },
  { condition: "payload", outcome: "filtered", reason: /neither true nor false/ },
];

for (const { condition, outcome, reason = /^$/ } of CONDITIONS) {
  test(`the condition ${condition} is answered ${outcome}`, async (rig) => {
    const response = await rig.post("/webhook/t", BODY, {
      ...sign(BODY),
      "x-github-event": "push",
    });
    equal(response.status, 200);
    const answer = await response.json();
    equal(answer.status, outcome);
    equal("task_id" in answer, outcome === "accepted");
    equal("reason" in answer, false);
    equal((await rig.tasks()).length, outcome === "accepted" ? 1 : 0);
    const [delivery] = await rig.deliveries();
    equal(delivery?.id, answer.delivery_id);
    equal(delivery?.outcome, outcome);
    match(delivery?.reason ?? "", reason);
  }, { manifest: `${MANIFEST}${triggerYaml("t", { condition })}` });
}

test("a condition that loops without end is filtered in time, and holds up nobody", async (rig) => {
  const numbers = JSON.stringify({ list: Array.from({ length: 3000 }, (_, n) => n) });
  const answered: string[] = [];
  const note = (name: string) => (response: Response) => {
    answered.push(name);
    return response;
  };
  const slow = rig.post("/webhook/slow", numbers, sign(numbers)).then(note("slow"));
  const quick = rig.post("/webhook/push", BODY, sign(BODY)).then(note("quick"));
  const [first, second] = await Promise.all([quick, slow]);
  deepEqual([first.status, answered], [200, ["quick", "slow"]]);
  equal((await second.json()).status, "filtered");
  const [task, ...others] = await rig.tasks();
  deepEqual([task?.trigger, others], ["push", []]);
}, {
  celDeadlineMs: 1500,
  manifest: `${MANIFEST}${
    triggerYaml("slow", {
      condition: "payload.list.all(a, payload.list.all(b, payload.list.all(c, a + b + c >= 0)))",
    })
  }`,
});

/** Apply refuses these today; an older version took them. */
for (
  const condition of [
    "nonsense",
    "payload.nosuch()",
    "nosuch(payload)",
    'payload_action.matches("(")',
  ]
) {
  test(`a stored condition ${condition} filters, and the daemon goes on`, async (rig) => {
    const [stored] = manifestResources(triggerYaml("t", { condition: "true" }));
    if (stored === undefined) throw new Error("there is a trigger");
    const spec = stored.spec as { event: Record<string, unknown> };
    const resource = {
      ...stored,
      spec: { ...spec, event: { ...spec.event, filter: { condition } } },
    };
    rig.catalog.change([{ op: "put", resource }]);
    const answer = await (await rig.post("/webhook/t", BODY, sign(BODY))).json();
    equal(answer.status, "filtered");
    match((await rig.deliveries())[0]?.reason ?? "", /^the condition failed: /);
    equal((await (await rig.post("/webhook/push", BODY, sign(BODY))).json()).status, "accepted");
  });
}

test("a suspended trigger records the delivery and starts nothing", async (rig) => {
  const response = await rig.post("/webhook/t", BODY, sign(BODY));
  equal(response.status, 200);
  const answer = await response.json();
  deepEqual(Object.keys(answer), ["status", "trigger", "delivery_id", "reason"]);
  equal(answer.status, "skipped");
  match(answer.reason, /suspended/);
  await startedNothing(rig);
  equal((await rig.deliveries())[0]?.outcome, "skipped");
}, { manifest: `${MANIFEST}${triggerYaml("t", { more: "suspend: true" })}` });

test("allowUnsigned takes requests without a signature", async (rig) => {
  equal((await rig.post("/webhook/open", BODY)).status, 200);
  equal((await rig.tasks()).length, 1);
  equal((await rig.deliveries())[0]?.secretKey, "");
}, { manifest: `${MANIFEST}${triggerYaml("open", { webhook: "allowUnsigned: true" })}` });

const HEX = sign(BODY)["x-hub-signature-256"]?.slice(7) ?? "";
const signature = (value: string) => ({ "x-hub-signature-256": value });

/** Every way in which a request is not authenticated; all look the same from outside. */
const UNAUTHENTICATED: readonly {
  why: string;
  trigger?: string;
  headers?: Record<string, string>;
  body?: string;
  reason: RegExp;
}[] = [
  {
    why: "no signature",
    headers: {},
    reason: /has no header x-hub-signature-256, where the signature/,
  },
  {
    why: "an empty signature",
    headers: signature(""),
    reason: /has no header x-hub-signature-256, where the signature/,
  },
  { why: "another header", headers: { "x-signature": `sha256=${HEX}` }, reason: /has no header/ },
  {
    why: "bare hex",
    headers: signature(HEX),
    reason: /x-hub-signature-256 does not have the form of scheme auto: sha256= and 64 hex/,
  },
  {
    why: "another prefix",
    headers: signature(`sha1=${HEX}`),
    reason: /x-hub-signature-256 does not have the form of scheme auto: sha256= and 64 hex/,
  },
  {
    why: "a prefix in capitals",
    headers: signature(`SHA256=${HEX}`),
    reason: /x-hub-signature-256 does not have the form of scheme auto: sha256= and 64 hex/,
  },
  {
    why: "a short digest",
    headers: signature(`sha256=${HEX.slice(2)}`),
    reason: /x-hub-signature-256 does not have the form of scheme auto: sha256= and 64 hex/,
  },
  {
    why: "a long digest",
    headers: signature(`sha256=${HEX}00`),
    reason: /x-hub-signature-256 does not have the form of scheme auto: sha256= and 64 hex/,
  },
  {
    why: "no hex",
    headers: signature(`sha256=${"z".repeat(64)}`),
    reason: /x-hub-signature-256 does not have the form of scheme auto: sha256= and 64 hex/,
  },
  {
    why: "two lines",
    headers: signature(`sha256=${HEX}, sha256=${HEX}`),
    reason: /x-hub-signature-256 does not have the form of scheme auto: sha256= and 64 hex/,
  },
  {
    why: "a blank inside",
    headers: signature(`sha256= ${HEX}`),
    reason: /x-hub-signature-256 does not have the form of scheme auto: sha256= and 64 hex/,
  },
  {
    why: "zeros",
    headers: signature(`sha256=${"0".repeat(64)}`),
    reason: /fits no key of SecretStore "/,
  },
  {
    why: "another secret",
    headers: sign(BODY, "not the secret"),
    reason: /fits no key of SecretStore "/,
  },
  {
    why: "one byte changed",
    body: BODY.replace("7", "8"),
    reason: /fits no key of SecretStore "/,
  },
  { why: "a byte more", body: `${BODY}\n`, reason: /fits no key of SecretStore "/ },
  { why: "no body", body: "", reason: /fits no key of SecretStore "/ },
  { why: "a store that does not exist", trigger: "dangling", reason: /"nowhere" does not exist/ },
  {
    why: "an empty store",
    trigger: "empty",
    reason: /^SecretStore "\w+" has no key that scheme auto can use: it takes any text$/,
  },
  {
    why: "a store of empty values",
    trigger: "blank",
    reason: /^SecretStore "\w+" has no key that scheme auto can use: it takes any text$/,
  },
  {
    why: "an empty value's signature",
    trigger: "blank",
    headers: sign(BODY, ""),
    reason: /^SecretStore "\w+" has no key that/,
  },
  { why: "a store of another project", trigger: "shop/push", reason: /does not exist/ },
  { why: "no authentication at all", trigger: "bare", headers: {}, reason: /names no secret/ },
  { why: "no webhook block at all", trigger: "blockless", reason: /names no secret/ },
  { why: "a CRD that does not exist", trigger: "crd", reason: /"Semaphore" does not exist/ },
];

const TRIGGERS = MANIFEST +
  triggerYaml("dangling", { webhook: "secret: {fromRef: nowhere}" }) +
  triggerYaml("empty", {
    webhook: "secret: {fromRef: empty}, signatureHeader: X-Hub-Signature-256",
  }) +
  triggerYaml("blank", {
    webhook: "secret: {fromRef: blank}, signatureHeader: X-Hub-Signature-256",
  }) +
  triggerYaml("push", { project: "shop" }) +
  triggerYaml("bare", { webhook: "" }) +
  triggerYaml("crd", { webhook: "crdRef: Semaphore, secret: {fromRef: github}" }) + `
---
kind: Trigger
metadata: {name: blockless}
spec: {event: {source: webhook}, action: {workflow: ci, workspace: repo}}
---
kind: SecretStore
metadata: {name: empty}
spec: {data: {}}
`;

Deno.test("every fault of authentication gets the same 401", async (t) => {
  await using rig = await webhookRig({ manifest: TRIGGERS });
  // An apply refuses empty values; an older version may have let one in.
  const [store] = manifestResources(TRIGGERS).filter(({ kind, name }) =>
    kind === "SecretStore" && name === "empty"
  );
  if (store === undefined) throw new Error("no store");
  const blank = { ...store, name: "blank", spec: { data: { a: "", b: "" } } };
  rig.catalog.change([{ op: "put", resource: blank }]);
  for (const { why, trigger = "push", headers, body = BODY, reason } of UNAUTHENTICATED) {
    await t.step(why, async () => {
      const response = await rig.post(`/webhook/${trigger}`, body, headers ?? sign(BODY));
      equal(response.status, 401);
      equal(response.headers.get("content-type"), "application/problem+json");
      const { request_id, ...problem } = await response.json();
      deepEqual(problem, {
        type: "about:blank",
        title: "Not authenticated",
        status: 401,
        code: "unauthorized",
      });
      deepEqual([...response.headers.keys()], ["content-type"]);
      const delivery = (await rig.deliveries()).find(({ id }) => id === request_id);
      equal(delivery?.outcome, "rejected");
      equal(delivery?.status, 401);
      equal(delivery?.secretKey, "");
      match(delivery?.reason ?? "", reason);
      await startedNothing(rig);
    });
  }
  await t.step("and the right one is still let in", async () => {
    equal((await rig.post("/webhook/push", BODY, sign(BODY))).status, 200);
  });
});

const json = (headers: Record<string, string> = {}) => ({ ...sign(BODY), ...headers });
const bytes = (...values: number[]) => new Uint8Array(values);

/** A stream of `total` bytes that states no length. */
function chunked(total: number, chunk = 1000): ReadableStream<Uint8Array> {
  let left = total;
  return new ReadableStream({
    pull(controller) {
      if (left <= 0) return controller.close();
      controller.enqueue(new Uint8Array(Math.min(chunk, left)).fill(32));
      left -= chunk;
    },
  });
}

/** Every other refusal. Those of a known trigger leave a record. */
const REFUSED: readonly {
  what: string;
  path?: string;
  body?: BodyInit | undefined;
  headers?: Record<string, string>;
  status: number;
  code: string;
  recorded?: boolean;
}[] = [
  { what: "no such trigger", path: "/webhook/nobody", status: 404, code: "not_found" },
  { what: "no such project", path: "/webhook/nowhere/push", status: 404, code: "not_found" },
  {
    what: "the name of an Object's own",
    path: "/webhook/constructor",
    status: 404,
    code: "not_found",
  },
  {
    what: "a length over the cap",
    body: " ".repeat(10_001),
    recorded: true,
    status: 413,
    code: "too_large",
  },
  {
    what: "a stream over the cap",
    body: chunked(10_001),
    recorded: true,
    status: 413,
    code: "too_large",
  },
  {
    what: "a stated length over the cap",
    headers: json({ "content-length": "99999999999" }),
    status: 413,
    code: "too_large",
    recorded: true,
  },
  {
    what: "both Content-Length and Transfer-Encoding",
    recorded: true,
    headers: json({ "content-length": "5", "transfer-encoding": "chunked" }),
    status: 400,
    code: "invalid",
  },
  {
    what: "a body that never ends",
    body: new ReadableStream(),
    recorded: true,
    status: 408,
    code: "timeout",
  },
  {
    what: "a body that breaks off",
    recorded: true,
    status: 400,
    code: "invalid",
    body: new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) }),
  },
  ...[
    "text/plain",
    "application/octet-stream",
    "application/x-ndjson",
    "application/xml",
    "multipart/form-data; boundary=x",
    "application/jsonx",
    "json",
  ]
    .map((type) => ({
      what: `the content type ${type}`,
      headers: json({ "content-type": type }),
      status: 415,
      code: "unsupported_type",
      recorded: true,
    })),
  ...["gzip", "br", "GZIP", "identity, gzip", "x"].map((encoding) => ({
    what: `the encoding ${encoding}`,
    headers: json({ "content-encoding": encoding }),
    status: 415,
    code: "unsupported_type",
    recorded: true,
  })),
  ...["a/webhook", "a b", "a@b", "a,b", "", "[::1", "a:b", "a:123456", "ä"].map((host) => ({
    what: `the Host "${host}"`,
    headers: json({ host: encodeURI(host).replace("%20", " ") }),
    status: 400,
    code: "invalid",
  })),
  {
    what: "headers of 64 KiB",
    status: 431,
    code: "headers_too_large",
    headers: json(
      Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`x-${n}`, "y".repeat(1000)])),
    ),
  },
];

Deno.test("a refused request gets its status and code, no reason, and starts nothing", async (t) => {
  await using rig = await webhookRig({ manifest: MANIFEST, maxBytes: 10_000, deadlineMs: 200 });
  for (const { what, path = "/webhook/push", body = BODY, headers, ...expected } of REFUSED) {
    await t.step(what, async () => {
      const known = (await rig.deliveries()).length;
      const response = await rig.post(path, body, headers ?? json());
      const problem = await response.json();
      equal(response.status, expected.status);
      equal(response.headers.get("content-type"), "application/problem+json");
      deepEqual(Object.keys(problem), ["type", "title", "status", "code", "request_id"]);
      equal(problem.code, expected.code);
      match(problem.request_id, ULID);
      const records = await rig.deliveries();
      equal(records.length - known, expected.recorded === true ? 1 : 0);
      equal(records.some(({ id }) => id === problem.request_id), expected.recorded === true);
      await startedNothing(rig);
    });
  }
  await t.step("and the next request is served", async () => {
    equal((await rig.post("/webhook/push", BODY, sign(BODY))).status, 200);
  });
});

Deno.test("content types of JSON, and none, are read", async (t) => {
  await using rig = await webhookRig({ manifest: MANIFEST, maxBytes: BODY.length });
  const types = [
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    "application/cloudevents+json",
    "application/vnd.github.v3+json;x=y",
    "",
  ];
  for (const type of types) {
    await t.step(`"${type}"`, async () => {
      const { "x-hub-signature-256": hub = "" } = sign(BODY);
      const headers = {
        "x-hub-signature-256": hub,
        ...(type === "" ? {} : { "content-type": type }),
      };
      const response = await rig.post("/webhook/push", BODY, headers); // as long as is allowed
      equal(response.status, 200);
      equal((await response.json()).status, "accepted");
    });
  }
});

test("a fault of the content is told only to an authenticated sender", async (rig) => {
  const bad: readonly [BodyInit, Record<string, string>][] = [
    ["{", {}],
    [bytes(0xff), {}],
    ["[]", {}],
    [BODY, { "content-type": "text/plain" }],
    [BODY, { "content-encoding": "gzip" }],
  ];
  for (const [body, headers] of bad) {
    equal((await rig.post("/webhook/push", body, headers)).status, 401);
  }
  await startedNothing(rig);
});

test("a store that refuses is answered 503 with Retry-After", async (rig) => {
  const response = await rig.post("/webhook/push", BODY, sign(BODY));
  equal(response.status, 503);
  match(response.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
  equal((await response.json()).code, "overloaded");
  await startedNothing(rig);
}, {
  broken: { recordDelivery: () => Promise.reject(new AppError("overloaded", "full of /dev/x")) },
});

test("a bug is answered 500 without a word about it, and logged with its cause", async (rig) => {
  const response = await rig.post("/webhook/push", BODY, sign(BODY));
  equal(response.status, 500);
  const text = await response.text();
  equal(JSON.parse(text).code, "internal");
  ok(!text.includes("inner secret"));
  match(rig.logged.join("\n"), /"level":"error".*inner secret/);
  await startedNothing(rig);
}, { broken: { recordDelivery: () => Promise.reject(new TypeError("inner secret")) } });

test("while another process holds the database, requests are answered 503 and start nothing", async (rig) => {
  const lock = lockDatabase(rig.path);
  const response = await rig.post("/webhook/push", BODY, sign(BODY));
  lock[Symbol.dispose]();
  equal(response.status, 503);
  await startedNothing(rig);
  equal((await rig.post("/webhook/push", BODY, sign(BODY))).status, 200);
});

test("neither secrets nor bodies nor signatures are logged", async (rig) => {
  await rig.post("/webhook/push", BODY, sign(BODY));
  await rig.post("/webhook/push", BODY, sign(BODY, "another secret text"));
  await rig.post("/webhook/push", "{", sign("{"));
  const log = rig.logged.join("\n");
  match(log, /fits no key of SecretStore/);
  for (const secret of [SECRET, "another secret text", "opened", HEX.slice(0, 16)]) {
    ok(!log.includes(secret), secret);
  }
});

test("a flood of bad signatures leaves a bounded number of records, and good requests pass", async (rig) => {
  const bad = Array.from({ length: 3000 }, () => rig.post("/webhook/push", BODY, sign(BODY, "x")));
  const good = await rig.post("/webhook/push", BODY, sign(BODY));
  equal(good.status, 200);
  const statuses = (await Promise.all(bad)).map(({ status }) => status);
  deepEqual(new Set(statuses), new Set([401]));
  const records = await rig.deliveries();
  const rejected = records.filter(({ outcome }) => outcome === "rejected").length;
  ok(rejected >= 100 && rejected <= 1000, `${rejected} records`);
  match(rig.logged.join("\n"), /refused requests were not recorded one by one.*"count":\d+/);
  equal((await rig.tasks()).length, 1);
});

test("a thousand requests at once are a thousand tasks, each once", async (rig) => {
  const bodies = Array.from({ length: 1000 }, (_, n) => `{"n":${n}}`);
  const answers = await Promise.all(bodies.map(async (body) => {
    const response = await rig.post("/webhook/push", body, sign(body));
    equal(response.status, 200);
    return (await response.json()).task_id as string;
  }));
  equal(new Set(answers).size, 1000);
  deepEqual((await rig.tasks()).map(({ id }) => id).toSorted(), answers.toSorted());
  const { tasks: claimed } = await rig.store.claimTasks(1000, NOW);
  deepEqual(
    new Set(claimed.map(({ payload }) => new TextDecoder().decode(payload))),
    new Set(bodies),
  );
});
