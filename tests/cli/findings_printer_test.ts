/**
 * Findings as people see them: results in colour on a terminal alone, and what takes long named
 * meanwhile.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { DoctorLine } from "../../src/api/doctor_operations.ts";
import { FindingsPrinter } from "../../src/cli/findings_printer.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { screen } from "../rigs/screen.ts";

const FOUND: readonly DoctorLine[] = [
  { begins: "disk" },
  { finding: { check: "disk", result: "ok", message: "1 GiB" } },
  { finding: { check: "key", result: "warning", message: "new" } },
  {
    finding: {
      check: "ports",
      result: "failed",
      message: "127.0.0.1:80 is taken by process 7 (\x1b[2J): stop that",
    },
  },
];

async function* linesOf(lines: readonly DoctorLine[]): AsyncGenerator<DoctorLine> {
  await Promise.resolve();
  yield* lines;
}

Deno.test("findings are lines of at most the columns there are, without colours in a file", async () => {
  const { io, text } = screen(false, { columns: 40 });
  using printer = new FindingsPrinter(io, false, new ManualClock());
  await printer.take(linesOf(FOUND));
  equal(
    text.out,
    `ok       disk: 1 GiB
warning  key: new
failed   ports: 127.0.0.1:80 is taken by
         process 7 ( [2J): stop that
`,
  );
  deepEqual(["ok", "warning", "failed"].map((one) => printer.howMany(one as "ok")), [1, 1, 1]);
});

Deno.test("results are coloured on a terminal, unless NO_COLOR says otherwise", async () => {
  for (const plain of ["", "1"]) {
    const { io, text } = screen(true, { env: (name) => name === "NO_COLOR" ? plain : undefined });
    using printer = new FindingsPrinter(io, false, new ManualClock());
    await printer.take(linesOf(FOUND));
    equal(text.out.startsWith("\x1b[32mok\x1b[0m       disk: 1 GiB\n"), plain === "", text.out);
    equal(text.out.includes("\x1b"), plain === "");
  }
});

Deno.test("a check that takes more than a second is named on a terminal until it is over", async () => {
  const clock = new ManualClock();
  const { io, text } = screen(true);
  const over = Promise.withResolvers<void>();
  async function* slow(): AsyncGenerator<DoctorLine> {
    yield { begins: "quick" };
    yield { begins: "database" };
    await over.promise;
    yield { finding: { check: "database", result: "ok", message: "sound" } };
  }
  using printer = new FindingsPrinter(io, false, clock);
  const taking = printer.take(slow());
  await clock.advance(999);
  equal(text.err, "");
  await clock.advance(1);
  equal(text.err, "looking at: database …");
  over.resolve();
  await taking;
  equal(text.err, "looking at: database …\r\x1b[K");
});

Deno.test("nothing is printed where all is wanted at the end", async () => {
  const { io, text } = screen(false);
  using printer = new FindingsPrinter(io, true, new ManualClock());
  await printer.take(linesOf(FOUND));
  deepEqual([text.out, text.err, printer.found.length], ["", "", 3]);
});
