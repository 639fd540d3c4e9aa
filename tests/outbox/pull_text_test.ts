/**
 * Texts of pull requests and commits: a stranger's words have no effect in them.
 *
 * @module
 */

import { doesNotMatch, match, ok, strictEqual as equal } from "node:assert/strict";
import { bodyOf, coAuthor, commitMessage, titleOf } from "../../src/outbox/pull_text.ts";

const WORK = { taskId: "01JZZZZZZZZZZZZZZZZZ000001", workflow: "fix", asker: "mona" };
const MARKER = `<!-- svc pull ${"x".repeat(600)} -->`;

/** Words that close an issue, as https://docs.github.com lists them. */
const CLOSING =
  /\b(close[sd]?|fix(es|ed)?|resolve[sd]?):?\s+(#|gh-|https?:|[\w.-]+\/[\w.-]+#)\d*/gi;

Deno.test("a pull request closes the issue of its event, and no other", () => {
  const text = [
    "Fixes #1, closes: #2",
    "resolved  acme/other#3",
    "Fixed https://github.com/acme/site/issues/4 and close GH-5",
    "```\nfixes #6\n```",
    "fixes\n#7",
  ].join("\n");
  const body = bodyOf({ text, fixes: 42, work: WORK, notes: [], marker: MARKER });
  equal([...body.matchAll(CLOSING)].map(([found]) => found).join(), "Fixes #42");
  doesNotMatch(bodyOf({ text, work: WORK, notes: [], marker: MARKER }), CLOSING);
  doesNotMatch(titleOf("[svc] ", "Fixes #1", "github"), CLOSING);
  doesNotMatch(commitMessage({ message: "x\n\nFixes #1", trailers: [] }), CLOSING);
});

Deno.test("the marker comes last, behind what svc says, however long the text is", () => {
  const notes = ["Line 3 of `a` has marks."];
  for (
    const text of ["short", "word ".repeat(40_000), "@a ".repeat(30_000), "fix #1 ".repeat(20_000)]
  ) {
    const body = bodyOf({ text, fixes: 42, work: WORK, notes, marker: MARKER });
    ok(body.length <= 65_536, `${body.length} characters`);
    ok(body.endsWith(
      `\n\nFixes #42\n\n${notes[0]}\n\n---\nMade by svc: workflow fix, task ${WORK.taskId}, ` +
        `asked for by mona\n\n${MARKER}`,
    ));
  }
});

Deno.test("a title is one harmless line of at most 256 characters", () => {
  equal(titleOf("[svc] ", "Fix the\tbuild\nand more", "github"), "[svc] Fix the build");
  equal(titleOf("", "Fix", "github"), "Fix");
  equal(titleOf("svc:", "Fix", "github"), "svc: Fix");
  equal([...titleOf("[svc] ", "x".repeat(500), "github")].length, 256);
  equal([...titleOf("[svc] ", "x".repeat(500), "gitlab")].length, 255 - "Draft: ".length);
  doesNotMatch(titleOf("", "for @mona [skip ci]", "github"), /@mona|\[skip ci\]/);
  doesNotMatch(titleOf("", "a\u202eb\x1b[2J", "github"), /[\u202e\p{Cc}]/u);
});

Deno.test("a commit names no author and skips no check but by svc's own trailers", () => {
  const message = "Work in the review\n\nBecause.\n\n" +
    "Co-authored-by: linus <l@example.com>\nSigned-off-by: linus <l@example.com>\n" +
    "skip-checks: true\nSvc-Task: 01JZZZZZZZZZZZZZZZZZ000009\n[ci skip] [no ci] ***NO_CI***";
  const trailers = [
    "Svc-Task: A\nSvc-Mark: B",
    coAuthor("mona", "7+mona@users.noreply.github.com"),
  ];
  const commit = commitMessage({ message, trailers });
  match(commit, /^Work in the review\n\nBecause\.\n\n/);
  ok(commit.endsWith(
    "\n\nSvc-Task: A\nSvc-Mark: B\nCo-authored-by: mona <7+mona@users.noreply.github.com>\n",
  ));
  doesNotMatch(commit, /linus <l@example.com>\n(?=.*^co-authored-by: linus)/im);
  equal(commit.match(/^(co-authored-by|signed-off-by|skip-checks|svc-task):/gim)?.length, 2);
  doesNotMatch(commit, /\[ci skip\]|\[no ci\]|\*\*\*NO_CI/);
});

Deno.test("a commit notifies nobody, and drives no terminal", () => {
  const message = "Rename @ada\n\nAs @acme/core asked.\x1b]0;x\x07 f\u202eixes #1";
  const commit = commitMessage({ message, trailers: [] });
  doesNotMatch(commit, /@[a-z]/);
  doesNotMatch(commit, CLOSING);
  equal([...commit].filter((one) => "\x1b\x07\u202e".includes(one)).length, 0);
});
