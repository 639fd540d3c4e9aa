/**
 * The start of `svc` for a short command, beside an empty program that was compiled the same way.
 *
 * @module
 */

import { type Program, ROOT } from "../../../tests/helpers/program.ts";
import { tempDir } from "../../../tests/helpers/temp_dir.ts";
import { compare, type RoundFigure, type Subject } from "../compare.ts";
import { costOf, type ProcessorTime } from "../processor_time.ts";
import { compileNothing } from "../programs.ts";
import type { Scenario } from "../scenario.ts";
import { median } from "../stats.ts";

const COMMANDS = {
  version: ["version"],
  extract: ["tool", "payload-extract", "--path", "a.b"],
  verify: [
    "tool",
    "webhook-verify-hmac",
    "--secret",
    "s",
    "--body",
    "b",
    "--signature",
    "sha256=83fb94c4c78f5158768e34c50e4b3f8f0d3b3b5d7b2a1a5d4bb8bd9b4b1c1f1a", // does not match
  ],
} as const;
type Measurement = keyof typeof COMMANDS;
const MEASUREMENTS = Object.keys(COMMANDS) as Measurement[];
const INPUT = '{"a":{"b":"c"}}';

/** The values of starts, one after the other. */
interface Starts {
  /** Milliseconds from start to end, the median. */
  readonly ms: number;
  readonly cost: ProcessorTime;
}

export const coldStart: Scenario = {
  name: "cold",
  title: "cold start of short commands, against an empty compiled program",
  async run(context) {
    const { size, program, note } = context;
    const times = size === "quick" ? 2 : 7;
    await using dir = await tempDir();
    const nothing = program.name === "compiled" ? await compileNothing(dir.path) : undefined;
    if (nothing === undefined) note("svc from the sources: nothing to compare with");
    return await compare<Measurement, Starts>(context, {
      measurements: MEASUREMENTS,
      open: (opened) => Promise.resolve(starts(times, opened)),
      beside: {
        nothing: () =>
          Promise.resolve(
            nothing === undefined
              ? undefined
              : starts(times, { name: "compiled", command: nothing, args: [] }),
          ),
      },
      figures: (own, { nothing }) => [
        {
          name: "an empty compiled program",
          unit: "ms",
          value: nothing?.version?.ms ?? NaN,
          shared: true,
        },
        ...MEASUREMENTS.flatMap((measurement): RoundFigure[] => {
          const name = `svc ${COMMANDS[measurement].slice(0, 2).join(" ")}`;
          return [
            { name, unit: "ms", value: own[measurement].ms },
            {
              name: `${name} ÷ an empty program`,
              unit: "×",
              value: own[measurement].ms / (nothing?.[measurement]?.ms ?? NaN),
              ...(measurement === "version" ? {} : { target: { atMost: 1.6 } }),
            },
          ];
        }),
        { name: "processor time of svc version", unit: "µs", value: own.version.cost.ended },
      ],
    });
  },
};

function starts(times: number, { command, args }: Program): Subject<Measurement, Starts> {
  const measure = (measurement: Measurement) => () =>
    costOf("self", async () => {
      const all: number[] = [];
      for (let n = 0; n < times; n++) {
        all.push(await startMs(command, [...args, ...COMMANDS[measurement]]));
      }
      return { ms: median(all) };
    }, () => times);
  return {
    measurements: {
      version: measure("version"),
      extract: measure("extract"),
      verify: measure("verify"),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Runs a program; returns the milliseconds from start to end. */
async function startMs(command: string, args: readonly string[]): Promise<number> {
  const start = performance.now();
  const child = new Deno.Command(command, {
    args: [...args],
    cwd: ROOT,
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(INPUT)).catch(() => {});
  await writer.close().catch(() => {});
  await child.status;
  return performance.now() - start;
}
