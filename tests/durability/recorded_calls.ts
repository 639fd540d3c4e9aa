/**
 * What strace has recorded, as system calls that begin and end.
 *
 * @module
 */

/** One system call. */
export interface Call {
  /** Thread that made it. */
  readonly thread: number;
  readonly name: string;
  /** Its arguments as strace shows them. */
  readonly args: string;
  /** Number of the line where it begins, and of that where it is over, from 1. */
  readonly begins: number;
  readonly ends: number;
  /** Its result, negative where it failed. */
  readonly result: number;
}

const BEGUN = /^(\d+) +([a-z0-9_]+)\((.*) <unfinished \.\.\.>$/s;
const RESUMED = /^(\d+) +<\.\.\. ([a-z0-9_]+) resumed>(.*)\) += (-?\d+|\?)/s;
const WHOLE = /^(\d+) +([a-z0-9_]+)\((.*)\) += (-?\d+|\?)/s;

/** The calls in the output of `strace -f`, in the order in which they begin. */
export function parseCalls(text: string): readonly Call[] {
  const calls: Call[] = [];
  const open = new Map<string, { readonly args: string; readonly begins: number }>();
  for (const [at, line] of text.split("\n").entries()) {
    const number = at + 1;
    const begun = BEGUN.exec(line);
    if (begun !== null) {
      const [, thread = "", name = "", args = ""] = begun;
      open.set(`${thread} ${name}`, { args, begins: number });
      continue;
    }
    const over = RESUMED.exec(line) ?? WHOLE.exec(line);
    if (over === null) continue;
    const [, thread = "", name = "", rest = "", result = ""] = over;
    const start = open.get(`${thread} ${name}`) ?? { args: "", begins: number };
    open.delete(`${thread} ${name}`);
    calls.push({
      thread: Number(thread),
      name,
      args: start.args + rest,
      begins: start.begins,
      ends: number,
      result: result === "?" ? -1 : Number(result),
    });
  }
  return calls.toSorted((one, other) => one.begins - other.begins);
}

/** The descriptor of a call, and what it leads to. */
const TARGET = /^\d+<((?:->|[^<>])*)>/;

/** What the descriptor of a call leads to: a path, or the two ends of a connection. */
export function targetOf({ args }: Call): string {
  return TARGET.exec(args)?.[1] ?? "";
}

/** The texts in quotes among the arguments of a call: its paths, or its data. */
export function textsOf({ args }: Call): readonly string[] {
  return [...args.replace(TARGET, "").matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) =>
    text
  );
}
