/**
 * Durable accepts: a request is on disk before its answer 200. They are measured at full speed, at
 * half of it, into a full `Queue` and with deduplication, and compared with the same pipeline
 * without a store, and with a peer that checks the same signature, runs a program and stores
 * nothing.
 *
 * @module
 */

import { compare, type Round, type RoundFigure, type Subject, subjectOf } from "../compare.ts";
import { checked, type LoadResult } from "../load.ts";
import { pacedLoad } from "../load_generator.ts";
import { costOf, type ProcessorTime } from "../processor_time.ts";
import type { BenchContext, Scenario } from "../scenario.ts";
import {
  findPeer,
  type ServerProcess,
  startPeer,
  startPipelineWithoutStore,
} from "../server_process.ts";
import { requestTo, SECRET, startBusySite } from "../site.ts";
import { percentile } from "../stats.ts";

const CONNECTIONS = 64;
const MEASUREMENTS = ["full", "half", "queue", "github"] as const;
type Measurement = typeof MEASUREMENTS[number];

/** The values of a kind of requests. */
type Served = LoadResult & {
  /** Processor time of each request, without children. */
  readonly cost: ProcessorTime;
  /** Latencies, only at a fixed rate. */
  readonly latenciesMs?: Float64Array;
};

export const accepts: Scenario = {
  name: "accepts",
  title: "durable accepts, against the same pipeline without a database and against a peer",
  async run(context) {
    const { program, note } = context;
    const installed = await findPeer();
    if (installed === undefined) note("Debian's webhook is not installed: no peer");
    let halfOfNow = 0; // the rate at which the pipeline without a database is held, too
    return await compare<Measurement, Served>(context, {
      measurements: MEASUREMENTS,
      async open(opened) {
        const daemon = await startBusySite(opened);
        const { atFull, atRate } = measuring(context, daemon);
        let half = 0;
        const measurements = {
          async full() {
            const served = await atFull("accept");
            half = served.perSecond / 2;
            if (opened === program) halfOfNow = half;
            return served;
          },
          half: () => atRate(half),
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
          return subjectOf(server, { full, half: () => atRate(halfOfNow) }, full); // to warm up
        },
        peer: () => Promise.resolve(installed === undefined ? undefined : peerOf(context)),
      },
      figures: (own, { none, peer }) => figuresOf(own, { none, peer }),
    });
  },
};

/**
 * The peer is started only for its measurement, because it still runs programs long after its
 * answers.
 */
function peerOf(context: BenchContext): Subject<Measurement, Served> {
  return {
    measurements: {
      async full() {
        await using server = await startPeer(SECRET, "X-Webhook-Signature");
        return await measuring(context, server).atFull("accept");
      },
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
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
    atRate: (rate: number) =>
      served(() =>
        pacedLoad(requestTo(url, "accept"), {
          connections: CONNECTIONS,
          seconds: seconds * 2,
          rate,
        })
      ),
  };
}

function figuresOf(
  { full, half, queue, github }: Record<Measurement, Served>,
  { none, peer }: Record<"none" | "peer", Round<Measurement, Served> | undefined>,
): readonly RoundFigure[] {
  const bare = none?.full;
  const latencies = half.latenciesMs ?? [];
  const threads = (name: string, { cost }: Served) =>
    Object.entries(cost.threads).map(([thread, value]): RoundFigure => ({
      name: `${name}, thread ${thread}`,
      unit: "µs",
      value,
      detail: true,
    }));
  return [
    { name: "durable accepts", unit: "/s", value: full.perSecond },
    {
      name: "processor time per accept",
      unit: "µs",
      value: full.cost.own,
      change: { atMost: 0.65 },
    },
    ...threads("processor time per accept", full),
    { name: "without a database", unit: "/s", value: bare?.perSecond ?? NaN, shared: true },
    { name: "its processor time", unit: "µs", value: bare?.cost.own ?? NaN, shared: true },
    { // Were it near a whole processor, its own speed would be what is measured.
      name: "load client there, of a processor",
      unit: "×",
      value: bare?.clientBusy ?? NaN,
      shared: true,
      target: { atMost: 0.9 },
    },
    {
      name: "accepts ÷ without a database",
      unit: "×",
      value: full.perSecond / (bare?.perSecond ?? NaN),
      target: { atLeast: 0.7 },
    },
    { name: "Debian's webhook", unit: "/s", value: peer?.full?.perSecond ?? NaN, shared: true },
    {
      name: "accepts ÷ Debian's webhook",
      unit: "×",
      value: full.perSecond / (peer?.full?.perSecond ?? NaN),
      target: { atLeast: 1.6 },
    },
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
    { name: "half of the full rate", unit: "/s", value: half.perSecond },
    { name: "median at half", unit: "ms", value: percentile(latencies, 0.5) },
    { name: "p99 at half", unit: "ms", value: half.p99Ms, target: { atMost: 10 } },
    { name: "slowest at half", unit: "ms", value: percentile(latencies, 1) },
    {
      name: "p99 without a database, same rate",
      unit: "ms",
      value: none?.half?.p99Ms ?? NaN,
      shared: true,
    },
    { name: "load client, of a processor", unit: "×", value: full.clientBusy, detail: true },
    {
      name: "load client at half, of a processor",
      unit: "×",
      value: half.clientBusy,
      detail: true,
    },
  ];
}
