/**
 * What a daemon takes that has nothing to do.
 *
 * @module
 */

import { descriptors, residentMb } from "../machine.ts";
import type { Scenario } from "../scenario.ts";
import { startSite } from "../site.ts";
import { run } from "../stats.ts";

const SETTLE_MS = 3000;

/** Memory of an idle daemon. */
export const idleMemory: Scenario = {
  name: "idle",
  title: "memory of an idle daemon, and how long it takes to start",
  async run({ rounds, program }) {
    const { runs } = await run(rounds, {
      async runs() {
        const start = performance.now();
        await using daemon = await startSite(program);
        const readyMs = performance.now() - start;
        await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
        return { readyMs, mb: await residentMb(daemon.pid), open: descriptors(daemon.pid) };
      },
    });
    return [
      {
        name: "idle daemon, resident",
        unit: "MB",
        target: { atMost: 120 },
        samples: runs.map(({ mb }) => mb),
      },
      { name: "open descriptors", unit: "", samples: runs.map(({ open }) => open) },
      { name: "init, start and first apply", unit: "ms", samples: runs.map((run) => run.readyMs) },
    ];
  },
};
