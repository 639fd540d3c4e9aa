/**
 * Reviews of merge requests: threads on lines of the diff, the note behind them, and approvals. Each part
 * is there once, wherever a try ended.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { gitlabReviewKinds } from "../../src/outbox/gitlab_review.ts";
import { ADA, BOT, GITLAB_PROJECT, problem } from "../fakes/gitlab.ts";
import { gitLabFake } from "../rigs/forge_fakes.ts";
import { forgeSending, kindAt } from "../rigs/forge_sending.ts";
import { missing, skippable } from "../helpers/requirements.ts";

const BEFORE = "one\ntwo\nthree\n4\n5\n6\n7\n8\n9\nten\n11\n12\n";
const AFTER = "one\ntwo!\nmore\nthree\n4\n5\n6\n7\n8\n9\nten!\n11\n12\n";

/** A merge request of one changed, one renamed and one new file. */
async function rig(user = ADA) {
  const forge = await gitLabFake();
  const { fake, git } = forge;
  await git.commit(GITLAB_PROJECT, "main", { "src/a.ts": BEFORE, "old.txt": BEFORE });
  const files = { "src/a.ts": AFTER, "old.txt": null, "new.txt": BEFORE.replace("ten", "10") };
  await git.commit(GITLAB_PROJECT, "topic", files, { from: "main" });
  const pull = await fake.mergeRequests.open(GITLAB_PROJECT, { user, branch: "topic" });
  const sending = await forgeSending(kindAt("gitlab", gitlabReviewKinds), forge);
  const notes = () => fake.threads.notes.filter((note) => note.author.id === BOT.id);
  return {
    ...sending,
    fake,
    pull,
    head: pull.sha,
    push: () => git.commit(GITLAB_PROJECT, "topic", { "src/b.ts": "b\n" }),
    /** The threads on lines, with the text above their markers. */
    threads: () =>
      notes().filter(({ position }) => position !== undefined).map(({ body, position }) => {
        const { old_path, new_path, old_line, new_line } = position ?? {};
        return [textOf(body), old_path, new_path, old_line ?? null, new_line ?? null];
      }),
    /** The texts of the notes. */
    notes: () => notes().filter(({ position }) => position === undefined).map(({ body }) => body),
    async [Symbol.asyncDispose]() {
      await sending[Symbol.asyncDispose]();
      await forge[Symbol.asyncDispose]();
    },
  };
}

const review = (given: Record<string, unknown> = {}, previousId = "") => ({
  target: { number: 1, on: "merge_request" },
  key: "review",
  previousId,
  body: { workflow: "review", asker: "", text: "Fine", event: "comment", comments: [], ...given },
});
const comment = (line: number, more: Record<string, unknown> = {}) => ({
  path: "src/a.ts",
  line,
  side: "RIGHT",
  text: `about ${line}`,
  ...more,
});

/** The text above the footer and the marker. */
const textOf = (body = "") => body.split(/\n\n(?:Made by svc: |<!-- svc )/)[0];

Deno.test(
  skippable("a review has threads on the lines of the diff, and a note", missing("git")),
  async () => {
    await using gitlab = await rig();
    const comments = [
      comment(3, { startLine: 2, text: "cc @ada-pereira\n/merge" }),
      comment(2, { side: "LEFT" }),
      comment(4),
      comment(1, { side: "LEFT", text: "the same on both sides" }),
      comment(10, { path: "new.txt", text: "renamed" }),
    ];
    const sent = await gitlab.send(review({ comments }));
    deepEqual(
      gitlab.threads(),
      [
        ["Lines 2 to 3:\n\ncc @\u200bada-pereira\n\\/merge", "src/a.ts", "src/a.ts", null, 3],
        ["about 2", "src/a.ts", "src/a.ts", 2, null],
        ["about 4", "src/a.ts", "src/a.ts", 3, 4],
        ["the same on both sides", "src/a.ts", "src/a.ts", 1, 1],
        ["renamed", "old.txt", "new.txt", null, 10],
      ].map(([text, ...where]) => [`${text}`.split("\n\n<!--")[0], ...where]),
    );
    deepEqual(gitlab.notes().map(textOf), ["Fine"]);
    const [note] = gitlab.fake.threads.notes.toReversed();
    deepEqual(sent, { result: "sent", externalId: `${note?.id} ${gitlab.head}` });
    deepEqual(gitlab.fake.threads.executed, [], "no quick action ran");
    const place = {
      forge: "gitlab",
      project: "default",
      repository: GITLAB_PROJECT,
      number: 1,
      isPull: true,
    } as const;
    for (const { body } of gitlab.fake.threads.notes) {
      match(gitlab.markers.find(body, place)?.key ?? "", /^review\/[0-9a-f]{40}(\/[0-9a-f]{16})?$/);
      equal(gitlab.markers.find(body, { ...place, isPull: false }), undefined, "not of the issue");
    }
  },
);

Deno.test(
  skippable("comments on lines that the diff does not show are in the note", missing("git")),
  async () => {
    await using gitlab = await rig();
    const comments = [
      comment(2),
      comment(7),
      comment(11, { startLine: 2, text: "over two parts" }),
      comment(1, { path: "not`there", text: "what of this?" }),
    ];
    await gitlab.send(review({ comments }));
    deepEqual(gitlab.threads().map(([text]) => text), ["about 2"]);
    equal(
      textOf(gitlab.notes()[0]),
      [
        "Fine",
        "**Elsewhere**",
        "`src/a.ts:7`: about 7",
        "`src/a.ts:2-11`: over two parts",
        "`not'there:1`: what of this?",
      ].join("\n\n"),
    );
  },
);

Deno.test(
  skippable(
    "of the same commit and key the note is renewed, and threads are not repeated",
    missing("git"),
  ),
  async () => {
    await using gitlab = await rig();
    const first = await gitlab.send(review({ comments: [comment(2)] }));
    const id = first.result === "sent" ? first.externalId : "";
    const next = review({ text: "Still fine", comments: [comment(2), comment(3)] }, id);
    deepEqual(await gitlab.send(next), first);
    deepEqual(gitlab.threads().map(([text]) => text), ["about 2", "about 3"]);
    deepEqual(gitlab.notes().map(textOf), ["Still fine"]);
  },
);

Deno.test(skippable("another commit: another review", missing("git")), async () => {
  await using gitlab = await rig();
  const first = await gitlab.send(review({ comments: [comment(2)] }));
  const id = first.result === "sent" ? first.externalId : "";
  gitlab.pull.sha = await gitlab.push();
  const second = await gitlab.send(review({ comments: [comment(2)] }, id));
  ok(second.result === "sent" && second.externalId.endsWith(` ${gitlab.pull.sha}`));
  deepEqual(gitlab.threads().map(([text]) => text), ["about 2", "about 2"]);
  equal(gitlab.notes().length, 2);
});

Deno.test(
  skippable("lines of a commit that is not the newest any more are in the note", missing("git")),
  async () => {
    await using gitlab = await rig();
    gitlab.pull.sha = await gitlab.push();
    await gitlab.send(review({ sha: gitlab.head, comments: [comment(2)] }));
    deepEqual(gitlab.threads(), []);
    match(gitlab.notes()[0] ?? "", /Elsewhere/);
  },
);

Deno.test(
  skippable("wherever a try ends, the next one makes nothing twice", missing("git")),
  async () => {
    const comments = [comment(2), comment(2, { side: "LEFT", text: "about 2" }), comment(99)];
    const given = review({ comments, event: "approve" });
    await using gitlab = await rig();
    let [at, calls] = [0, 0];
    for (; at === 0 || calls >= at; at++) {
      for (const isLost of [true, false]) {
        calls = 0;
        gitlab.fake.threads.notes.splice(0);
        gitlab.fake.reviews.approvals.clear();
        gitlab.fake.interfere = async (_call, carryOut) => {
          if (calls++ !== at) return await carryOut();
          if (isLost) await carryOut();
          return new Response("", { status: 502 });
        };
        const first = await gitlab.send(given);
        gitlab.fake.interfere = undefined;
        if (first.result !== "sent") {
          const found = await gitlab.find({ ...given, uncertainSince: gitlab.clock.now() });
          const previousId = found.result === "found" ? found.externalId : "";
          equal((await gitlab.send({ ...given, previousId })).result, "sent", `${at}`);
        }
        const lines = gitlab.threads().map(([, , , left, right]) => [left, right]);
        deepEqual(lines, [[null, 2], [2, null]], `${at}`);
        deepEqual(gitlab.notes().map(textOf), ["Fine\n\n**Elsewhere**\n\n`src/a.ts:99`: about 99"]);
        deepEqual([...gitlab.fake.reviews.approvals.get(gitlab.pull) ?? []], [BOT.id]);
      }
    }
    ok(at >= 8, `${at} calls`);
  },
);

Deno.test(
  skippable("a review that may have arrived is found with its commit", missing("git")),
  async () => {
    await using gitlab = await rig();
    deepEqual(await gitlab.find(review()), { result: "absent" });
    const sent = await gitlab.send(review({ comments: [comment(2)] }));
    const externalId = sent.result === "sent" ? sent.externalId : "";
    deepEqual(await gitlab.find(review()), { result: "found", externalId });
    deepEqual(await gitlab.find({ ...review(), key: "other" }), { result: "absent" });
    gitlab.pull.sha = await gitlab.push();
    deepEqual(await gitlab.find(review()), { result: "absent" }, "that one is of another commit");
  },
);

Deno.test(
  skippable(
    "a note of somebody else with our marker is not found, and its line is free",
    missing("git"),
  ),
  async () => {
    await using gitlab = await rig();
    await gitlab.send(review({ comments: [comment(2)] }));
    const notes = gitlab.fake.threads.notes.splice(0);
    for (const note of notes) gitlab.fake.threads.notes.push({ ...note, author: ADA });
    deepEqual(await gitlab.find(review()), { result: "absent" });
    await gitlab.send(review({ comments: [comment(2)] }));
    deepEqual(gitlab.threads().length, 1);
  },
);

Deno.test(
  skippable(
    "an approval is of the commit that was reviewed, and of no merge request of svc's own",
    missing("git"),
  ),
  async () => {
    await using gitlab = await rig();
    equal((await gitlab.send(review({ event: "approve" }))).result, "sent");
    gitlab.fake.reviews.approvals.clear();
    gitlab.pull.sha = await gitlab.push();
    const late = await gitlab.send(review({ event: "approve", sha: gitlab.head }));
    match(JSON.stringify(late), /"refused".*!1 has newer commits than [0-9a-f]{40}/);
    equal(gitlab.fake.reviews.approvals.size, 0);
    await using own = await rig(BOT);
    const refused = await own.send(review({ event: "approve", comments: [comment(2)] }));
    match(JSON.stringify(refused), /"refused".*does not let svc's user approve merge request !1/);
    deepEqual([own.threads(), own.notes()], [[], []], "nothing is said before it");
  },
);

Deno.test(
  skippable("while GitLab prepares the diff, a review with comments waits", missing("git")),
  async () => {
    await using gitlab = await rig();
    const { base } = gitlab.pull;
    gitlab.pull.base = undefined;
    const later = await gitlab.send(review({ comments: [comment(2)] }));
    deepEqual(later, {
      result: "later",
      reason: "GitLab is still preparing the diff of merge request !1",
      mayHaveArrived: false,
    });
    equal((await gitlab.send({ ...review(), key: "text" })).result, "sent");
    gitlab.pull.base = base;
    await gitlab.send(review({ comments: [comment(2)] }));
    equal(gitlab.threads().length, 1);
  },
);

Deno.test(
  skippable("where GitLab refuses a line after all, it is in the note", missing("git")),
  async () => {
    await using gitlab = await rig();
    gitlab.fake.interfere = ({ path }, carryOut) =>
      path.endsWith("/discussions")
        ? problem(400, "Bad request - Note {:line_code=>[]}")
        : carryOut();
    equal((await gitlab.send(review({ comments: [comment(2)] }))).result, "sent");
    match(textOf(gitlab.notes()[0]) ?? "", /`src\/a.ts:2`: about 2$/);
  },
);

Deno.test(skippable("answers that GitLab makes up do no harm", missing("git")), async () => {
  for (const data of [null, {}, [null, 7, { new_path: 7, diff: {} }, { new_path: "src/a.ts" }]]) {
    await using gitlab = await rig();
    gitlab.fake.interfere = ({ method, path }, carryOut) =>
      method === "GET" && /diffs|notes/.test(path) ? Response.json(data) : carryOut();
    deepEqual(await gitlab.find(review()), { result: "absent" });
    equal((await gitlab.send(review({ comments: [comment(2)] }))).result, "sent");
    deepEqual(gitlab.threads(), []);
  }
  for (const data of [null, {}, { sha: "../../x" }, { sha: "0".repeat(40) }]) {
    await using gitlab = await rig();
    gitlab.fake.interfere = ({ path }, carryOut) =>
      path.endsWith("/merge_requests/1") ? Response.json(data) : carryOut();
    equal((await gitlab.send(review())).result, "refused");
  }
  await using gitlab = await rig();
  gitlab.fake.interfere = ({ method }, carryOut) =>
    method === "POST" ? Response.json({ id: "7" }) : carryOut();
  const unknown = await gitlab.send(review());
  equal(unknown.result === "later" && unknown.mayHaveArrived, true);
});
