/**
 * Tasks that wait for events: what an accept costs beside them, what an event costs that none of them
 * waits for, the time from the event to the first byte of the next step, also at another node, and the
 * memory of 10,000 of them.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import type { TestDaemon } from "../../../tests/helpers/daemon.ts";
import type { Manifest } from "../../../tests/helpers/manifests.ts";
import { tempDir } from "../../../tests/helpers/temp_dir.ts";
import { until } from "../../../tests/helpers/until.ts";
import { startCluster } from "../../../tests/rigs/cluster.ts";
import { withPostgres } from "../database.ts";
import { firstByteMs, makePipe } from "../first_byte.ts";
import { checked, type LoadRequest } from "../load.ts";
import { anonymousMb } from "../machine.ts";
import { costOf } from "../processor_time.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import {
  benchTrigger,
  countTasks,
  keepWorkersBusy,
  MANIFEST,
  requestTo,
  SECRET,
  sendOne,
  SIGNED,
  startSite,
} from "../site.ts";
import { percentile, ratios, run } from "../stats.ts";

const CONNECTIONS = 64;
const WORKERS = 4;
/** Waits beside which accepts are measured, and of the trigger whose events are. */
const WAITS = { quick: [100, 500], usual: [1000, 10_000], long: [1000, 10_000] } as const;
/** Short, and often in turn: what else the machine does then falls on each state alike. */
const BURST_S = 1;
/** Time in which a daemon gives back what opening its waits took. */
const REST_MS = { quick: 1000, usual: 20_000, long: 60_000 } as const;

export const waits: Scenario = {
  name: "waits",
  title: "tasks that wait for events: beside accepts, found by an event, waking, memory",
  run: async (context) => [
    ...await measureCosts(context),
    ...await measureWakes(context),
    ...await withPostgres(context, () => measureNodes(context)),
  ],
};

/** Tasks of the trigger `hold` that wait for an event of `ci` with their own id, and then speak. */
function holding(pipe: string, more: Readonly<Record<string, unknown>> = {}): readonly Manifest[] {
  const match = { "payload.id": "{{ payload.id }}" };
  const steps = [
    { id: "held", waitFor: { trigger: "ci", match, timeout: "24h" } },
    { id: "speak", run: `printf x > "${pipe}"` },
  ];
  const event = { source: "webhook", webhook: SIGNED };
  return [
    { kind: "Workflow", metadata: { name: "hold" }, spec: { steps } },
    { kind: "Trigger", metadata: { name: "ci" }, spec: { event } },
    benchTrigger("hold", { workflow: "hold", condition: "true", ...more }),
    benchTrigger("end", { workflow: "nothing", condition: "true" }),
  ];
}

/** A signed event about an id. */
function eventOf(url: string, trigger: "hold" | "end" | "ci", id: string): LoadRequest {
  const body = JSON.stringify({ id });
  const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
  return {
    url,
    paths: [`/webhook/${trigger}`],
    headers: { "content-type": "application/json", "x-webhook-signature": signature },
    body,
  };
}

/** A daemon that has run this number of tasks, which wait or have ended, and no free worker. */
async function startAfter(
  { program, note }: BenchContext,
  count: number,
  state: "waiting" | "succeeded",
): Promise<TestDaemon> {
  const daemon = await startSite(program, {
    args: ["--workers", String(WORKERS)],
    more: holding("/dev/null"),
  });
  note(`running ${count.toLocaleString("en")} tasks until they are ${state}`);
  const trigger = state === "waiting" ? "hold" : "end";
  const ids = Array.from({ length: count }, (_, n) => `held-${n}`).values();
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    for (const id of ids) await sendOne(eventOf(daemon.url, trigger, id));
  }));
  await until(
    `${count} tasks are ${state}`,
    () => Promise.resolve(countTasks(daemon, [state]) === count ? true : undefined),
    600_000,
  );
  await keepWorkersBusy(daemon, WORKERS);
  return daemon;
}

async function measureCosts(context: BenchContext): Promise<readonly Figure[]> {
  const { rounds, seconds, load, size } = context;
  const [some, many] = WAITS[size];
  await using opened = new AsyncDisposableStack();
  const held = {
    ended: opened.use(await startAfter(context, some, "succeeded")),
    one: opened.use(await startAfter(context, 1, "waiting")),
    some: opened.use(await startAfter(context, some, "waiting")),
    many: opened.use(await startAfter(context, many, "waiting")),
  };
  await new Promise((resolve) => setTimeout(resolve, REST_MS[size]));
  const memory = await anonymousMb(held.many.pid) - await anonymousMb(held.one.pid);
  const shape = { connections: CONNECTIONS, seconds: BURST_S };
  const cost = async ({ pid }: TestDaemon, request: LoadRequest) => {
    const { cost } = await costOf(
      pid,
      async () => checked(await load.run(request, shape), "accepted"),
      ({ answers }) => answers,
    );
    return cost.own;
  };
  const accept = (daemon: TestDaemon) => () => cost(daemon, requestTo(daemon.url, "accept"));
  const event = (daemon: TestDaemon) => () => cost(daemon, eventOf(daemon.url, "ci", "nobody"));
  const measurements = {
    ended: accept(held.ended),
    some: accept(held.some),
    one: event(held.one),
    many: event(held.many),
  };
  await run(1, measurements); // warm up
  const found = await run(2 * rounds * seconds / BURST_S, measurements);
  const names = { some: some.toLocaleString("en"), many: many.toLocaleString("en") };
  return [
    { name: `accept, ${names.some} tasks have ended`, unit: "µs", samples: found.ended },
    { name: `accept, ${names.some} wait at another trigger`, unit: "µs", samples: found.some },
    {
      name: `${names.some} ended ÷ ${names.some} wait, processor time`,
      unit: "×",
      target: { atLeast: 0.98 },
      samples: ratios(found.ended, found.some),
    },
    { name: "event that nobody waits for, 1 wait", unit: "µs", samples: found.one },
    { name: `the same, ${names.many} waits`, unit: "µs", samples: found.many },
    {
      name: `1 wait ÷ ${names.many} waits, processor time`,
      unit: "×",
      target: { atLeast: 0.95 },
      samples: ratios(found.one, found.many),
    },
    {
      name: `memory of ${names.many} tasks that wait`,
      unit: "MB",
      target: { atMost: 20 },
      samples: [memory],
    },
  ];
}

/** The milliseconds from each event to the first byte of the step after its wait. */
async function wakes(
  { holder, sender, pipe }: {
    /** The daemon that starts the tasks. */
    readonly holder: TestDaemon;
    /** The daemon that gets the events. */
    readonly sender: TestDaemon;
    readonly pipe: string;
  },
  times: number,
): Promise<readonly number[]> {
  const found: number[] = [];
  for (let n = 0; n < times; n++) {
    const id = crypto.randomUUID();
    const { task_id: task } = await sendOne(eventOf(holder.url, "hold", id));
    await until("it waits", async () => {
      const { state } = await holder.json("get", "task", String(task)) as { state: string };
      return state === "waiting" ? true : undefined;
    });
    found.push(await firstByteMs(pipe, eventOf(sender.url, "ci", id)));
  }
  return found;
}

async function measureWakes(context: BenchContext): Promise<readonly Figure[]> {
  const { program, rounds, size } = context;
  await using dir = await tempDir();
  const pipe = `${dir.path}/first`;
  await makePipe(pipe);
  await using daemon = await startSite(program, { more: holding(pipe) });
  const at = { holder: daemon, sender: daemon, pipe };
  const times = size === "quick" ? 5 : 40;
  const { wake } = await run(rounds, { wake: () => wakes(at, times) });
  return [
    {
      name: "event → first byte of the next step, median",
      unit: "ms",
      samples: wake.map((one) => percentile(one, 0.5)),
    },
    {
      name: "event → first byte of the next step, p95",
      unit: "ms",
      target: { atMost: 30 },
      samples: wake.map((one) => percentile(one, 0.95)),
    },
  ];
}

/** Two daemons over one PostgreSQL: the task runs at the first one. */
async function measureNodes({ program, rounds, size }: BenchContext): Promise<readonly Figure[]> {
  await using opened = new AsyncDisposableStack();
  const pipe = `${opened.use(await tempDir()).path}/first`;
  await makePipe(pipe);
  const args = ["--log-level", "warn"];
  const { daemons: [holder, other] } = opened.use(
    await startCluster(program, 2, { args, direct: true }),
  );
  if (holder === undefined || other === undefined) throw new Error("no two daemons");
  const spec = { path: "workspaces/default", nodes: ["a"] };
  await holder.apply(
    ...MANIFEST,
    { kind: "Workspace", metadata: { name: "here" }, spec },
    ...holding(pipe, { workspace: "here" }),
  );
  const times = size === "quick" ? 5 : 40;
  const found = await run(rounds, {
    same: () => wakes({ holder, sender: holder, pipe }, times),
    another: () => wakes({ holder, sender: other, pipe }, times),
  });
  return (["same", "another"] as const).map((where): Figure => ({
    name: `PostgreSQL, event at ${where === "same" ? "the" : "the other"} node, p95`,
    unit: "ms",
    target: { atMost: where === "same" ? 30 : 150 },
    samples: found[where].map((one) => percentile(one, 0.95)),
  }));
}
