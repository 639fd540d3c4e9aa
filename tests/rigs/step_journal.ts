/**
 * A file to which the steps of a test write a line ten times a second, on any daemon. It shows
 * which daemon ran a task when, and whether two ran it at once.
 *
 * @module
 */

import { type Manifest, trigger, workflow } from "../helpers/manifests.ts";
import { findFile, processRuns } from "../helpers/until.ts";

/** One run of a step. */
export interface StepRun {
  readonly taskId: string;
  /** The data directory of the daemon that ran it. */
  readonly dataDir: string;
  readonly pid: number;
  /** Times of its first and last line, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** Whether it wrote its last line. */
  readonly isDone: boolean;
}

/** A file in which steps write. */
export class StepJournal {
  readonly #path: string;

  /** The file need not exist yet. */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * A trigger `beat`, unsigned unless `webhook` says otherwise; its step beats for so many seconds.
   */
  manifests(
    seconds: number,
    webhook: Record<string, unknown> = { allowUnsigned: true },
  ): readonly Manifest[] {
    const line = (what: string) =>
      `echo "${what} $SVC_TASK_ID $SVC_DATA_DIR $$ $(date +%s%3N)" >> "${this.#path}"`;
    const beats = `for beat in $(seq ${seconds * 10}); do sleep 0.1; ${line("beat")}; done`;
    return [
      workflow("beat", `${line("beat")}\n${beats}\n${line("done")}`),
      trigger("beat", { workflow: "beat", webhook }),
    ];
  }

  /** Every run so far, in the order in which they began. */
  async runs(): Promise<readonly StepRun[]> {
    const text = await findFile(this.#path) ?? "";
    const runs = new Map<string, StepRun>();
    for (const line of text.split("\n").slice(0, -1)) {
      const [what, taskId = "", dataDir = "", pid = "", at = ""] = line.split(" ");
      const key = `${dataDir} ${pid} ${taskId}`;
      const { from = Number(at) } = runs.get(key) ?? {};
      const [to, isDone] = [Number(at), what === "done"];
      runs.set(key, { taskId, dataDir, pid: Number(pid), from, to, isDone });
    }
    return [...runs.values()];
  }

  /** The runs of one daemon. */
  async runsOf({ dataDir }: { readonly dataDir: string }): Promise<readonly StepRun[]> {
    return (await this.runs()).filter((run) => run.dataDir === dataDir);
  }

  /** Pairs of runs of one task that overlap in time. */
  async overlaps(): Promise<readonly (readonly [StepRun, StepRun])[]> {
    return repeated(await this.runs()).filter(([run, next]) => next.from <= run.to);
  }
}

/** Runs of a task that were followed by another, each with that one. */
export function repeated(
  runs: readonly StepRun[],
): readonly (readonly [run: StepRun, next: StepRun])[] {
  return [...Map.groupBy(runs, ({ taskId }) => taskId).values()].flatMap((ofTask) =>
    ofTask.slice(1).map((next, index) => [ofTask[index] ?? next, next] as const)
  );
}

/** The runs whose process is alive. */
export async function alive(runs: readonly StepRun[]): Promise<readonly StepRun[]> {
  const found = await Promise.all(runs.map(({ pid }) => processRuns(pid)));
  return runs.filter((_, index) => found[index]);
}
