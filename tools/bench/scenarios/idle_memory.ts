/**
 * The memory of an idle daemon after its start, and a minute after a burst. All daemons of the
 * scenario rest in the same minute.
 *
 * @module
 */

import type { TestDaemon } from "../../../tests/helpers/daemon.ts";
import { checked } from "../load.ts";
import { anonymousMb, descriptors, residentMb } from "../machine.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import { keepWorkersBusy, requestTo, startSite } from "../site.ts";

const SETTLE_MS = 3000;
const REST_MS = { quick: 3000, usual: 60_000, long: 60_000 } as const;

/** Memory of an idle daemon. */
export const idleMemory: Scenario = {
  name: "idle",
  title: "memory of an idle daemon, before a burst and a minute after",
  async run(context) {
    const { rounds, program, baseline, size, note } = context;
    await using opened = new AsyncDisposableStack();
    const lives: Life[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const one of baseline === undefined ? [program] : [baseline, program]) {
        const daemon = opened.use(await startSite(one, { args: ["--workers", "1"] }));
        lives.push({ of: one, daemon, at: { idle: NONE, burst: NONE, rested: NONE }, open: NaN });
      }
    }
    await pause(SETTLE_MS);
    for (const life of lives) {
      life.at.idle = await memoryOf(life.daemon.pid);
      life.open = descriptors(life.daemon.pid);
    }
    for (const { daemon, at } of lives) {
      await burst(context, daemon);
      at.burst = await memoryOf(daemon.pid);
    }
    note(`resting for ${REST_MS[size] / 1000} s`);
    await pause(REST_MS[size]);
    for (const { daemon, at } of lives) at.rested = await memoryOf(daemon.pid);
    const of = (one: typeof program | undefined, value: (life: Life) => number) =>
      lives.filter((life) => life.of === one).map(value);
    const figure = (value: (life: Life) => number) => ({
      samples: of(program, value),
      ...(baseline === undefined ? {} : { before: of(baseline, value) }),
    });
    const figures: readonly Figure[] = [
      {
        name: "idle daemon, resident",
        unit: "MB",
        ...figure(({ at }) => at.idle.resident),
        target: { atMost: 90 },
      },
      {
        name: "of it anonymous",
        unit: "MB",
        inDocs: true,
        ...figure(({ at }) => at.idle.anonymous),
      },
      { name: "right after a burst", unit: "MB", ...figure(({ at }) => at.burst.resident) },
      { name: "of it anonymous", unit: "MB", ...figure(({ at }) => at.burst.anonymous) },
      { name: "a minute of rest later", unit: "MB", ...figure(({ at }) => at.rested.resident) },
      {
        name: "of it left by the burst",
        unit: "MB",
        ...figure(({ at }) => at.rested.resident - at.idle.resident),
      },
      {
        name: "of that anonymous",
        unit: "MB",
        ...figure(({ at }) => at.rested.anonymous - at.idle.anonymous),
      },
      { name: "open descriptors, idle", unit: "", ...figure(({ open }) => open) },
    ];
    return figures;
  },
};

/** Memory in MB. */
interface Memory {
  readonly resident: number;
  readonly anonymous: number;
}

const NONE: Memory = { resident: NaN, anonymous: NaN };

async function memoryOf(pid: number): Promise<Memory> {
  return { resident: await residentMb(pid), anonymous: await anonymousMb(pid) };
}

interface Life {
  readonly of: BenchContext["program"];
  readonly daemon: TestDaemon;
  readonly at: Record<"idle" | "burst" | "rested", Memory>;
  open: number;
}

/** Sends requests at full speed; their tasks only queue, so that none runs during the rest. */
async function burst({ load, seconds }: BenchContext, daemon: TestDaemon): Promise<void> {
  await keepWorkersBusy(daemon, 1);
  const shape = { connections: 64, seconds: seconds * 2 };
  checked(await load.run(requestTo(daemon.url, "accept"), shape), "accepted");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
