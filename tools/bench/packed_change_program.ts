/**
 * A program that opens packs as the daemon does, alone in its process, and prints as JSON what that took.
 * Arguments: a directory, whose `change.json` names packs and what to do; standard input is not read.
 *
 * @module
 */

import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import type { PackedChange } from "../../src/git/change.ts";
import { openPackedChange } from "../../src/git/packed_change.ts";
import { pushRef } from "../../src/git/smart_http.ts";

/** What the program is told in `change.json`. */
export interface PackedChangeJob {
  readonly bomb: PackedChange;
  readonly large: PackedChange;
  /** Where the large change is pushed to, and the id that its branch has. */
  readonly url: string;
  readonly authorization: string;
  readonly parent: string;
}

/** What it prints. */
export interface PackedChangeTimes {
  /** Peak of memory above what the process had before, in bytes. */
  readonly bombBytes: number;
  readonly largeBytes: number;
  readonly pushMs: number;
}

const [dir = ""] = Deno.args;
const job: PackedChangeJob = JSON.parse(await Deno.readTextFile(join(dir, "change.json")));
const host = {
  dir,
  path: Deno.env.get("PATH") ?? "",
  clock: systemClock,
  signal: new AbortController().signal,
};

// The first use of a process and of a connection loads code that the daemon has long had.
await openPackedChange({ ...job.bomb, tree: "0".repeat(40) }, host).catch(() => {});

const bombBytes = await peakOf(async () => {
  const error = await openPackedChange(job.bomb, host).catch((error) => error);
  if (!(error instanceof AppError) || error.code !== "too_large") throw error;
});
let pushMs = 0;
const largeBytes = await peakOf(async () => {
  await using change = await openPackedChange(job.large, host);
  for (const { blob } of change.files) await change.readBlob(blob);
  await change.patch();
  const author = { name: "svc", email: "svc@example.com" };
  const made = { parent: job.parent, author, at: 0, message: "Change" };
  const commit = await change.commit(made);
  const { url, authorization } = job;
  const start = performance.now();
  const pushed = await pushRef(
    { url, authorization, needs: "", signal: host.signal },
    { ref: "refs/heads/svc/bench", old: "0".repeat(40), new: commit, pack: change.pack(commit) },
    systemClock,
  );
  pushMs = performance.now() - start;
  if (pushed.result !== "done") throw new Error(pushed.reason);
});
const times: PackedChangeTimes = { bombBytes, largeBytes, pushMs };
console.log(JSON.stringify(times));

/** How far the memory of this process rises above where it was. */
async function peakOf(work: () => Promise<void>): Promise<number> {
  const status = () => Deno.readTextFileSync("/proc/self/status");
  const bytes = (name: string) =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status())?.[1]);
  Deno.writeTextFileSync("/proc/self/clear_refs", "5"); // the peak begins here
  const before = bytes("VmRSS");
  await work();
  return bytes("VmHWM") - before;
}
