/**
 * This daemon among those over the same database: it tells them about itself, and takes in what they
 * have stored of which this one holds a copy elsewhere: the catalog in memory.
 *
 * @module
 */

import { sha256Hex } from "../base/bytes.ts";
import type { DataDir } from "../base/data_dir.ts";
import { messageOf } from "../base/errors.ts";
import { readRegularFile } from "../base/regular_file.ts";
import { SerialRunner } from "../base/serial_runner.ts";
import { VERSION } from "../base/version.ts";
import { policyPath } from "../plugins/policy/policy_file.ts";
import type { SettingValues } from "./settings.ts";
import type { State } from "./state.ts";

/**
 * How often this daemon looks for changed resources itself: the daemon that has changed them may have
 * died before it announced that. It is shorter than the time that a change waits until all daemons
 * decide by it.
 */
const LOOK_INTERVAL_MS = 4000;

/** Takes in what the other daemons store, until it is disposed. */
export function followOtherDaemons(
  { events, clock, log, health, resources }: State,
): AsyncDisposable {
  const following = new AsyncDisposableStack();
  const refresh = following.use(
    new SerialRunner({
      async run() {
        await resources.refresh();
        health.clear("resources");
        return clock.now() + LOOK_INTERVAL_MS;
      },
      onError(error) {
        log.warn("resources that other daemons applied could not be read, trying again", { error });
        health.set(
          "resources",
          `resources that other nodes have stored could not be read: ${messageOf(error)}`,
        );
      },
      clock,
    }),
  );
  refresh.kick();
  following.use(events.on("resourcesStored", () => refresh.kick()));
  return following;
}

/** Time between two reports; a report that says nothing new is not stored. */
const REPORT_INTERVAL_MS = 10_000;

/**
 * Tells the other daemons the version, the plugin policy, the workers, the labels and the faults of
 * this one, until it is disposed; does nothing if no other daemon shares the database. `faults` gives
 * one sentence for each fault.
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
        return clock.now() + REPORT_INTERVAL_MS;
      },
      onError: () => {}, // the database is away; the next report says everything
      clock,
    }),
  );
  report.kick();
  return reporting;
}

/** Digest of the policy file; empty if there is none, or it cannot be read, which is a fault. */
function policyDigest(dirs: DataDir): string {
  try {
    return sha256Hex(readRegularFile(policyPath(dirs))).slice(0, 16);
  } catch {
    return "";
  }
}
