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
import { FORGE_WORDS, type ForgeName, FORGES } from "../../src/base/forge_names.ts";
import type { ForgeSubject } from "../../src/connections/api/forge.ts";

const SHA = "a".repeat(40);
/** An event about a pull at a forge. */
const at = (forge: ForgeName) => ({
  forge,
  task: { id: "01T", project: "default", workflow: "triage", trigger: "comments" },
  connection: { name: "tidepool" },
  repository: "acme/site",
  subject: {
    forge,
    repository: "acme/site",
    number: 42,
    isPull: true,
    sha: SHA,
    commits: [],
  },
  trigger: "comments",
  asker: "octocat",
} as unknown as OutputAddress);
const [AT_GITHUB, AT_GITLAB] = [at("github"), at("gitlab")];

/** The same at an issue. */
function onIssue(address: OutputAddress): OutputAddress {
  return { ...address, subject: { ...address.subject, isPull: false } as ForgeSubject };
}

/** The same for an event that is about nothing. */
function aboutNothing({ subject: _none, ...address }: OutputAddress): OutputAddress {
  return address;
}

/** What a task asks for there, and what its workflow allows. */
function asks(address: OutputAddress) {
  const { forge } = address;
  function limits<Name extends "issue" | "label" | "review">(name: Name, may: ForgeMay[Name]) {
    const found = limitsOf({ [forge]: { [name]: may ?? {} } }, forge, name);
    if (found === undefined) throw new Error("no limits");
    return found;
  }
  return {
    issue: (given: Record<string, unknown> = {}, may: ForgeMay["issue"] = {}) =>
      issueDraft(address, { title: "t", text: "b", labels: [], ...given }, limits("issue", may)),
    label: (add: string[], remove: string[] = [], may: ForgeMay["label"] = {}) =>
      labelDrafts(address, { add, remove }, limits("label", may)),
    review: (given: Record<string, unknown> = {}, may: ForgeMay["review"] = {}) => {
      const asked = { text: "b", key: "k", event: "comment" as const, comments: [], ...given };
      return reviewDraft(address, asked, limits("review", may));
    },
  };
}

const line = (more: Record<string, unknown> = {}) =>
  ({ path: "a", line: 1, side: "RIGHT", text: "x", ...more }) as const;

/** The most characters of a title. */
const MOST: Readonly<Record<ForgeName, number>> = { github: 256, gitlab: 248 };
const titles = (most: number): readonly (readonly [string | undefined, string, string])[] => [
  [undefined, "Fix it", "Fix it"],
  ["[svc] ", "Fix it", "[svc] Fix it"],
  [undefined, "  first\nsecond\r\nthird", "first"],
  [undefined, "\n\nfirst\u2028second", "first"],
  [undefined, "a\u202e\u0007b\tc @mona", "ab c @\u200bmona"],
  [undefined, "x".repeat(most), "x".repeat(most)],
  [undefined, "x".repeat(most + 1), `${"x".repeat(most - 1)}…`],
  ["[svc] ", "😀".repeat(300), `[svc] ${"😀".repeat(most - 7)}…`],
];

for (const forge of FORGES) {
  Deno.test(`a title is one line behind its prefix, as long as ${forge} takes it`, () => {
    for (const [prefix, title, shown] of titles(MOST[forge])) {
      const may = prefix === undefined ? {} : { title: prefix };
      equal(asks(at(forge)).issue({ title }, may).body["title"], shown);
    }
  });

  Deno.test(`an issue at ${forge} is named by workflow, subject or trigger, and key`, () => {
    const address = onIssue(at(forge));
    const { issue } = asks(address);
    const keyed = issue({ key: "flaky/login" }, { max: 3, labels: ["a"], open: 2 });
    deepEqual([keyed.kind, keyed.key], [`${forge}-issue`, "triage/42/flaky/login"]);
    deepEqual(keyed.counted, { output: "issue", unit: keyed.key, max: 3 });
    deepEqual([keyed.body["labels"], keyed.body["open"]], [["a"], 2]);
    equal(asks(aboutNothing(address)).issue({ key: "flaky" }).key, "triage/on-comments/flaky");
    const each = issue();
    deepEqual([each.key, each.counted?.unit], ["", ""], "without a key each is by itself");
  });
}

Deno.test("each label is a message of its own, and counts once", () => {
  const drafts = asks(AT_GITHUB).label(["Bug", "area/cli"], ["triage"], {
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
  const issues = [AT_GITLAB, onIssue(AT_GITLAB)].map((at) => asks(at).issue({ key: "x" }));
  deepEqual(issues.map(({ kind, key }) => [kind, key]), [
    ["gitlab-issue", "triage/mr-42/x"],
    ["gitlab-issue", "triage/42/x"],
  ]);
  const labels = [AT_GITHUB, AT_GITLAB, onIssue(AT_GITLAB)].flatMap((at) =>
    asks(at).label(["x"], [], { add: ["*"] })
  );
  deepEqual(labels.map(({ kind, target: { repository: _, ...target } }) => [kind, target]), [
    ["github-label", { number: 42, label: "x" }],
    ["gitlab-label", { number: 42, on: "merge_request", label: "x" }],
    ["gitlab-label", { number: 42, on: "issue", label: "x" }],
  ]);
  const { kind, target } = asks(AT_GITLAB).review();
  deepEqual([kind, target["on"]], ["gitlab-review", "merge_request"]);
});

Deno.test("a review is of the commit of its event", () => {
  const draft = asks(AT_GITHUB).review({ comments: [line({ startLine: 1, line: 3 })] });
  deepEqual([draft.key, draft.body["sha"], draft.counted], [
    "k",
    SHA,
    { output: "review", unit: "k", max: 1 },
  ]);
});

type Refusals = Readonly<Record<string, readonly [ask: () => unknown, why: RegExp]>>;

/** What is refused at any forge. */
const refusedAt = (forge: ForgeName): Refusals => {
  const { issue, label, review } = asks(at(forge));
  const { pull } = FORGE_WORDS[forge];
  const most = forge === "github" ? 50 : 255;
  const rule = (field: string, said: string) =>
    new RegExp(`^may\\.${forge}\\.${field.replace(".", "\\.")} ${said}`);
  return {
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
      rule("issue.allowLabels", 'does not have "bug": it allows area/\\*$'),
    ],
    "a label, where none is allowed": [
      () => issue({ labels: ["bug"] }),
      /does not have "bug": it allows nothing$/,
    ],
    "a label to add that may only go": [
      () => label(["triage"], [], { remove: ["triage"] }),
      rule("label.add", 'does not have "triage"'),
    ],
    "a label to remove that may only come": [
      () => label([], ["bug"], { add: ["bug"] }),
      rule("label.remove", 'does not have "bug"'),
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
      ["", " ", ".", "..", "a\nb", "a\u202e", "\ud800", "x".repeat(most + 1)].map((name) => [
        `the label ${JSON.stringify(name)}, which a path cannot name`,
        [() => label([], [name], { remove: ["**", "*"] }), /cannot be a label/] as const,
      ]),
    ),
    "an event that is not declared": [
      () => review({ event: "approve" }, { events: ["comment"] }),
      rule("review.events", "does not have approve: it allows comment$"),
    ],
    "too many comments": [
      () => review({ comments: [line(), line()] }, { comments: 1 }),
      rule("review.comments", "allows 1 comments on lines, and these are 2$"),
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
    "a review where there is no pull": [
      () => asks(onIssue(at(forge))).review(),
      new RegExp(`has no ${pull} to review$`),
    ],
    "labels of a push": [
      () => asks(aboutNothing(at(forge))).label(["a"], [], { add: ["a"] }),
      new RegExp(`has no issue or ${pull} to label$`),
    ],
  };
};

/** What is refused at GitLab alone. */
const REFUSED_AT_GITLAB: Refusals = {
  "a label with a comma at GitLab, which takes it for two": [
    () => asks(AT_GITLAB).label(["bug,approved"], [], { add: ["bug*"] }),
    /^"bug,approved" cannot be a label: use 1 to 255 characters, and no comma$/,
  ],
  "a label to remove that is two at GitLab": [
    () => asks(AT_GITLAB).label([], ["bug,approved"], { remove: ["bug*"] }),
    /cannot be a label/,
  ],
};

const REFUSED = [
  ...FORGES.flatMap((forge) =>
    Object.entries(refusedAt(forge)).map(([what, refusal]) =>
      [`${forge}: ${what}`, refusal] as const
    )
  ),
  ...Object.entries(REFUSED_AT_GITLAB),
];

for (const [what, [ask, why]] of REFUSED) {
  Deno.test(`refused: ${what}`, () => {
    throws(ask, (error: Error) => why.test(error.message) || fail(error.message));
  });
}

function fail(message: string): never {
  throw new Error(`said: ${message}`);
}
