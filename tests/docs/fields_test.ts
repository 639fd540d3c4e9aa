/**
 * Every field in a table of fields is one of a kind, and every setting in a table of settings is there.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { SETTINGS } from "../../src/daemon/settings.ts";
import { KINDS } from "../../src/resources/kinds.ts";
import { documentSchema } from "../../src/resources/read.ts";
import { place, USER_PAGES } from "./pages.ts";

/** The part of a JSON Schema that is walked. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema | readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

/** Paths of all fields, `.a.b`; any name where a map has its own. */
const PATHS: readonly string[] = [
  ...new Set(KINDS.flatMap((kind) => pathsIn(documentSchema(kind) as Schema, "", 0))),
];

function pathsIn(schema: Schema, path: string, depth: number): string[] {
  if (depth > 12) return [];
  const { properties = {}, items = [], patternProperties = {}, additionalProperties } = schema;
  const more = typeof additionalProperties === "object" ? [additionalProperties] : [];
  return [
    ...Object.entries(properties).flatMap(([name, of]) => [
      `${path}.${name}`,
      ...pathsIn(of, `${path}.${name}`, depth + 1),
    ]),
    ...[...Object.values(patternProperties), ...more].flatMap((of) => [
      `${path}.*`,
      ...pathsIn(of, `${path}.*`, depth + 1),
    ]),
    ...[items, schema.anyOf ?? [], schema.oneOf ?? [], schema.allOf ?? []].flat()
      .flatMap((of) => pathsIn(of, path, depth + 1)),
  ];
}

/** Code in the first cell of each row of the tables with this heading. */
function firstCells(text: string, heading: RegExp): { line: number; code: string }[] {
  let isIn = false;
  return text.split("\n").flatMap((row, at) => {
    if (!row.startsWith("|")) isIn = false;
    else if (heading.test(row)) isIn = true;
    const [, cell = ""] = isIn ? row.split(/(?<!\\)\|/) : [];
    return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => ({ line: at + 1, code }));
  });
}

function isField(code: string): boolean {
  const path = code.replace(/\[\]|\[N\]/g, "").replace(/:.*$/, "").replace(/^\./, "");
  if (!/^[a-zA-Z]\w*(\.[\w*]+)*$/.test(path)) return true; // a value, or several fields
  return PATHS.some((known) => known.endsWith(`.${path}`));
}

Deno.test("every field in a table of fields is one of a kind", () => {
  const cells = USER_PAGES.flatMap((page) =>
    firstCells(page.text, /^\| *field( of [a-z ]+)? *\|/).map((cell) => ({ page, cell }))
  );
  ok(cells.length > 30, `${cells.length} fields`);
  const wrong = cells.filter(({ cell }) => !isField(cell.code))
    .map(({ page, cell }) => `${place(page, cell.line)}: no kind has ${cell.code}`);
  deepEqual(wrong, []);
});

Deno.test("every setting in a table of settings is one of the daemon's", () => {
  const known = new Set(SETTINGS.map(({ name }) => name));
  const wrong = USER_PAGES.flatMap((page) =>
    firstCells(page.text, /^\| *setting *\| *[df]/)
      .map(({ line, code }) => ({ line, name: code.replace(/^--/, "").replace(/[: =].*$/, "") }))
      .filter(({ name }) => /^[a-z]+(-[a-z]+)*$/.test(name) && !known.has(name))
      .map(({ line, name }) => `${place(page, line)}: there is no setting ${name}`)
  );
  deepEqual(wrong, []);
});

Deno.test("the check of fields knows what is wrong", () => {
  for (const field of ["event.webhook.endpoint", "spec.event", "concurrency.policy"]) {
    ok(isField(field), field);
  }
  for (const field of ["event.webhook.endpoints", "concurency", "spec.nothing"]) {
    ok(!isField(field), field);
  }
});
