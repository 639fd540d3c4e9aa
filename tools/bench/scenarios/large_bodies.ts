/**
 * Accepts by the size of their body, from 1 KB to 1 MB: processor time, because the rate at these
 * sizes is that of the client and of the disk as well.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { compare, subjectOf } from "../compare.ts";
import { checked, type LoadRequest } from "../load.ts";
import { costOf } from "../processor_time.ts";
import type { Scenario } from "../scenario.ts";
import { requestTo, SECRET, startBusySite } from "../site.ts";

/** Kilobytes of each body, and the ratio to the earlier program that is wanted. */
const SIZES = { "1": 1.03, "10": 1.03, "100": 0.7, "1000": 0.7 } as const;
type Size = keyof typeof SIZES;
const NAMES = Object.keys(SIZES) as Size[];

const CONNECTIONS = 16;

/** Accepts by the size of their body. */
export const largeBodies: Scenario = {
  name: "bodies",
  title: "accepts by the size of their body",
  run(context) {
    const { load, seconds } = context;
    const bodies = Object.fromEntries(NAMES.map((size) => [size, bodyOf(Number(size))]));
    return compare<Size, number>(context, {
      measurements: NAMES,
      async open(opened) {
        const daemon = await startBusySite(opened);
        const measure = async (size: Size) => {
          const request = requestWith(requestTo(daemon.url, "accept"), bodies[size] ?? "");
          const shape = { connections: CONNECTIONS, seconds };
          const { cost } = await costOf(
            daemon.pid,
            async () => checked(await load.run(request, shape), "accepted"),
            ({ answers }) => answers,
          );
          return cost.own;
        };
        const measurements = Object.fromEntries(NAMES.map((size) => [size, () => measure(size)]));
        const warmUp = async () => {
          for (const size of NAMES) await measure(size);
        };
        return subjectOf<Size, number>(daemon, measurements, warmUp);
      },
      figures: (own) =>
        NAMES.map((size) => ({
          name: `processor time of a body of ${size} KB`,
          unit: "µs",
          value: own[size],
          change: { atMost: SIZES[size] },
        })),
    });
  },
};

/** The same request with another body, signed. */
function requestWith(request: LoadRequest, body: string): LoadRequest {
  const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
  return { ...request, headers: { ...request.headers, "x-webhook-signature": signature }, body };
}

/** The body of a push of many commits. */
function bodyOf(kilobytes: number): string {
  const commits: unknown[] = [];
  for (let n = 0, bytes = 0; bytes < kilobytes * 1000; n++) {
    const commit = {
      id: `${n}cafe0123456789abcdef0123456789abcdef012`,
      message: `Change number ${n}: says in a line or two what was done and "why" it had to be`,
      author: { name: "The Octocat", email: "octocat@example.com" },
      added: ["README.md"],
      modified: [`src/file_${n}.ts`],
    };
    commits.push(commit);
    bytes += JSON.stringify(commit).length;
  }
  return JSON.stringify({ ref: "refs/heads/main", action: "opened", commits });
}
