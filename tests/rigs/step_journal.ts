/**
 * What the steps of a test write down while they run, wherever they do: one line for each beat of
 * each process. It shows which daemon ran a task when, and whether two ever did at once.
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
  /** When it wrote its first and its last line, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** Whether it came to its end. */
  readonly isDone: boolean;
}

/** A file in which steps write. */
export class StepJournal {
  readonly #path: string;

  /** The file need not exist yet. */
  constructor(path: string) {
    this.#path = path;
  }

  /** A trigger `beat`, which anybody may call unless it says otherwise: its one step beats so long. */
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

  /** Pairs of runs of one task that were there at the same time. */
  async overlaps(): Promise<readonly (readonly [StepRun, StepRun])[]> {
    return repeated(await this.runs()).filter(([run, next]) => next.from <= run.to);
  }
}

/** Runs of a task after which it ran again, each with the next one. */
export function repeated(
  runs: readonly StepRun[],
): readonly (readonly [run: StepRun, next: StepRun])[] {
  return [...Map.groupBy(runs, ({ taskId }) => taskId).values()].flatMap((ofTask) =>
    ofTask.slice(1).map((next, index) => [ofTask[index] ?? next, next] as const)
  );
}

/** Those of the runs whose process is there. */
export async function alive(runs: readonly StepRun[]): Promise<readonly StepRun[]> {
  const found = await Promise.all(runs.map(({ pid }) => processRuns(pid)));
  return runs.filter((_, index) => found[index]);
}
