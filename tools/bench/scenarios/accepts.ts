/**
 * Durable accepts: a request is on disk before its answer 200. They are measured at full speed, at a
 * fixed rate, into a full `Queue` and with deduplication, and compared with the same pipeline
 * without a store, and with what one would take instead (`peers.ts`).
 *
 * @module
 */

import { defined } from "../../../src/base/defined.ts";
import { compare, type Round, type RoundFigure, type Subject, subjectOf } from "../compare.ts";
import { checked, type LoadResult } from "../load.ts";
import { pacedLoad } from "../load_generator.ts";
import { findPeers, type Peer, PEERS, type StartPeer } from "../peers.ts";
import { costOf, type ProcessorTime, whole } from "../processor_time.ts";
import type { BenchContext, Scenario, Target } from "../scenario.ts";
import { type ServerProcess, startPipelineWithoutStore } from "../server_process.ts";
import { requestTo, startBusySite } from "../site.ts";
import { percentile } from "../stats.ts";

const CONNECTIONS = 64;
/** Requests a second of the fixed rate. A faster program is not measured harder by it. */
const RATE = 1000;
const MEASUREMENTS = ["full", "fixed", "queue", "github"] as const;
type Measurement = typeof MEASUREMENTS[number];

/** The values of a kind of requests. */
type Served = LoadResult & {
  /** Processor time of each request. */
  readonly cost: ProcessorTime;
  /** Latencies, only at a fixed rate. */
  readonly latenciesMs?: Float64Array;
};

export const accepts: Scenario = {
  name: "accepts",
  title: "durable accepts, against the same pipeline without a database and against peers",
  async run(context) {
    const peers = await findPeers(context.note);
    const beside = PEERS.map((peer) => [peer, () => peerOf(context, peer, peers[peer])] as const);
    return await compare<Measurement, Served>(context, {
      measurements: MEASUREMENTS,
      async open(program) {
        const daemon = await startBusySite(program);
        const { atFull, atRate } = measuring(context, daemon);
        const measurements = {
          full: () => atFull("accept"),
          fixed: atRate,
          queue: () => atFull("queue"),
          github: () => atFull("github"),
        };
        return subjectOf(daemon, measurements, measurements.full); // to warm up
      },
      beside: {
        async none() {
          const server = await startPipelineWithoutStore();
          const { atFull, atRate } = measuring(context, server);
          const full = () => atFull("accept");
          return subjectOf(server, { full, fixed: atRate }, full); // to warm up
        },
        ...Object.fromEntries(beside),
      },
      figures: (own, others) => figuresOf(own, others),
    });
  },
};

/**
 * A peer is started only for its measurement: Debian's `webhook` still runs programs long after its
 * answers. Those with a database also warm up, as svc does.
 */
function peerOf(
  context: BenchContext,
  peer: Peer,
  start: StartPeer | undefined,
): Promise<Subject<Measurement, Served> | undefined> {
  if (start === undefined) return Promise.resolve(undefined);
  const measure = (what: "atFull" | "atRate") => async () => {
    await using server = await start();
    const { [what]: measured, atFull } = measuring(context, server);
    if (peer !== "webhook") await atFull("accept");
    return await measured("accept");
  };
  const measurements = {
    full: measure("atFull"),
    ...(peer === "go" ? { fixed: measure("atRate") } : {}),
  };
  return Promise.resolve({ measurements, [Symbol.asyncDispose]: () => Promise.resolve() });
}

/** Measures a server; throws if it refuses a request. */
function measuring(
  { load, seconds }: BenchContext,
  { url, pid }: Pick<ServerProcess, "url" | "pid">,
) {
  const served = <R extends LoadResult>(work: () => Promise<R>): Promise<Served> =>
    costOf(pid, async () => checked(await work(), "accepted"), ({ answers }) => answers);
  return {
    atFull: (trigger: string) =>
      served(() => load.run(requestTo(url, trigger), { connections: CONNECTIONS, seconds })),
    atRate: () =>
      served(() =>
        pacedLoad(requestTo(url, "accept"), {
          connections: CONNECTIONS,
          seconds: seconds * 4,
          rate: RATE,
        })
      ),
  };
}

/** What svc is to reach beside each peer. */
const BESIDE: Readonly<Record<Peer, { readonly title: string; readonly target?: Target }>> = {
  webhook: { title: "Debian's webhook (stores nothing)", target: { atLeast: 1.5 } },
  node: { title: "lean Node (commits shared)" },
  go: { title: "lean Go (commits shared)" },
  express: { title: "Express (a commit each)" },
};

function figuresOf(
  { full, fixed, queue, github }: Record<Measurement, Served>,
  others: Readonly<Record<string, Round<Measurement, Served> | undefined>>,
): readonly RoundFigure[] {
  const { none, go } = others;
  const latencies = fixed.latenciesMs ?? [];
  const threads = (name: string, { cost }: Served) =>
    Object.entries(cost.threads).map(([thread, value]): RoundFigure => ({
      name: `${name}, thread ${thread}`,
      unit: "µs",
      value,
      detail: true,
    }));
  return [
    { name: "durable accepts", unit: "/s", value: full.perSecond, inDocs: true },
    {
      name: "processor time per accept",
      unit: "µs",
      value: full.cost.own,
      change: { atMost: 0.85 },
    },
    ...threads("processor time per accept", full),
    { name: "without a database", unit: "/s", value: none?.full?.perSecond ?? NaN, shared: true },
    { name: "its processor time", unit: "µs", value: none?.full?.cost.own ?? NaN, shared: true },
    { // Were it near a whole processor, its own speed would be what is measured.
      name: "load client there, of a processor",
      unit: "×",
      value: none?.full?.clientBusy ?? NaN,
      shared: true,
      target: { atMost: 0.9 },
    },
    {
      name: "accepts ÷ without a database",
      unit: "×",
      value: full.perSecond / (none?.full?.perSecond ?? NaN),
      target: { atLeast: 0.7 },
    },
    ...PEERS.flatMap((peer) => besidePeer(BESIDE[peer], full, others[peer]?.full)),
    { name: "accepts into a full Queue", unit: "/s", value: queue.perSecond },
    { name: "processor time of these", unit: "µs", value: queue.cost.own },
    ...threads("processor time, Queue", queue),
    {
      name: "Queue ÷ plain, rate",
      unit: "×",
      value: queue.perSecond / full.perSecond,
      target: { atLeast: 0.9 },
    },
    {
      name: "Queue ÷ plain, processor time",
      unit: "×",
      value: queue.cost.own / full.cost.own,
      target: { atMost: 1.11 },
    },
    { name: "accepts with deduplication", unit: "/s", value: github.perSecond },
    { name: "processor time of these", unit: "µs", value: github.cost.own },
    { name: `median at ${AT}`, unit: "ms", value: percentile(latencies, 0.5) },
    { name: `p99 at ${AT}`, unit: "ms", value: fixed.p99Ms, inDocs: true },
    { name: `slowest at ${AT}`, unit: "ms", value: percentile(latencies, 1) },
    {
      name: `p99 at ${AT}, without a database`,
      unit: "ms",
      value: none?.fixed?.p99Ms ?? NaN,
      shared: true,
    },
    { name: `p99 at ${AT}, lean Go`, unit: "ms", value: go?.fixed?.p99Ms ?? NaN, shared: true },
    {
      name: "p99 ÷ lean Go",
      unit: "×",
      value: fixed.p99Ms / (go?.fixed?.p99Ms ?? NaN),
      target: { atMost: 1 },
    },
    { name: "rate that was kept", unit: "/s", value: fixed.perSecond },
    { name: "load client, of a processor", unit: "×", value: full.clientBusy, detail: true },
    {
      name: `load client at ${AT}, of a processor`,
      unit: "×",
      value: fixed.clientBusy,
      detail: true,
    },
  ];
}

const AT = `${RATE.toLocaleString("en")}/s`;

/** The figures of a peer, and the ratio of svc's rate to its. */
function besidePeer(
  { title, target }: typeof BESIDE[Peer],
  own: Served,
  peer: Served | undefined,
): readonly RoundFigure[] {
  return [
    { name: title, unit: "/s", value: peer?.perSecond ?? NaN, shared: true, inDocs: true },
    {
      name: `${title.replace(/ \(.*/, "")}, processor time`,
      unit: "µs",
      value: whole(peer?.cost),
      shared: true,
      inDocs: true,
    },
    {
      name: `accepts ÷ ${title.replace(/ \(.*/, "")}`,
      unit: "×",
      value: own.perSecond / (peer?.perSecond ?? NaN),
      inDocs: true,
      ...defined({ target }),
    },
  ];
}
