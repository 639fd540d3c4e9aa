/**
 * The ledger of steps, line by line: the steps that ran, the steps that ran beside them, and how
 * often.
 *
 * @module
 */

export interface LedgerLine {
  /** `start`, `end`, or a fault that a step found: `twin`, `overlap`. */
  readonly what: string;
  readonly task: string;
  readonly step: string;
  readonly attempt: number;
  readonly pid: number;
  readonly trigger: string;
  readonly key: string;
}

export async function readLedger(path: string): Promise<LedgerLine[]> {
  const text = await Deno.readTextFile(path);
  return text.split("\n").filter((line) => line !== "").map((line) => {
    const [what = "", task = "", step = "", attempt, pid, trigger = "", key = ""] = line.split(" ");
    return { what, task, step, attempt: Number(attempt), pid: Number(pid), trigger, key };
  });
}

/** Steps that began while another run of the step, or another task of the group, had processes. */
export function findMeetings(lines: readonly LedgerLine[]): LedgerLine[] {
  return lines.filter(({ what }) => what === "twin" || what === "overlap");
}

/** Tasks of these triggers that wrote between two lines of another task of their group. */
export function findInterleaved(
  lines: readonly LedgerLine[],
  triggers: readonly string[],
): string[] {
  const last = new Map<string, string>();
  const seen = new Set<string>();
  const found = new Set<string>();
  for (const { trigger, key, task } of lines) {
    const group = `${trigger} ${key}`;
    if (!triggers.includes(trigger) || last.get(group) === task) continue;
    if (seen.has(task)) found.add(`${group} ${task}`);
    last.set(group, task);
    seen.add(task);
  }
  return [...found];
}

/** The number of starts of each attempt of a step. */
export function countStarts(lines: readonly LedgerLine[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) {
    if (line.what !== "start") continue;
    const name = tryName(line.task, line.step, line.attempt);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** The attempts that reached their end. */
export function findEnds(lines: readonly LedgerLine[]): Set<string> {
  const ends = lines.filter(({ what }) => what === "end");
  return new Set(ends.map(({ task, step, attempt }) => tryName(task, step, attempt)));
}

/** The name of an attempt of a step. */
export function tryName(task: string, step: string, attempt: number): string {
  return `${task} ${step} ${attempt}`;
}
