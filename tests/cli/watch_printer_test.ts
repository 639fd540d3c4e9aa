/**
 * `svc get --watch`: what is printed of what a watch sees.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { WatchLine } from "../../src/api/resource_operations.ts";
import type { Io } from "../../src/cli/io.ts";
import type { Format } from "../../src/cli/print.ts";
import { WatchPrinter } from "../../src/cli/watch_printer.ts";

const COLUMNS = ["ID", "STATE", "AGE", "REASON"].map((header) => ({
  header,
  wide: header === "REASON",
}));

/** A line of a watch with these tasks: id, state, age, reason. */
function line(...rows: readonly (readonly string[])[]): WatchLine {
  return {
    columns: COLUMNS,
    rows,
    deleted: [],
    names: rows.map(([id]) => `task/${id}`),
    items: rows.map(([id, state]) => ({ id, state })),
  };
}

/** Everything that is printed of these lines. */
async function printed(format: Format, lines: readonly WatchLine[], columns?: number) {
  const text = { out: "", err: "" };
  const io = {
    out: (data: string) => void (text.out += data),
    err: (data: string) => void (text.err += data),
    columns,
  } as unknown as Io;
  const printer = new WatchPrinter(io, format);
  for (const one of lines) await printer.print(one);
  return text;
}

const LINES = [
  line(["A1", "pending", "1s", ""], ["A2", "running", "1s", ""]),
  line(),
  line(["A1", "pending", "3s", ""]),
  line(["A1", "running", "4s", ""], ["A3", "pending", "0s", ""]),
  line(["A2", "failed", "9s", "x\u{1b}[2J"]),
];

Deno.test("svc get -w: headings once, and a row whenever more than its times has changed", async () => {
  const { out } = await printed("table", LINES);
  deepEqual(out.split("\n"), [
    "ID  STATE      AGE",
    "A1  pending    1s",
    "A2  running    1s",
    "A1  running    4s",
    "A3  pending    0s",
    "A2  failed     9s",
    "",
  ]);
});

Deno.test("svc get -w -o wide: every column, and nothing that drives the terminal", async () => {
  const { out } = await printed("wide", LINES);
  equal(out.split("\n")[0], "ID  STATE      AGE  REASON");
  equal(out.split("\n").at(-2), "A2  failed     9s   x [2J");
});

Deno.test("svc get -w: rows are cut where the terminal ends", async () => {
  const { out } = await printed("table", LINES.slice(0, 1), 10);
  deepEqual(out.split("\n").map(({ length }) => length), [10, 10, 10, 0]);
});

Deno.test("svc get -w: columns stay below their headings in any script, from the row that needs it", async () => {
  const { out } = await printed("table", [
    line(["A1", "running", "1s", ""]),
    line(["日本語", "running", "2s", ""], ["é…", "failed", "3s", ""]),
  ]);
  deepEqual(out.trimEnd().split("\n"), [
    "ID  STATE      AGE",
    "A1  running    1s",
    "日本語  running    2s",
    "é…      failed     3s",
  ]);
});

Deno.test("svc get -w: nothing there is no heading, and no word", async () => {
  deepEqual(await printed("table", [line(), line()]), { out: "", err: "" });
});

Deno.test("svc get -w -o json: one object a line, for every change", async () => {
  const { out } = await printed("json", LINES);
  deepEqual(
    out.trimEnd().split("\n").map((text) => JSON.parse(text)["id"]),
    ["A1", "A2", "A1", "A1", "A3", "A2"],
  );
});

Deno.test("svc get -w -o yaml and -o name", async () => {
  const { out } = await printed("yaml", LINES.slice(0, 1));
  equal(out, "---\nid: A1\nstate: pending\n---\nid: A2\nstate: running\n");
  equal((await printed("name", LINES.slice(0, 1))).out, "task/A1\ntask/A2\n");
});

Deno.test("svc get -w: the same name in two projects means two resources, and a deletion is shown", async () => {
  const of = (project: string): WatchLine => ({
    ...line(["a", "ready", "1s", ""]),
    items: [{ metadata: { project } }],
  });
  const { out, err } = await printed("table", [
    of("one"),
    of("two"),
    of("one"),
    { ...line(), deleted: ["workflow/a"] },
  ]);
  equal(out.split("\n").length, 4);
  equal(err, "workflow/a deleted\n");
});
