/**
 * Measures two programs in turn, so that other work on the machine affects both alike. In each
 * round both are started anew and take every measurement one right after the other, first in one
 * order and then in the reverse order. Subjects that are not svc (a bare pipeline, a peer, bare
 * spawns) are measured between them.
 *
 * @module
 */

import type { Program } from "../../tests/helpers/program.ts";
import type { BenchContext, Figure, FigureKind } from "./scenario.ts";

/** A running subject and its measurements by name, in the order of the comparison. */
export interface Subject<L extends string, V> extends AsyncDisposable {
  readonly measurements: Readonly<Partial<Record<L, () => Promise<V>>>>;
}

/**
 * Prepares a server and makes it a subject. The server ends with the subject, or if the preparation
 * fails.
 */
export async function subjectOf<L extends string, V>(
  server: AsyncDisposable,
  measurements: Subject<L, V>["measurements"],
  prepare: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Subject<L, V>> {
  await using starting = new AsyncDisposableStack();
  starting.use(server);
  await prepare();
  const started = starting.move();
  return { measurements, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** The values of a subject in a round, one of each measurement. */
export type Round<L extends string, V> = Readonly<Partial<Record<L, V>>>;

/** A figure made from the values of a round. */
export interface RoundFigure extends FigureKind {
  /** The value; NaN if it cannot be measured here. */
  readonly value: number;
  /** Set if the figure is not about svc, so that the earlier program has none. */
  readonly shared?: boolean;
}

export interface Comparison<L extends string, V> {
  /** The names of the measurements, in order. */
  readonly measurements: readonly L[];
  readonly open: (program: Program) => Promise<Subject<L, V>>;
  /** Starts the subjects that are not svc, by name; `undefined` if one is not installed. */
  readonly beside?: Readonly<Record<string, () => Promise<Subject<L, V> | undefined>>>;
  /** Makes the figures of a program from its own values and those of the other subjects. */
  readonly figures: (
    own: Readonly<Record<L, V>>,
    beside: Readonly<Record<string, Round<L, V> | undefined>>,
  ) => readonly RoundFigure[];
}

/** Measures the program, and the earlier one if there is one. */
export async function compare<L extends string, V>(
  { rounds, program, baseline, note }: BenchContext,
  { measurements, open, beside = {}, figures }: Comparison<L, V>,
): Promise<readonly Figure[]> {
  const now: (readonly RoundFigure[])[] = [];
  const before: (readonly RoundFigure[])[] = [];
  for (let round = 0; round < rounds; round++) {
    note(`round ${round + 1} of ${rounds}`);
    await using opened = new AsyncDisposableStack();
    const subjects = new Map<string, Subject<L, V>>();
    const start = async (name: string, opening: Promise<Subject<L, V> | undefined>) => {
      const subject = await opening;
      if (subject !== undefined) subjects.set(name, opened.use(subject));
    };
    for (const [name, openBeside] of Object.entries(beside)) await start(name, openBeside());
    if (baseline !== undefined) await start(BEFORE, open(baseline));
    await start(NOW, open(program));
    for (const inTurn of [[...subjects], [...subjects].toReversed()]) {
      const found = await measure(measurements, inTurn);
      now.push(figures(found[NOW] as Record<L, V>, found));
      if (baseline !== undefined) before.push(figures(found[BEFORE] as Record<L, V>, found));
    }
  }
  return (now[0] ?? []).map(({ value: _, shared = false, ...kind }, at) => {
    const of = (rows: readonly (readonly RoundFigure[])[]) =>
      rows.map((row) => row[at]?.value ?? NaN);
    const figure = { ...kind, samples: of(now) };
    return shared || baseline === undefined ? figure : { ...figure, before: of(before) };
  });
}

/** Takes each measurement once, of each subject that has it. */
async function measure<L extends string, V>(
  measurements: readonly L[],
  inTurn: readonly (readonly [string, Subject<L, V>])[],
): Promise<Record<string, Round<L, V>>> {
  const found: Record<string, Partial<Record<L, V>>> = {};
  for (const measurement of measurements) {
    for (const [name, subject] of inTurn) {
      const value = await subject.measurements[measurement]?.();
      if (value !== undefined) (found[name] ??= {})[measurement] = value;
    }
  }
  return found;
}

const NOW = "now";
const BEFORE = "before";
