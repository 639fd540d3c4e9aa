/**
 * The start of `svc` for a short command, which plugin scripts run several times for a request:
 * from the sources, and compiled beside an empty program that was compiled the same way.
 *
 * @module
 */

import { type Program, ROOT } from "../../helpers/program.ts";
import { tempDir } from "../../helpers/temp_dir.ts";
import { compileNothing } from "../programs.ts";
import type { Figure, Scenario } from "../scenario.ts";
import { ratios, run } from "../stats.ts";

const COMMANDS: readonly { readonly name: string; readonly args: readonly string[] }[] = [
  { name: "svc version", args: ["version"] },
  { name: "svc tool payload-extract", args: ["tool", "payload-extract", "--path", "a.b"] },
  {
    name: "svc tool webhook-verify-hmac",
    args: [
      ...["tool", "webhook-verify-hmac", "--secret", "s", "--body", "b", "--signature"],
      "sha256=83fb94c4c78f5158768e34c50e4b3f8f0d3b3b5d7b2a1a5d4bb8bd9b4b1c1f1a", // does not match
    ],
  },
];
const INPUT = '{"a":{"b":"c"}}';

/** Cold starts. */
export const coldStart: Scenario = {
  name: "cold",
  title: "cold start of short commands, against an empty compiled program",
  async run({ rounds, size, source, compiled, note }) {
    const times = rounds * (size === "quick" ? 2 : 7);
    const sources = await run(times, lanesOf(source));
    const figures = COMMANDS.map(({ name }): Figure => ({
      name: `${name}, sources`,
      unit: "ms",
      samples: sources[name] ?? [],
    }));
    if (compiled === undefined) {
      note("no compiled program here: cold starts of the sources only");
      return figures;
    }
    await using dir = await tempDir();
    const empty: Program = {
      name: "compiled",
      command: await compileNothing(dir.path),
      args: [],
    };
    const found = await run(times, {
      nothing: () => startMs(empty, []),
      ...lanesOf(compiled),
    }) as Record<string, number[]>;
    const nothing = found["nothing"] ?? [];
    return [
      ...figures,
      { name: "an empty compiled program", unit: "ms", samples: nothing },
      ...COMMANDS.flatMap(({ name }): Figure[] => {
        const samples = found[name] ?? [];
        return [
          { name: `${name}, compiled`, unit: "ms", samples },
          {
            name: `${name} ÷ an empty program`,
            unit: "×",
            samples: ratios(samples, nothing),
            ...(name.startsWith("svc tool") ? { target: { atMost: 1.6 } } : {}),
          },
        ];
      }),
    ];
  },
};

function lanesOf(program: Program): Record<string, () => Promise<number>> {
  return Object.fromEntries(
    COMMANDS.map(({ name, args }) => [name, () => startMs(program, args)]),
  );
}

/** Milliseconds from its start to its end. */
async function startMs(program: Program, args: readonly string[]): Promise<number> {
  const start = performance.now();
  const child = new Deno.Command(program.command, {
    args: [...program.args, ...args],
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
