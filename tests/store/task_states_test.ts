/**
 * Where states of tasks are listed: the compiler checks that no state is misspelt, and not that none is
 * left out. So each place asks `isUnfinished`, or `UNFINISHED` in SQL.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { join, relative } from "node:path";
import { isUnfinished, TASK_STATES } from "../../src/store/task_records.ts";
import { ENDED_STATES } from "../../src/store/sql/tasks.ts";
import { UNFINISHED } from "../../src/store/sql/readiness.ts";
import { ROOT } from "../helpers/program.ts";

/** A list of states, in TypeScript or in SQL, that has the first two and not the third. */
const INCOMPLETE = [
  /'pending', 'running'(?!, 'waiting')/,
  /"pending", "running"(?!,\s+"waiting"|, "succeeded")/,
  /[=!]== "pending" (\|\||&&) [\w.?]+ [=!]== "running"(?! (\|\||&&) [\w.?]+ [=!]== "waiting")/,
];

/** What the schema was, and the one condition that says which waiting tasks have room. */
const MEANT = [/(^|\/)migrations(_0_2)?\.ts$/, /^src\/store\/sql\/readiness\.ts$/];

function* sources(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* sources(path);
    else if (/\.tsx?$/.test(name)) yield path;
  }
}

Deno.test("no list of the states of open tasks leaves one out", () => {
  const found: string[] = [];
  let looked = 0;
  for (const folder of ["src", "console/page"]) {
    for (const path of sources(join(ROOT, folder))) {
      const name = relative(ROOT, path);
      looked++;
      if (MEANT.some((one) => one.test(name))) continue;
      const text = Deno.readTextFileSync(path);
      for (const [index, line] of text.split("\n").entries()) {
        if (INCOMPLETE.some((one) => one.test(line))) {
          found.push(`${name}:${index + 1}: ${line.trim()}`);
        }
      }
    }
  }
  ok(looked > 500, `${looked} files`);
  deepEqual(found, []);
});

Deno.test("a state is that of an open task, or of one that has ended", () => {
  for (const state of TASK_STATES) {
    deepEqual(isUnfinished(state), !ENDED_STATES.includes(state), state);
    deepEqual(UNFINISHED.includes(`'${state}'`), isUnfinished(state), state);
  }
});
