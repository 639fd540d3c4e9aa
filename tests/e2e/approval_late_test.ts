/**
 * Comments that answer an approval after it is decided: each is told who has decided, once, however often
 * svc sees it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub } from "../fakes/github.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import type { Manifest } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import { asking, comment, fromGitHub, ours, withIssue } from "../rigs/approval_surfaces.ts";

const USERS = ["ada", "bob", "eve", "kim", "zoe"].map((login, index) => ({
  login,
  id: 71 + index,
  type: "User",
}));
const [ADA, BOB, EVE, KIM, ZOE] = USERS as Five;
type Five = [User, User, User, User, User];
type User = typeof USERS[number];

/** Zoe is nobody that svc knows. */
const people = (fake: FakeGitHub): Manifest[] =>
  [ADA, BOB, EVE, KIM].map(({ login: name, id }) => ({
    kind: "Person",
    metadata: { name },
    spec: { role: "read_only", groups: ["ops"], is: [`github:${new URL(fake.url).host}/${id}`] },
  }));

/** Who has answered by a comment, with what became of it. */
async function answers(daemon: TestDaemon): Promise<string[]> {
  using client = daemon.client();
  const { items } = await client.call("get", { what: "control-audits", limit: 500 });
  const rows = items as unknown as readonly Record<string, string>[];
  return rows.filter(({ operation }) => operation === "approval.answer")
    .map(({ caller = "", result = "" }) => `${caller.split(" ")[0]} ${result}`).toReversed();
}

/** The comment with the replies of the newest question. */
const reply = (fake: FakeGitHub) => ours(fake).findLast((one) => / at GitHub: /.test(one)) ?? "";

const told = (fake: FakeGitHub, what: RegExp) =>
  until(`a reply ${what}`, () => what.test(reply(fake)) || undefined);

/** Asks in the thread, and returns the code; `nth` counts the questions. */
async function ask(daemon: TestDaemon, fake: FakeGitHub, nth: number): Promise<string> {
  await comment(daemon, fake, "/deploy", { written: "none" });
  return await until(`question ${nth}`, () => codes(fake).at(-1));
}

/** The codes that the thread shows. */
const codes = (fake: FakeGitHub) =>
  ours(fake).flatMap((one) => /^\u200b\/approve ([0-9a-f]{8})$/m.exec(one)?.[1] ?? []);

programTest("a comment after the decision is told who has decided, once", async (program) => {
  await using fake = withIssue(fakeGitHub());
  await using directory = await initDataDirectory(program);
  const say = (daemon: TestDaemon, user: User, text: string) =>
    comment(daemon, fake, text, { user });
  let code = "";
  {
    await using daemon = await startDaemon(program, { directory });
    await daemon.apply(...people(fake), asking({ by: ["@ops"] }), ...fromGitHub(fake));
    code = await ask(daemon, fake, 1);
    await say(daemon, ADA, `/approve ${code}`);
    await daemon.settled();

    await say(daemon, BOB, "Looks good");
    await say(daemon, BOB, "/approve 00000000");
    await comment(daemon, fake, `/reject ${code}`, { user: BOB, action: "edited" });
    await comment(daemon, fake, `/reject ${code}`, { user: BOB, issue: 8 });
    await say(daemon, ADA, `/approve ${code}`); // her answer already
    await say(daemon, BOB, `/approve ${code}`);
    await told(fake, /^bob at GitHub: It is decided since .*: ada at GitHub approved it\.$/);
    await say(daemon, EVE, `/reject ${code} not today`);
    const id = fake.issues.comments.findLast(({ user }) => user.id === EVE.id)?.id ?? 0;
    // GitHub tells of it once more: the repository has two webhooks, or somebody redelivers it.
    await comment(daemon, fake, `/reject ${code} not today`, { user: EVE, id });
    await told(fake, /^eve at GitHub: It is decided since/);
    await say(daemon, ZOE, `/approve ${code}`); // who may not answer learns no more than the thread shows
    await told(fake, /^zoe at GitHub: It is decided since/);
    deepEqual(await answers(daemon), ["ada done", "bob failed", "eve failed", "zoe failed"]);
    equal(ours(fake).length, 2, "one comment for all replies");
  }
  {
    // It looks again at what came shortly before.
    await using daemon = await startDaemon(program, { directory });
    const next = await ask(daemon, fake, 2);
    await say(daemon, KIM, `/approve ${code}`);
    await told(fake, /^kim at GitHub: It is decided since/);
    const after = [
      ...["ada done"],
      ...["bob", "eve", "zoe", "kim"].map((name) => `${name} failed`),
    ];
    deepEqual(await answers(daemon), after, "nothing is told twice");
    equal(ours(fake).length, 3, "and the question that is open now is told nothing");
    await say(daemon, BOB, `/reject ${next}`);
    const tasks = await daemon.settled();
    deepEqual(tasks.map(({ state }) => state).toSorted(), ["failed", "succeeded"]);
  }
});

programTest("a comment to a question that ended without an answer is told so", async () => {
  await using fake = withIssue(fakeGitHub());
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(...people(fake), asking({ by: ["@ops"] }), ...fromGitHub(fake));
  const code = await ask(daemon, fake, 1);
  const [task] = await daemon.tasks();
  equal((await daemon.svc(["task", "cancel", task?.id ?? ""])).code, 0);
  await daemon.settled();
  await comment(daemon, fake, `/approve ${code}`, { user: BOB });
  await told(fake, /^bob at GitHub: The task has ended, or is being cancelled\.$/);
  deepEqual(await answers(daemon), ["bob failed"]);

  await daemon.apply(asking({ by: ["@ops"], timeout: "1s" }));
  const late = await ask(daemon, fake, 2);
  await daemon.settled();
  await comment(daemon, fake, `/approve ${late}`, { user: EVE });
  await told(fake, /^eve at GitHub: It is decided since .*time/);
  match((await answers(daemon)).at(-1) ?? "", /^eve failed/);
});

programTest(
  "tasks that ask in one thread have a comment each, and each comment is for its own question",
  async () => {
    await using fake = withIssue(fakeGitHub());
    await using daemon = await startDaemon(ONE_PROGRAM);
    await daemon.apply(...people(fake), asking({ by: ["@ops"] }), ...fromGitHub(fake));
    for (const _ of [1, 2]) await comment(daemon, fake, "/deploy", { written: "none" });
    const [first, second] = await until("both questions", () => {
      const found = codes(fake);
      return found.length === 2 ? found : undefined;
    });
    await comment(daemon, fake, `/reject ${second}`, { user: BOB });
    await until("its end", () => codes(fake).length === 1 || undefined);
    deepEqual(codes(fake), [first]);
    await comment(daemon, fake, `/approve ${first}`, { user: ADA });
    const tasks = await daemon.settled();
    deepEqual(tasks.map(({ state }) => state).toSorted(), ["failed", "succeeded"]);
    deepEqual(await answers(daemon), ["bob done", "ada done"], "none was told of another question");
  },
);
