/**
 * The installation that the bench sends requests to: a daemon with a fresh data directory, a
 * trigger for each outcome of a request, and busy workers, so that only accepting is measured.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { defined } from "../../src/base/defined.ts";
import type { TaskState } from "../../src/store/task_records.ts";
import { type DaemonOptions, startDaemon, type TestDaemon } from "../../tests/helpers/daemon.ts";
import { type Manifest, secretStore, workflow } from "../../tests/helpers/manifests.ts";
import type { Program } from "../../tests/helpers/program.ts";
import { until } from "../../tests/helpers/until.ts";
import type { LoadRequest } from "./load.ts";

export const SECRET = "a secret that is long enough for anybody";

/** The body of a push like a platform's, 2 KiB of JSON. */
export const BODY = JSON.stringify({
  ref: "refs/heads/main",
  action: "opened",
  repository: { id: 1296269, full_name: "octocat/hello-world", private: false },
  sender: { login: "octocat", id: 583231 },
  commits: Array.from({ length: 7 }, (_, n) => ({
    id: `${n}cafe0123456789abcdef0123456789abcdef012`,
    message: `Change number ${n}: says in a line or two what was done and why it had to be`,
    author: { name: "The Octocat", email: "octocat@example.com" },
    added: ["README.md"],
    modified: [`src/file_${n}.ts`],
  })),
}).padEnd(2048, " ");

/** The authentication of every trigger of the bench. */
export const SIGNED = { secret: { fromRef: "signing" }, signatureHeader: "X-Webhook-Signature" };

export function benchTrigger(name: string, more: {
  readonly condition?: string;
  readonly workflow?: string;
  readonly workspace?: string;
  readonly webhook?: Record<string, unknown>;
  readonly concurrency?: Record<string, unknown>;
} = {}): Manifest {
  const { condition = 'payload_ref == "refs/heads/main"', webhook = SIGNED, concurrency } = more;
  return {
    kind: "Trigger",
    metadata: { name },
    spec: {
      event: { source: "webhook", webhook, filter: { condition } },
      action: { workflow: more.workflow ?? "nothing", workspace: more.workspace ?? "default" },
      ...defined({ concurrency }),
    },
  };
}

/** The resources of every daemon of the bench, and of the server without a database. */
export const MANIFEST: readonly Manifest[] = [
  secretStore("signing", { current: SECRET }),
  workflow("nothing", ":"),
  workflow("wait", 'while ! [ -e "$SVC_DATA_DIR/go" ]; do sleep 0.1; done'),
  benchTrigger("accept"),
  benchTrigger("filter", { condition: 'payload_ref == "refs/heads/other"' }),
  benchTrigger("wait", { workflow: "wait" }),
  benchTrigger("queue", { concurrency: { policy: "Queue" } }),
  benchTrigger("github", {
    webhook: { secret: { fromRef: "signing" }, signatureHeader: "X-Hub-Signature-256" },
  }),
];

/** A request to a trigger of the bench; with `wrong`, its signature does not match. */
export function requestTo(
  url: string,
  trigger: string | readonly string[],
  wrong = false,
): LoadRequest {
  const signature = `sha256=${
    createHmac("sha256", wrong ? "not it" : SECRET).update(BODY).digest("hex")
  }`;
  const header = trigger === "github" ? "x-hub-signature-256" : "x-webhook-signature";
  return {
    url,
    paths: [trigger].flat().map((name) => `/webhook/${name}`),
    headers: {
      "content-type": "application/json",
      "user-agent": "bench",
      [header]: signature,
      ...(trigger === "github" ? { "x-github-event": "push" } : {}),
    },
    ...(trigger === "github" ? { uniqueHeader: "x-github-delivery" } : {}),
    body: BODY,
  };
}

/** Sends a request; returns the JSON of its answer, which must be 200. */
export async function sendOne(request: LoadRequest): Promise<Record<string, unknown>> {
  const response = await fetch(request.url + (request.paths[0] ?? ""), {
    method: "POST",
    headers: request.headers,
    body: new TextEncoder().encode(request.body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`Answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

/** Starts a daemon with the bench's resources. */
export async function startSite(
  program: Program,
  options: DaemonOptions & { readonly more?: readonly Manifest[] } = {},
): Promise<TestDaemon> {
  const args = ["--log-level", "warn", ...options.args ?? []];
  const daemon = await startDaemon(program, { ...options, args });
  try {
    await daemon.apply(...MANIFEST, ...options.more ?? []);
    return daemon;
  } catch (error) {
    await daemon[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Starts a daemon whose workers are all busy until {@linkcode releaseWorkers}, so that new tasks
 * only queue.
 */
export async function startBusySite(
  program: Program,
  options: DaemonOptions & { readonly workers?: number; readonly more?: readonly Manifest[] } = {},
): Promise<TestDaemon> {
  const { workers = 1, args = [], ...rest } = options;
  const daemon = await startSite(program, {
    ...rest,
    args: ["--workers", String(workers), ...args],
  });
  try {
    await keepWorkersBusy(daemon, workers);
    return daemon;
  } catch (error) {
    await daemon[Symbol.asyncDispose]();
    throw error;
  }
}

/** Gives each worker a task that runs until {@linkcode releaseWorkers}. */
export async function keepWorkersBusy(daemon: TestDaemon, workers: number): Promise<void> {
  for (let n = 0; n < workers; n++) await sendOne(requestTo(daemon.url, "wait"));
  await until("every worker to be busy", async () => {
    const { counts } = await daemon.json("status") as { counts: Record<string, number> };
    return counts["tasks_running"] === workers ? true : undefined;
  });
}

/** Ends the tasks of {@linkcode keepWorkersBusy}, so that the workers take tasks from the queue. */
export async function releaseWorkers(daemon: TestDaemon): Promise<void> {
  await Deno.writeTextFile(`${daemon.dataDir}/go`, "");
}

/** Counts the tasks in these states, without any work for the daemon. */
export function countTasks({ dataDir }: TestDaemon, states: readonly TaskState[]): number {
  using db = new DatabaseSync(`${dataDir}/svc.db`, { readOnly: true });
  const sql = `SELECT count(*) AS n FROM tasks WHERE state IN (${
    states.map(() => "?").join(", ")
  })`;
  return Number(db.prepare(sql).get(...states)?.["n"]);
}
