/**
 * Added lines that read in another order than they run.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { findReversedLines } from "../../src/outputs/reversed_lines.ts";

const RLO = "\u202e";
const PATCH = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,4 @@
 one ${RLO}
-two ${RLO}
+two
+++ b/other ${RLO}
 three
@@ -10 +11 @@ ${RLO}
-ten
+ten ${RLO}
\\ No newline at end of file
diff --git "a/\\303\\244" "b/\\303\\244"
new file mode 100644
--- /dev/null
+++ "b/\\303\\244"
@@ -0,0 +1,2 @@
+x
+y \u2066
`;

Deno.test("only added lines count, also one that looks like a header", () => {
  deepEqual(findReversedLines(PATCH, 10), [
    { path: "src/a.ts", line: 3 },
    { path: "src/a.ts", line: 11 },
    { path: "\\303\\244", line: 2 },
  ]);
});

Deno.test("no more lines are named than asked for", () => {
  deepEqual(findReversedLines(PATCH, 1), [{ path: "src/a.ts", line: 3 }]);
});

Deno.test("a patch without marks of direction has none", () => {
  deepEqual(findReversedLines(PATCH.replaceAll(/[\u202e\u2066]/g, "é\u200e"), 10), []);
});
