/**
 * What becomes of an issue, labels and a review that a task asks for: within the limits of its workflow
 * a message, beyond them a refusal that names the limit.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal, throws } from "node:assert/strict";
import {
  issueDraft,
  labelDrafts,
  type OutputAddress,
  reviewDraft,
} from "../../src/outbox/output_drafts.ts";
import { limitsOf } from "../../src/outputs/may_rules.ts";
import type { ForgeMay } from "../../src/resources/may.ts";

const SHA = "a".repeat(40);
const ADDRESS = {
  forge: "github",
  task: { id: "01T", project: "default", workflow: "triage", trigger: "comments" },
  connection: { name: "tidepool" },
  repository: "acme/site",
  subject: {
    forge: "github",
    repository: "acme/site",
    number: 42,
    isPull: true,
    sha: SHA,
    commits: [],
  },
  trigger: "comments",
  asker: "octocat",
} as unknown as OutputAddress;
const { subject: _none, ...CRON } = ADDRESS;
const AT_GITLAB = {
  ...ADDRESS,
  forge: "gitlab",
  subject: { ...ADDRESS.subject, forge: "gitlab" },
} as OutputAddress;
const ON_ISSUE = {
  ...AT_GITLAB,
  subject: { ...AT_GITLAB.subject, isPull: false },
} as OutputAddress;

function limits<Name extends "issue" | "label" | "review">(name: Name, may: ForgeMay[Name]) {
  const found = limitsOf({ github: { [name]: may ?? {} } }, "github", name);
  if (found === undefined) throw new Error("no limits");
  return found;
}

const issue = (given: Record<string, unknown> = {}, may: ForgeMay["issue"] = {}, at = ADDRESS) =>
  issueDraft(at, { title: "t", text: "b", labels: [], ...given }, limits("issue", may));
const label = (
  add: string[],
  remove: string[] = [],
  may: ForgeMay["label"] = {},
  at: OutputAddress = ADDRESS,
) => labelDrafts(at, { add, remove }, limits("label", may));
const review = (
  given: Record<string, unknown> = {},
  may: ForgeMay["review"] = {},
  at: OutputAddress = ADDRESS,
) => {
  const asked = { text: "b", key: "k", event: "comment" as const, comments: [], ...given };
  return reviewDraft(at, asked, limits("review", may));
};
const line = (more: Record<string, unknown> = {}) =>
  ({ path: "a", line: 1, side: "RIGHT", text: "x", ...more }) as const;

const TITLES: readonly (readonly [prefix: string | undefined, title: string, shown: string])[] = [
  [undefined, "Fix it", "Fix it"],
  ["[svc] ", "Fix it", "[svc] Fix it"],
  [undefined, "  first\nsecond\r\nthird", "first"],
  [undefined, "\n\nfirst\u2028second", "first"],
  [undefined, "a\u202e\u0007b\tc @mona", "ab c @\u200bmona"],
  [undefined, "x".repeat(256), "x".repeat(256)],
  [undefined, "x".repeat(257), `${"x".repeat(255)}…`],
  ["[svc] ", "😀".repeat(300), `[svc] ${"😀".repeat(249)}…`],
];

Deno.test("a title is one line of at most 256 characters behind its prefix", () => {
  for (const [prefix, title, shown] of TITLES) {
    const may = prefix === undefined ? {} : { title: prefix };
    equal(issue({ title }, may).body["title"], shown);
  }
});

Deno.test("an issue is named by workflow, subject or trigger, and key", () => {
  const keyed = issue({ key: "flaky/login" }, { max: 3, labels: ["a"], open: 2 });
  equal(keyed.key, "triage/42/flaky/login");
  deepEqual(keyed.counted, { output: "issue", unit: keyed.key, max: 3 });
  deepEqual([keyed.body["labels"], keyed.body["open"]], [["a"], 2]);
  equal(issue({ key: "flaky" }, {}, CRON).key, "triage/on-comments/flaky");
  const each = issue();
  deepEqual([each.key, each.counted?.unit], ["", ""], "without a key each is by itself");
});

Deno.test("each label is a message of its own, and counts once", () => {
  const drafts = label(["Bug", "area/cli"], ["triage"], {
    add: ["bug", "area/*"],
    remove: ["triage"],
    max: 2,
  });
  deepEqual(
    drafts.map(({ target, body, counted }) => [target["label"], body["set"], counted]),
    [
      ["Bug", true, { output: "label", unit: "bug", max: 2 }],
      ["area/cli", true, { output: "label", unit: "area/cli", max: 2 }],
      ["triage", false, { output: "label", unit: "triage", max: 2 }],
    ],
  );
});

Deno.test("at GitLab the issue and the merge request of one number are two", () => {
  const issues = [AT_GITLAB, ON_ISSUE].map((at) => issue({ key: "x" }, {}, at));
  deepEqual(issues.map(({ kind, key }) => [kind, key]), [
    ["gitlab-issue", "triage/mr-42/x"],
    ["gitlab-issue", "triage/42/x"],
  ]);
  const labels = [ADDRESS, AT_GITLAB, ON_ISSUE].flatMap((at) =>
    label(["x"], [], { add: ["*"] }, at)
  );
  deepEqual(labels.map(({ kind, target: { repository: _, ...target } }) => [kind, target]), [
    ["github-label", { number: 42, label: "x" }],
    ["gitlab-label", { number: 42, on: "merge_request", label: "x" }],
    ["gitlab-label", { number: 42, on: "issue", label: "x" }],
  ]);
  const { kind, target } = review({}, {}, AT_GITLAB);
  deepEqual([kind, target["on"]], ["gitlab-review", "merge_request"]);
});

Deno.test("a review is of the commit of its event", () => {
  const draft = review({ comments: [line({ startLine: 1, line: 3 })] });
  deepEqual([draft.key, draft.body["sha"], draft.counted], [
    "k",
    SHA,
    { output: "review", unit: "k", max: 1 },
  ]);
});

const REFUSED: Readonly<Record<string, readonly [() => unknown, RegExp]>> = {
  "no title": [() => issue({ title: " \n " }), /^The title is empty/],
  "a title of hidden characters": [() => issue({ title: "\u202e" }), /^The title is empty/],
  "no body": [() => issue({ text: " \n" }), /^The body is empty/],
  "a key with a space": [() => issue({ key: "a b" }), /^"a b" cannot be a key: use letters/],
  "a key that ends a marker": [() => issue({ key: "a-->" }), /cannot be a key/],
  "an empty key": [() => issue({ key: "" }), /cannot be a key/],
  "a long key": [() => review({ key: "x".repeat(101) }), /at most 100$/],
  "a key with a slash first": [() => review({ key: "/x" }), /cannot be a key/],
  "a label of an issue that is not allowed": [
    () => issue({ labels: ["bug"] }, { allowLabels: ["area/*"] }),
    /^may.github.issue.allowLabels does not have "bug": it allows area\/\*$/,
  ],
  "a label, where none is allowed": [
    () => issue({ labels: ["bug"] }),
    /does not have "bug": it allows nothing$/,
  ],
  "a label to add that may only go": [
    () => label(["triage"], [], { remove: ["triage"] }),
    /^may.github.label.add does not have "triage"/,
  ],
  "a label to remove that may only come": [
    () => label([], ["bug"], { add: ["bug"] }),
    /^may.github.label.remove does not have "bug"/,
  ],
  "a label below a pattern of one level": [
    () => label(["area/cli/x"], [], { add: ["area/*"] }),
    /does not have "area\/cli\/x"/,
  ],
  "a label that is added and removed": [
    () => label(["bug"], ["BUG"], { add: ["*"], remove: ["*"] }),
    /to be added and removed/,
  ],
  "no label": [() => label([], []), /no label to add/],
  ...Object.fromEntries(
    ["", " ", ".", "..", "a\nb", "a\u202e", "\ud800", "x".repeat(51)].map((name) => [
      `the label ${JSON.stringify(name)}, which a path cannot name`,
      [() => label([], [name], { remove: ["**", "*"] }), /cannot be a label/] as const,
    ]),
  ),
  "a label with a comma at GitLab, which takes it for two": [
    () => label(["bug,approved"], [], { add: ["bug*"] }, AT_GITLAB),
    /^"bug,approved" cannot be a label: use 1 to 255 characters, and no comma$/,
  ],
  "a label to remove that is two at GitLab": [
    () => label([], ["bug,approved"], { remove: ["bug*"] }, AT_GITLAB),
    /cannot be a label/,
  ],
  "a label that may.gitlab does not have": [
    () => label(["bug"], [], {}, AT_GITLAB),
    /^may.gitlab.label.add does not have "bug"/,
  ],
  "a review of an issue at GitLab": [
    () => review({}, {}, ON_ISSUE),
    /has no merge request to review$/,
  ],
  "an event that is not declared": [
    () => review({ event: "approve" }, { events: ["comment", "request_changes"] }),
    /^may.github.review.events does not have approve: it allows comment, request_changes$/,
  ],
  "too many comments": [
    () => review({ comments: [line(), line()] }, { comments: 1 }),
    /^may.github.review.comments allows 1 comments on lines, and these are 2$/,
  ],
  "nothing said": [() => review({ text: " " }), /^The body is empty, and there are no comments$/],
  "a comment without a path": [
    () => review({ comments: [line({ path: "" })] }),
    /^Comment 1: its path/,
  ],
  "a path of two lines": [
    () => review({ comments: [line({ path: "a\nb" })] }),
    /^Comment 1: its path/,
  ],
  "a comment that says nothing": [
    () => review({ comments: [line(), line({ text: " " })] }),
    /^Comment 2: its body is empty$/,
  ],
  "a comment that ends before it begins": [
    () => review({ comments: [line({ startLine: 2 })] }),
    /^Comment 1: it begins at line 2, behind its line 1$/,
  ],
  "a text that is far too long": [
    () => review({ text: "x".repeat(200_000), comments: [line({ text: "x".repeat(100_000) })] }),
    /^The review has 300000 characters: the most is 262144$/,
  ],
  "a review where there is no pull request": [
    () => review({}, {}, { ...ADDRESS, subject: { ...ADDRESS.subject, isPull: false } as never }),
    /has no pull request to review$/,
  ],
  "labels of a push": [
    () => labelDrafts(CRON, { add: ["a"], remove: [] }, limits("label", { add: ["a"] })),
    /has no issue or pull request to label$/,
  ],
};

for (const [what, [ask, why]] of Object.entries(REFUSED)) {
  Deno.test(`refused: ${what}`, () => {
    throws(ask, (error: Error) => why.test(error.message) || fail(error.message));
  });
}

function fail(message: string): never {
  throw new Error(`said: ${message}`);
}
