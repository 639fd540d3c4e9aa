/**
 * The short form of `make soak`: everything at once for a while, with kills, on the compiled
 * program where there is one.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { longTest, ONE_PROGRAM } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { runSoak } from "../../tools/soak/run_soak.ts";

/**
 * A new one every day, so that no lucky order stays unseen, and the same for whoever looks into it.
 */
const SEED = Math.floor(Date.now() / 86_400_000);

longTest(
  `soak: the invariants hold through good, bad, slow and repeated requests, changes of everything, and kills; seed ${SEED}`,
  async () => {
    const said: string[] = [];
    const { faults, moreFaults, totals, counts } = await runSoak({
      program: ONE_PROGRAM,
      seed: SEED,
      say: (text) => void said.push(text),
      stormSecs: 20,
      steadySecs: 3,
      killEverySecs: 4,
      crowd: 12,
    });
    deepEqual([faults, moreFaults], [[], 0], JSON.stringify({ said, counts }));
    ok((totals["tasks"] ?? 0) > 10, JSON.stringify(totals));
    ok((totals["runs of plugins"] ?? 0) > 0, JSON.stringify(totals));
  },
  { skip: missing("git") },
);
