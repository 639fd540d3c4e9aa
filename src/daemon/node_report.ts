/**
 * Tells the other daemons over the same database what this one is like: its version, the digest of
 * its plugin policy, how many tasks it runs at once, its labels, and what does not work here.
 *
 * @module
 */

import { sha256Hex } from "../base/bytes.ts";
import type { DataDir } from "../base/data_dir.ts";
import { readRegularFile } from "../base/regular_file.ts";
import { SerialRunner } from "../base/serial_runner.ts";
import { VERSION } from "../base/version.ts";
import { policyPath } from "../plugins/policy/policy_file.ts";
import type { SettingValues } from "./settings.ts";
import type { State } from "./state.ts";

/** Time between two reports; only what is new is stored. */
const INTERVAL_MS = 10_000;

/**
 * Reports until it is disposed; never where no other daemon shares the database. `faults` gives what
 * does not work here, one sentence each.
 */
export function reportToOthers(
  { clock, dirs, shared, store }: State,
  faults: () => Promise<readonly string[]>,
  { workers, nodeLabels: labels }: SettingValues,
): AsyncDisposable {
  const reporting = new AsyncDisposableStack();
  if (shared === undefined) return reporting;
  const report = reporting.use(
    new SerialRunner({
      async run() {
        const policy = policyDigest(dirs);
        const own = { version: VERSION, policy, faults: await faults() };
        await store.reportNode({ ...own, workers, labels });
        return clock.now() + INTERVAL_MS;
      },
      onError: () => {}, // the database is away: once it is back, this is said
      clock,
    }),
  );
  report.kick();
  return reporting;
}

/** Of the bytes of the file; empty where there is none, or it cannot be read, which is a fault. */
function policyDigest(dirs: DataDir): string {
  try {
    return sha256Hex(readRegularFile(policyPath(dirs))).slice(0, 16);
  } catch {
    return "";
  }
}
