/**
 * Tables in the room there is: what gives way first, and what is never cut.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import stringWidth from "string-width";
import type { TableColumn } from "../../src/api/resource_operations.ts";
import { formatTable, wrapped } from "../../src/cli/table.ts";

const COLUMNS: readonly TableColumn[] = [
  { header: "ID", wide: false, fit: "id" },
  { header: "TRIGGER", wide: false, fit: "name" },
  { header: "WORKFLOW", wide: false, fit: "name", repeats: "TRIGGER" },
  { header: "STATE", wide: false },
  { header: "AGE", wide: false },
  { header: "REASON", wide: false, fit: "text" },
];

const ID = "01M8ABCDEFGHJKMNPQRSTVWXYZ";

function row(name: string, workflow = name, reason = ""): string[] {
  return [ID, name, workflow, "succeeded", "12m", reason];
}

/** The lines of a table. */
async function lines(rows: readonly (readonly string[])[], room?: number): Promise<string[]> {
  return (await formatTable(COLUMNS, rows, room)).trimEnd().split("\n");
}

Deno.test("without a terminal a table is whole, whatever it holds", async () => {
  const long = "x".repeat(300);
  const [, first] = await lines([row("push", "push", long)]);
  deepEqual(first?.split(/ {2,}/), row("push", "push", long));
});

Deno.test("a table with room for all of it is whole", async () => {
  deepEqual(await lines([row("push", "push", "why")], 80), [
    "ID                          TRIGGER  WORKFLOW  STATE      AGE  REASON",
    `${ID}  push     push      succeeded  12m  why`,
  ]);
});

Deno.test("first a column that repeats another goes, then ids show their end", async () => {
  const [header, first] = await lines([row("push", "push", "step a failed")], 70);
  equal(header, "ID                          TRIGGER  STATE      AGE  REASON");
  equal(first, `${ID}  push     succeeded  12m  step a failed`);
  const short = await lines([row("push", "push", "step a failed")], 55);
  equal(short[1], "STVWXYZ".padStart(8, "R") + "  push     succeeded  12m  step a failed");
});

Deno.test("a column that says something of its own stays", async () => {
  const [header] = await lines([row("push"), row("push", "review")], 60);
  ok(header?.includes("WORKFLOW"), header);
});

Deno.test("at 80 columns names stay whole and the reason is cut", async () => {
  const [header, first = ""] = await lines(
    [row("github-pull-request", undefined, "r".repeat(99))],
    80,
  );
  equal(header?.split(/ +/).join(" "), "ID TRIGGER STATE AGE REASON");
  equal(first.length, 80);
  ok(first.startsWith("RSTVWXYZ  github-pull-request  succeeded  12m  rrrr"), first);
  ok(first.endsWith("r…"), first);
});

Deno.test("what says nothing goes first, and what matters least before names get small", async () => {
  const [header] = await lines([row("push", "review"), row("pull", "review")], 60);
  equal(header?.split(/ +/).join(" "), "ID TRIGGER WORKFLOW STATE AGE", "no row has a reason");
  const columns = COLUMNS.map((column) => ({ ...column, secondary: column.header === "AGE" }));
  const rows = [row("github-pull-request", "review-of-strangers", "the signature fits no key")];
  const shown = async (room: number) => {
    const [header = "", first = ""] = (await formatTable(columns, rows, room)).split("\n");
    return [header.split(/ +/).join(" "), first];
  };
  deepEqual((await shown(80))[0], "ID TRIGGER WORKFLOW STATE AGE REASON");
  deepEqual(await shown(66), [
    "ID TRIGGER WORKFLOW STATE REASON",
    "RSTVWXYZ  github…quest  review…ngers  succeeded  the signature f…",
  ]);
});

for (const room of [20, 40, 60, 80, 120]) {
  Deno.test(`no line is wider than ${room} columns, in any script`, async () => {
    const rows = [
      row("日本語のトリガー名前です", "レビュー", "手順「構築」が失敗しました：終了コード 1"),
      row("👩‍👩‍👧‍👦 family", "x", "e\u0301".repeat(80)),
      row("plain", "other", "fine"),
    ];
    for (const line of await lines(rows, room)) ok(stringWidth(line) <= room, line);
  });
}

Deno.test("columns begin under their headings in any script", async () => {
  const [header = "", wide = "", plain = ""] = await lines([row("日本語"), row("push")]);
  const before = (line: string) => stringWidth(line.slice(0, line.indexOf("succeeded")));
  deepEqual([before(wide), before(plain)], [header.indexOf("STATE"), header.indexOf("STATE")]);
});

Deno.test("a cell of several lines, or one that drives a terminal, is one line of text", async () => {
  deepEqual((await lines([row("a\nb\x1b[2J", "w", "\x07x")])).length, 2);
});

Deno.test("a text is broken between words, and a word that is longer stays whole", async () => {
  deepEqual(await wrapped("one two three", 7), ["one two", "three"]);
  deepEqual(await wrapped("one two", 3), ["one", "two"]);
  deepEqual(await wrapped("see /a/long/path now", 5), ["see", "/a/long/path", "now"]);
  deepEqual(await wrapped("三つ 二つ", 5), ["三つ", "二つ"], "columns, not characters");
  deepEqual(await wrapped("", 5), [""]);
});
