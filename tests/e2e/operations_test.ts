/**
 * What an operator sees of a running daemon: `/metrics`, `svc status` and traces.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import {
  NO_DATABASE,
  ONE_PROGRAM,
  programTest,
  ROOT,
  slowTest,
  SOURCE,
} from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const SECRET = "a secret of 32 bytes, or so it is";

async function prepare(daemon: TestDaemon): Promise<void> {
  await daemon.apply(
    secretStore("github", { webhook_secret: SECRET }),
    workflow("record", "true"),
    trigger("push"),
    trigger("never", { condition: "false" }),
  );
}

function post(daemon: TestDaemon, path: string, secret = SECRET) {
  return daemon.send(path, { headers: githubHeaders(secret, "{}"), body: "{}" });
}

/** What the control socket answers to a request. */
async function onSocket(daemon: TestDaemon, path: string, headers: Record<string, string> = {}) {
  const socket = `${daemon.dataDir}/control-plane/svc.sock`;
  using client = Deno.createHttpClient({ proxy: { transport: "unix", path: socket } });
  const response = await fetch(`http://svc${path}`, { client, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

programTest(
  "GET /metrics on the control socket: what happened, and what there is",
  async (program) => {
    await using daemon = await startDaemon(program);
    await prepare(daemon);
    await post(daemon, "/webhook/push");
    await post(daemon, "/webhook/push", "a wrong secret of some length");
    await post(daemon, "/webhook/never");
    await post(daemon, "/webhook/a-name-of-somebody-else");
    await daemon.settled();
    const { status, headers, text } = await onSocket(daemon, "/metrics");
    equal(status, 200, text);
    match(headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    const lines = text.split("\n");
    const of = 'svc_deliveries_total{project="default",trigger=';
    for (
      const line of [
        `${of}"push",outcome="accepted"} 1`,
        `${of}"push",outcome="rejected"} 1`,
        `${of}"never",outcome="filtered"} 1`,
        'svc_webhook_request_duration_seconds_count{status="200"} 2',
        'svc_webhook_request_duration_seconds_count{status="401"} 1',
        'svc_webhook_request_duration_seconds_count{status="404"} 1',
        "svc_task_start_delay_seconds_count 1",
        'svc_task_duration_seconds_count{project="default",workflow="record",state="succeeded"} 1',
        'svc_steps_total{state="succeeded"} 1',
        'svc_tasks{state="running"} 0',
        "svc_connections_limit ",
      ]
    ) ok(lines.some((one) => one === line || (line.endsWith(" ") && one.startsWith(line))), line);
    const value = (name: string) => Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
    // Each of the two deliveries that were accepted or filtered was waited for.
    ok(value("svc_commit_duration_seconds_count") >= 2);
    ok(value("svc_database_bytes") > 100_000);
    ok(value("svc_process_resident_memory_bytes") > 10e6);
    ok(value("svc_process_open_descriptors") > 5);
    ok(value("svc_process_cpu_seconds_total") > 0);
    equal(
      text.includes("a-name-of-somebody-else"),
      false,
      "a path that names no trigger is no label",
    );
    equal(text.includes(SECRET), false);

    await daemon.svc(["delete", "trigger", "push"]);
    const gone = () => onSocket(daemon, "/metrics").then((answer) => answer.text);
    await until(
      "metrics without the deleted trigger",
      async () => (await gone()).includes('trigger="push"') ? undefined : true,
    );
  },
);

programTest(
  "GET /metrics takes the role read_only on the socket, and a token that is known",
  async (program) => {
    await using daemon = await startDaemon(program);
    await Deno.writeTextFile(
      `${daemon.dataDir}/control-plane/uds-policy.yaml`,
      "max_role: read_only\n",
    );
    equal((await onSocket(daemon, "/metrics")).status, 200);
    const unknown = { authorization: "Bearer nobody" };
    equal((await onSocket(daemon, "/metrics", unknown)).status, 403);
  },
  { fileOnly: NO_DATABASE },
);

programTest("GET /metrics at the webhook address: only with --metrics", async (program) => {
  {
    await using daemon = await startDaemon(program);
    equal((await daemon.send("/metrics", { method: "GET" })).status, 404);
  }
  await using daemon = await startDaemon(program, { args: ["--metrics"] });
  const { status, text } = await daemon.send("/metrics", { method: "GET" });
  deepEqual([status, text.includes("svc_build_info{")], [200, true]);
  equal((await daemon.send("/metrics", { method: "POST", body: "{}" })).status, 404);
  equal((await daemon.send("/metrics/x", { method: "GET" })).status, 404);
}, { fileOnly: NO_DATABASE });

interface StatusJson {
  readonly queue: Record<string, number | null>;
  readonly rates: Record<string, Record<string, Record<string, number>>>;
  readonly database: Record<string, number>;
  readonly degraded: readonly string[];
}

programTest(
  "svc status: what waits, how long, what happened lately, and sizes",
  async (program) => {
    await using daemon = await startDaemon(program, { args: ["--workers", "1"] });
    await daemon.apply(
      secretStore("github", { webhook_secret: SECRET }),
      workflow("record", "while [ ! -e go ]; do sleep 0.05; done"),
      trigger("push"),
    );
    for (let n = 0; n < 3; n++) await post(daemon, "/webhook/push");
    await post(daemon, "/webhook/push", "a wrong secret of some length");
    const busy = await until("a task that waits for a second", async () => {
      const status = await daemon.json("status") as StatusJson;
      return (status.queue["oldest_ready_secs"] ?? 0) >= 1 ? status : undefined;
    });
    const { pending, queued, delayed, running } = busy.queue;
    deepEqual([pending, queued, delayed, running], [2, 0, 0, 1]);
    deepEqual(busy.rates["deliveries"], {
      accepted: { last_minute: 3, last_five_minutes: 3 },
      rejected: { last_minute: 1, last_five_minutes: 1 },
    });
    ok((busy.database["bytes"] ?? 0) > 100_000);
    // The disk of a server is not that of the daemon.
    equal((busy.database["disk_free_bytes"] ?? 0) > 0, program.onPostgres !== true);
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    await daemon.settled();
    const idle = await daemon.json("status") as StatusJson;
    deepEqual(idle.queue, {
      pending: 0,
      queued: 0,
      delayed: 0,
      running: 0,
      waiting: 0,
      oldest_low_secs: null,
      oldest_pending_secs: null,
      oldest_ready_secs: null,
    });
    equal(idle.rates["tasks"]?.["succeeded"]?.["last_minute"], 3);
    const { stdout } = await daemon.svc(["status"]);
    match(stdout, /^you: +admin, by socket$/m);
    match(stdout, /^tasks: +0 running, 0 pending$/m);
    match(
      stdout,
      /^tasks ended: +3 succeeded in the last minute\n +3 succeeded in the last five$/m,
    );
    match(stdout, /^deliveries: +3 accepted, 1 rejected in the last minute/m);
    match(
      stdout,
      program.onPostgres === true
        ? /^database: +PostgreSQL "\w+" at \S.*, [\d.]+ MiB$/m
        : /^database: +[\d.]+ [KM]iB.* left on its disk$/m,
    );
  },
);

const DOCS = Deno.readTextFileSync(join(ROOT, "docs/metrics.md"));

programTest("docs/metrics.md names every metric there is, and no other", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const { text } = await onSocket(daemon, "/metrics");
  const there = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name ?? "");
  const rows = DOCS.split("\n").filter((line) => line.startsWith("| `svc_"));
  const named = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name ?? "")
  );
  ok(there.length > 25, text);
  deepEqual(named.toSorted(), there.toSorted());
}, { fileOnly: NO_DATABASE });

/** A span as a collector gets it. */
interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly attributes: readonly { key: string; value: { stringValue?: string } }[];
}

/** A collector of OTLP over HTTP, which keeps spans and everything as text. */
function startCollector() {
  const spans: Span[] = [];
  let all = "";
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const text = await request.text();
    all += text;
    for (const { scopeSpans } of JSON.parse(text).resourceSpans ?? []) {
      for (const scope of scopeSpans) spans.push(...scope.spans);
    }
    return Response.json({});
  });
  return {
    spans,
    text: () => all,
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

// A compiled program collects traces only when it was compiled so: docs/operations.md.
slowTest(
  "traces: one from the request to the last step, with names and ids and nothing of the payload",
  async ({ onPostgres = false }) => {
    await using collector = startCollector();
    await using daemon = await startDaemon({ ...SOURCE, onPostgres }, {
      env: {
        OTEL_DENO: "true",
        OTEL_DENO_CONSOLE: "ignore",
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: "100",
      },
    });
    await daemon.apply(
      secretStore("github", { webhook_secret: SECRET }),
      workflow("record", 'cat "$SVC_PAYLOAD_FILE"', "exit 3"),
      trigger("push"),
    );
    const body = '{"text":"words of a stranger"}';
    const { json } = await daemon.send("/webhook/push", {
      headers: githubHeaders(SECRET, body),
      body,
    });
    equal((await daemon.settled())[0]?.state, "failed");
    const named = (name: string) => collector.spans.filter((span) => span.name === name);
    const task = await until("the span of the task", () => named("task")[0]);
    const [delivery] = named("delivery");
    const [request] = collector.spans.filter(({ spanId }) => spanId === delivery?.parentSpanId);
    const steps = named("step");
    const attribute = (span: Span | undefined, key: string) =>
      span?.attributes.find((one) => one.key === key)?.value.stringValue;
    equal(request?.name, "POST");
    deepEqual([attribute(delivery, "svc.delivery.id"), attribute(delivery, "svc.outcome")], [
      json["delivery_id"],
      "accepted",
    ]);
    deepEqual([task.traceId, task.parentSpanId], [delivery?.traceId, delivery?.spanId]);
    deepEqual([attribute(task, "svc.task.id"), attribute(task, "svc.state")], [
      json["task_id"],
      "failed",
    ]);
    deepEqual(
      steps.map((step) => [
        step.traceId,
        step.parentSpanId,
        attribute(step, "svc.step.id"),
        attribute(step, "svc.state"),
      ]),
      [
        [task.traceId, task.spanId, "s1", "succeeded"],
        [task.traceId, task.spanId, "s2", "failed"],
      ],
    );
    deepEqual(
      collector.spans.filter(({ parentSpanId }) => parentSpanId === delivery?.spanId)
        .map(({ name }) => name).toSorted(),
      ["authenticated", "commit", "decided", "parsed", "received", "task"],
    );
    equal(collector.text().includes("words of a stranger"), false);
    equal(collector.text().includes(SECRET), false);
  },
  { sanitizeResources: false }, // connections of the collector that are about to close
);
