/**
 * Durable accepts: what is answered 200 is on disk. Beside them the same pipeline with nothing
 * stored, and the peer that checks the same signature, runs a program and stores nothing.
 *
 * @module
 */

import { checked, type LoadRequest } from "../load.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import { findPeer, startPeer, startPipelineWithoutStore } from "../server_process.ts";
import { requestTo, SECRET, startBusySite } from "../site.ts";
import { ratios, run } from "../stats.ts";

const CONNECTIONS = [1, 16, 64, 256] as const;

/** Accepts at several numbers of connections. */
export const accepts: Scenario = {
  name: "accepts",
  title: "durable accepts, against the same pipeline without a database and against a peer",
  async run(context) {
    const peer = await findPeer();
    if (peer === undefined) context.note("Debian's webhook is not installed: no peer");
    const found = await run(context.rounds, {
      none: () => withoutStore(context),
      svc: () => durable(context),
      peer: () => peer === undefined ? Promise.resolve(NaN) : ofPeer(context),
    });
    const at64 = found.svc.map(({ rates }) => rates[64]);
    const figures: Figure[] = [
      { name: "pipeline without a database, 64 connections", unit: "/s", samples: found.none },
      ...CONNECTIONS.map((connections): Figure => ({
        name: `durable accepts, ${connections} connection${connections === 1 ? "" : "s"}`,
        unit: "/s",
        samples: found.svc.map(({ rates }) => rates[connections]),
      })),
      {
        name: "durable accepts with deduplication (GitHub), 64 connections",
        unit: "/s",
        samples: found.svc.map(({ github }) => github),
      },
      {
        name: "durable accepts ÷ pipeline without a database",
        unit: "×",
        samples: ratios(at64, found.none),
        target: { atLeast: 0.55 },
      },
    ];
    if (peer === undefined) return figures;
    return [
      ...figures,
      { name: `Debian's ${peer}, 64 connections`, unit: "/s", samples: found.peer },
      {
        name: "durable accepts ÷ Debian's webhook",
        unit: "×",
        samples: ratios(at64, found.peer),
        target: { atLeast: 1.6 },
      },
    ];
  },
};

/** What one daemon did. */
interface Durable {
  readonly rates: Readonly<Record<(typeof CONNECTIONS)[number], number>>;
  readonly github: number;
}

async function durable(context: BenchContext): Promise<Durable> {
  await using daemon = await startBusySite(context.program);
  const request = requestTo(daemon.url, "accept");
  await rate(context, request, 64); // warm up
  return {
    rates: {
      64: await rate(context, request, 64),
      1: await rate(context, request, 1),
      16: await rate(context, request, 16),
      256: await rate(context, request, 256),
    },
    github: await rate(context, requestTo(daemon.url, "github"), 64),
  };
}

async function withoutStore(context: BenchContext): Promise<number> {
  await using server = await startPipelineWithoutStore();
  const request = requestTo(server.url, "accept");
  await rate(context, request, 64); // warm up
  return await rate(context, request, 64);
}

async function ofPeer(context: BenchContext): Promise<number> {
  await using server = await startPeer(SECRET, "X-Webhook-Signature");
  return await rate(context, requestTo(server.url, "accept"), 64);
}

async function rate(
  { load, seconds }: BenchContext,
  request: LoadRequest,
  connections: number,
): Promise<number> {
  return checked(await load.run(request, { connections, seconds }), "accepted").perSecond;
}
