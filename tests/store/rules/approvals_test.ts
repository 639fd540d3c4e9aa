/** What an answer to the question of an approval means: who × need × fourEyes × state × digest. */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import type {
  AskedAnswer,
  AskedApproval,
  Starter,
  StoredAnswer,
} from "../../../src/store/approval_records.ts";
import type { EndedWait } from "../../../src/store/wait_records.ts";
import { decideAnswer } from "../../../src/store/rules/approvals.ts";

const DIGEST = "7f3a91c2".padEnd(64, "0");

function asked(fields: Partial<AskedApproval> = {}): AskedApproval {
  return {
    digest: DIGEST,
    ask: "Deploy?",
    fields: {},
    by: ["ada", "@ops", "github:write", "socket"],
    need: 1,
    fourEyes: false,
    protection: "sandbox",
    ...fields,
  };
}

function answer(fields: Partial<AskedAnswer> = {}): AskedAnswer {
  return {
    taskId: "T",
    position: 1,
    round: 1,
    key: "person:ada",
    person: "ada",
    identities: ["github:1"],
    gone: [],
    mayBy: ["ada"],
    startedBy: [],
    called: "ada",
    surface: "cli",
    answer: "approved",
    digest: DIGEST,
    comment: "",
    fields: {},
    now: 1000,
    ...fields,
  };
}

const BOB = { key: "person:bob", person: "bob", identities: [], mayBy: ["@ops"], called: "bob" };
const SOCKET = { key: "socket", identities: [], mayBy: ["socket"], called: "an operator" };

/** Without the person `ada`, who answers unless a case says otherwise. */
function answerOf(who: Partial<AskedAnswer>, rest: Partial<AskedAnswer> = {}): AskedAnswer {
  const { person: _ada, ...other } = answer({ ...who, ...rest });
  return who.person === undefined ? other : { ...other, person: who.person };
}

const OCTOCAT = {
  key: "github:1",
  identity: "github:1",
  identities: ["github:1"],
  mayBy: ["github:write"],
  called: "octocat at GitHub",
};

function given(fields: Partial<StoredAnswer> = {}): StoredAnswer {
  return {
    key: "person:bob",
    person: "bob",
    called: "bob",
    at: 500,
    surface: "cli",
    answer: "approved",
    comment: "",
    fields: {},
    ...fields,
  };
}

const END: EndedWait = {
  by: "answer",
  answer: "rejected",
  who: ["bob"],
  comment: "",
  fields: {},
  at: 900,
  part: 0,
};

const starter = (fields: Partial<Starter>): Starter => ({ did: "started", called: "x", ...fields });

const CASES: readonly [
  what: string,
  facts: {
    readonly asked?: Partial<AskedApproval>;
    readonly answer?: AskedAnswer;
    readonly answers?: readonly StoredAnswer[];
    readonly end?: EndedWait;
  },
  is: string,
  says?: RegExp,
][] = [
  ["who is named", {}, "over"],
  ["who is in a group", { answer: answer(BOB) }, "over"],
  ["who is nobody in particular, where that is enough", { answer: answerOf(SOCKET) }, "over"],
  [
    "who is not named",
    { answer: answer({ mayBy: [] }) },
    "not allowed",
    /ada is not among those who may answer: ada, @ops, github:write, socket/,
  ],
  ["whom an older entry would let", { answer: answer({ mayBy: ["@gone"] }) }, "not allowed"],
  ["with the beginning of the digest", { answer: answer({ digest: "7F3A91C2" }) }, "over"],
  ["with too little of it", { answer: answer({ digest: "7f3a91c" }) }, "other digest"],
  ["with the digest of something else", { answer: answer({ digest: "00000000" }) }, "other digest"],
  ["without one", { answer: answer({ digest: "" }) }, "other digest"],
  ["a rejection", { answer: answer({ answer: "rejected" }) }, "over"],
  ["the first of two", { asked: { need: 2 } }, "counted"],
  ["the second of two", { asked: { need: 2 }, answers: [given()] }, "over"],
  ["the second of three", { asked: { need: 3 }, answers: [given()] }, "counted"],
  [
    "one rejection of two",
    { asked: { need: 2 }, answers: [given()], answer: answer({ answer: "rejected" }) },
    "over",
  ],
  [
    "a rejection after one's own approval",
    {
      asked: { need: 2 },
      answers: [given({ person: "ada" })],
      answer: answer({ answer: "rejected" }),
    },
    "over",
  ],
  [
    "the same person again",
    { asked: { need: 2 }, answers: [given({ person: "ada" })] },
    "repeated",
  ],
  [
    "the same person as a user of a platform",
    { asked: { need: 2 }, answers: [given({ person: "ada" })], answer: answer() },
    "repeated",
  ],
  [
    "a user who has answered before she was a Person",
    {
      asked: { need: 2 },
      answers: [{ ...given({ identity: "github:1" }), person: undefined as never }],
    },
    "repeated",
  ],
  [
    "a user who may be the Person that has answered",
    { asked: { need: 2 }, answers: [given()], answer: answerOf(OCTOCAT) },
    "not allowed",
    /cannot be told whether octocat at GitHub is somebody else than bob, who has approved already: apply a Person with is: \["github:1"\]/,
  ],
  ["when it is over", { end: END }, "was over"],
  [
    "the same answer when it is over",
    { end: END, answers: [given({ person: "ada" })] },
    "repeated",
  ],
  [
    "another answer when it is over",
    { end: END, answers: [given({ person: "ada" })], answer: answer({ answer: "rejected" }) },
    "was over",
  ],
  [
    "whoever started it",
    { asked: { fourEyes: true }, answer: answer({ startedBy: [starter({ person: "ada" })] }) },
    "not allowed",
    /ada has started the task, and somebody else has to look at it/,
  ],
  [
    "whoever started it at a platform",
    {
      asked: { fourEyes: true },
      answer: answer({ startedBy: [starter({ identity: "github:1", did: "redelivered" })] }),
    },
    "not allowed",
    /ada has redelivered the task/,
  ],
  [
    "whoever started it, where that is no matter",
    { answer: answer({ startedBy: [starter({ person: "ada" })] }) },
    "over",
  ],
  [
    "somebody else than who started it",
    { asked: { fourEyes: true }, answer: answer({ startedBy: [starter({ person: "bob" })] }) },
    "over",
  ],
  [
    "another user of the platform than who started it",
    {
      asked: { fourEyes: true },
      answer: answerOf(OCTOCAT, { startedBy: [starter({ identity: "github:2" })] }),
    },
    "over",
  ],
  [
    "a Person, where a user started it that nobody knows",
    {
      asked: { fourEyes: true },
      answer: answer({ startedBy: [starter({ identity: "github:2", called: "mallory" })] }),
    },
    "not allowed",
    /cannot be told whether ada is somebody else than mallory, who has started the task: apply a Person with is: \["github:2"\]/,
  ],
  [
    "a user of another platform than who started it",
    {
      asked: { fourEyes: true },
      answer: answerOf(OCTOCAT, { startedBy: [starter({ identity: "slack:T1/U1" })] }),
    },
    "not allowed",
  ],
  [
    "a user of the same number at another instance",
    {
      asked: { fourEyes: true },
      answer: answerOf(OCTOCAT, { startedBy: [starter({ identity: "github:git.example.com/2" })] }),
    },
    "not allowed",
  ],
  [
    "where nobody knows who retried it",
    {
      asked: { fourEyes: true },
      answer: answer({ startedBy: [starter({ did: "retried", called: "an operator" })] }),
    },
    "not allowed",
    /an operator is nobody in particular; a Person has a token of her own/,
  ],
  [
    "where a Person retried it who was deleted since",
    {
      asked: { fourEyes: true },
      answer: answer({ startedBy: [starter({ did: "retried", called: "eve", isGone: true })] }),
    },
    "not allowed",
    /whether ada is somebody else than eve, who has retried the task: that Person was deleted since/,
  ],
  ["where a schedule started it", { asked: { fourEyes: true } }, "over"],
  [
    "an admin in the place of all, before the second",
    {
      asked: { need: 2, fourEyes: true },
      answer: answer({ mayBy: [], forced: "on call", startedBy: [starter({ person: "ada" })] }),
    },
    "over",
  ],
  [
    "an admin with the digest of something else",
    { answer: answer({ forced: "on call", digest: "00000000" }) },
    "other digest",
  ],
];

for (
  const [what, { asked: question, answer: one = answer(), answers = [], end }, is, says] of CASES
) {
  Deno.test(`an answer of an approval: ${what}: ${is}`, () => {
    const facts = { asked: asked(question), answer: one, answers };
    const { result, stored } = decideAnswer(end === undefined ? facts : { ...facts, end });
    equal(result.is, is);
    equal(stored !== undefined, is === "over" || is === "counted");
    if (says !== undefined) match("why" in result ? result.why : "", says);
  });
}

const FIELDS: AskedApproval["fields"] = {
  text: { type: "text", default: "as drafted" },
  where: { type: "choice", of: ["eu", "us"] },
};

const FILLED: readonly [
  what: string,
  fields: Record<string, string>,
  values: Record<string, string> | RegExp,
][] = [
  ["a choice, and the default of the text", { where: "eu" }, { text: "as drafted", where: "eu" }],
  ["an edited text", { where: "us", text: "" }, { text: "", where: "us" }],
  ["without a value that is needed", {}, /"where" has no value: give it with --set where=eu/],
  ["what is no choice", { where: "moon" }, /"where" takes one of eu, us/],
  ["an unknown field", { where: "eu", who: "x" }, /no field "who": its fields are text, where/],
  ["too long a text", { where: "eu", text: "ü".repeat(32_769) }, /"text" takes at most 64 KiB/],
];

for (const [what, fields, values] of FILLED) {
  Deno.test(`the fields of an approval: ${what}`, () => {
    const facts = { asked: asked({ fields: FIELDS }), answers: [], answer: answer({ fields }) };
    const { result, stored } = decideAnswer(facts);
    if (values instanceof RegExp) match("why" in result ? result.why : "", values);
    else deepEqual(stored?.fields, values);
  });
}

Deno.test("whoever approves after another gives the same fields", () => {
  const answers = [given({ fields: { text: "as drafted", where: "eu" } })];
  const facts = { asked: asked({ fields: FIELDS, need: 2 }), answers };
  const { result } = decideAnswer({ ...facts, answer: answer({ fields: { where: "us" } }) });
  match("why" in result ? result.why : "", /bob has approved with another value of "where"/);
  equal(decideAnswer({ ...facts, answer: answer({ fields: { where: "eu" } }) }).result.is, "over");
});

Deno.test("a rejection needs no fields", () => {
  const facts = { asked: asked({ fields: FIELDS }), answers: [] };
  equal(decideAnswer({ ...facts, answer: answer({ answer: "rejected" }) }).result.is, "over");
});

Deno.test("an answer is not older than its Person, whatever the clock was set to", () => {
  const one = answer({ now: 1000, personSince: 5000 });
  equal(decideAnswer({ asked: asked(), answers: [], answer: one }).stored?.at, 5000);
});
