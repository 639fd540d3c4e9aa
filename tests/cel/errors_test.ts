/**
 * The texts and fields of the library's errors that `src/cel/errors.ts` relies on: a version of the
 * library that changes one of them fails here.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { celEnv, isCelError, parse, plan } from "@bufbuild/cel";
import { compileExpression } from "../../src/cel/expression.ts";
import { NO_FIELD, NO_INDEX, UNRESOLVED } from "../../src/cel/errors.ts";

/** What the library itself makes of an expression over `{ payload: {}, list: [] }`. */
function libraryError(source: string): string {
  const variables = { payload: new Map(), list: [] };
  const result = plan(celEnv(), parse(source))(variables);
  return isCelError(result) ? result.message : "no error";
}

Deno.test("the library's errors at run time have the texts that errors.ts knows", () => {
  equal(libraryError("nosuch"), UNRESOLVED);
  equal(libraryError("nosuch.field == 1"), UNRESOLVED);
  equal(libraryError("payload.nosuch"), `${NO_FIELD}nosuch`);
  equal(libraryError('payload["no such"]'), `${NO_FIELD}no such`);
  match(libraryError("list[7]"), NO_INDEX);
});

interface ParserStop {
  readonly location: { readonly start: { readonly offset: number } };
  readonly expected?: readonly { readonly type: string; readonly value: string }[];
}

/** The error of the library's parser. */
function parserStop(source: string): ParserStop {
  try {
    parse(source);
  } catch (error) {
    ok(error instanceof Error && "location" in error, `no location: ${error}`);
    return error as Error & ParserStop;
  }
  throw new Error(`${source} parses`);
}

Deno.test("the library's parser says where it stopped, and what it expected there", () => {
  const stops = ["a\n b", "a.", "(a"].map((source) => {
    const { location, expected = [] } = parserStop(source);
    return [location.start.offset, [...new Set(expected.map(({ type, value }) => type + value))]];
  });
  deepEqual(stops, [
    [3, ["endend of input"]],
    [1, ["endend of input"]],
    [2, ["literal)"]],
  ]);
});

Deno.test("the library's parser expects nothing at a reserved word, and something everywhere else", () => {
  for (const source of ["if", "a.in", "a == while"]) equal(parserStop(source).expected, undefined);
  for (const source of ["", "a b", "a ==", "'a", "[", "a ? b"]) {
    ok((parserStop(source).expected ?? []).length > 0, source);
  }
});

Deno.test("a selection that cannot be optional is refused at its place", () => {
  const message = '"?." selects a field and is not allowed here';
  for (
    const [source, place] of [["a?.b()", "column 3"], [
      "a &&\n b?.c()",
      "line 2, column 4",
    ]] as const
  ) {
    throws(() => compileExpression(source), {
      message: `Does not compile at ${place}: ${message}`,
    });
  }
});
