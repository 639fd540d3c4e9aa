/**
 * The text that is edited, and the comments above it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { sameText, withErrors, withHint, withoutComments } from "../../src/cli/edited_text.ts";

const TEXT = "kind: Workflow\nspec:\n  # mine\n  run: |\n    # of the script\n    make\n";

Deno.test("only the comments at the top are left out", () => {
  equal(withoutComments(withHint(TEXT, ["One.", "", "Two."])), TEXT);
  equal(withHint(TEXT, ["One.", ""]), `# One.\n#\n${TEXT}`);
  equal(withoutComments(TEXT), TEXT);
  for (const empty of ["", "# a", "# a\n", "#\n# b\n"]) equal(withoutComments(empty), "");
});

Deno.test("errors stand above the text, and name the lines as they are then", () => {
  const error = {
    message: "Nothing was applied: 2 errors",
    details: ["workflow.yaml:4:3: spec.run: a line\nof 12:3: parts", "no place: 5:6"],
  };
  const shown = withErrors({ text: TEXT, error }, ["Hint."]).split("\n");
  deepEqual(shown.slice(0, 5), [
    "# Nothing was applied: 2 errors",
    "#   workflow.yaml:9:3: spec.run: a line of 12:3: parts",
    "#   no place: 5:6",
    "#",
    "# Hint.",
  ]);
  equal(shown[9 - 1], "  run: |");
  equal(withoutComments(shown.join("\n")), TEXT);
});

Deno.test("white space at the end is no change", () => {
  deepEqual([sameText(TEXT, TEXT.trim()), sameText(TEXT, `${TEXT}x`)], [true, false]);
});
