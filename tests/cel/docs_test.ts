/**
 * docs/expressions.md: every example in its tables gives the value beside it, and its tables name
 * exactly the functions and variables that exist.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { join } from "node:path";
import { isJsonObject, parseJson, toJson } from "../../src/base/json.ts";
import { compileExpression, scopeOf } from "../../src/cel/expression.ts";
import { findFaults, FUNCTIONS } from "../../src/cel/names.ts";
import { WORKFLOW_VARIABLES } from "../../src/cel/template.ts";
import { ROOT } from "../helpers/program.ts";
import { ITEM_VARIABLES } from "../../src/resources/child_workflow.ts";

const PAGE = Deno.readTextFileSync(join(ROOT, "docs/expressions.md"));

/** The cells of every row of a section's tables; a bar in a cell is written `\|`. */
function rowsOf(title: string): string[][] {
  const section = PAGE.split(/^## /m).find((one) => one.startsWith(`${title}\n`)) ?? "";
  return section.split("\n").filter((line) => line.startsWith("|") && !line.startsWith("|--"))
    .slice(1)
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
}

/** What stands between backquotes in a cell. */
function codesIn(cell: string | undefined): string[] {
  return [...(cell ?? "").matchAll(/`([^`]+)`/g)].map(([, code = ""]) =>
    code.replaceAll("\\|", "|")
  );
}

const SECTIONS = ["Missing fields", "Loops", "Texts", "Times", "Types"];
const payload = parseJson(/```json\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? "");

for (const section of ["Operators", ...SECTIONS]) {
  for (const row of rowsOf(section)) {
    const [example = "", value = ""] = row.slice(-2).map((cell) => codesIn(cell)[0] ?? "");
    Deno.test(`docs/expressions.md, ${section}: ${example} gives ${value}`, () => {
      ok(isJsonObject(payload));
      deepEqual(findFaults(example, WORKFLOW_VARIABLES), []);
      const result = compileExpression(example).run(scopeOf({ payload }));
      deepEqual(result.ok ? toJson(result.value) : result.error, toJson(parseJson(value)));
    });
  }
}

Deno.test("docs/expressions.md names every function there is, and no others", () => {
  const named = SECTIONS.flatMap(rowsOf).flatMap(([name]) => codesIn(name));
  deepEqual(named.filter((name) => name !== "?.").toSorted(), [...FUNCTIONS]);
});

Deno.test("docs/expressions.md names every variable there is, and no others", () => {
  const named = rowsOf("Variables").flatMap(([name]) => codesIn(name));
  deepEqual(
    named.toSorted(),
    [...WORKFLOW_VARIABLES, ...ITEM_VARIABLES, "payload_<field>"].toSorted(),
  );
});
