/**
 * Approvals that are answered outside of svc: by a button in Slack and by a comment at a forge. Each is
 * one answer of one person to what was shown, however often it comes, and whoever else tries.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { fakeGitHub, TOKEN } from "../fakes/github.ts";
import { fakeSlack } from "../fakes/slack.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import {
  ADA,
  adaAt,
  ANOTHER_SECRET,
  askedAtGitHub,
  askedInSlack,
  asking,
  click,
  clickBody,
  comment,
  EVE,
  fromGitHub,
  fromSlack,
  MONA,
  notes,
  openCount,
  ours,
  postsOf,
  routed,
  withIssue,
} from "../rigs/approval_surfaces.ts";

programTest(
  "a button in Slack answers for who clicked it, and for nobody else",
  async (program) => {
    await using slack = fakeSlack();
    await using daemon = await startDaemon(program);
    await daemon.apply(ADA, asking(), ...fromSlack(slack));
    const at = await askedInSlack(daemon, slack);
    equal(await click(daemon, clickBody(at.approve, at), { secret: "forged" }), 401);
    const old = String(Math.floor(Date.now() / 1000) - 3600);
    equal(await click(daemon, clickBody(at.approve, at), { time: old }), 401);
    equal(await click(daemon, clickBody(at.approve, at, { user: "U0BOB" })), 200);
    equal(await click(daemon, clickBody(at.approve, at, { channel: "C0002" })), 200);
    equal(await click(daemon, clickBody(at.approve, at, { ts: "1700000100.000099" })), 200);
    const other = String(at.approve["value"]).replace(/[0-9a-f]{64}$/, "0".repeat(64));
    equal(await click(daemon, clickBody({ ...at.approve, value: other }, at)), 200);
    await routed(daemon, 5);
    equal(await openCount(daemon), 1, "nothing of that was an answer");
    await until("two notes", () => notes(slack).length === 2 || undefined);
    match(
      notes(slack).join("\n"),
      /U0BOB: .*u0bob at Slack is not among those who may answer: ada/,
    );
    match(notes(slack).join("\n"), /U0ADA: .*What is asked is not what was shown/);
    const body = clickBody(at.approve, at);
    for (const _ of [1, 2]) equal(await click(daemon, body), 200);
    const [task] = await daemon.settled();
    equal(task?.state, "succeeded");
    await until(
      "the post without buttons",
      () =>
        slack.calls.some(({ method, body }) =>
          method === "chat.update" && /approved by ada/.test(JSON.stringify(body)) &&
          !JSON.stringify(body).includes("svc-approve")
        ) || undefined,
    );
    equal(await click(daemon, clickBody(at.reject, at)), 200);
    await until(
      "a third note about it",
      () => notes(slack).some((note) => /U0ADA: .*decided since/.test(note)) || undefined,
    );
    equal((await daemon.tasks()).length, 1, "a click starts no task");
    equal(postsOf(slack).length, 1);
  },
);

programTest("a question that ends without a click has no buttons any more", async () => {
  await using slack = fakeSlack();
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(ADA, asking(), ...fromSlack(slack));
  await askedInSlack(daemon, slack);
  const [task] = await daemon.tasks();
  equal((await daemon.svc(["task", "cancel", task?.id ?? ""])).code, 0);
  const update = await until(
    "the update",
    () => slack.calls.find(({ method }) => method === "chat.update"),
  );
  match(JSON.stringify(update.body), /was ended before anybody decided/);
  ok(!JSON.stringify(update.body).includes("svc-approve"));
});

programTest(
  "a comment at GitHub answers, if it is new, signed, of a person, and in the thread",
  async (program) => {
    await using fake = withIssue(fakeGitHub());
    await using daemon = await startDaemon(program);
    await daemon.apply(adaAt(fake), EVE, asking(), ...fromGitHub(fake));
    const code = await askedAtGitHub(daemon, fake);
    const yes = `/approve ${code}`;
    equal(await comment(daemon, fake, yes, { secret: "forged" }), 401);
    const bob = { login: "bob", id: 8, type: "User" };
    await comment(daemon, fake, yes, { secret: ANOTHER_SECRET, written: "none" });
    await comment(daemon, fake, yes, { written: { body: "Looks good" } });
    await comment(daemon, fake, yes, { written: { issue: 8 } });
    await comment(daemon, fake, yes, { written: { updated_at: "2030-01-01T00:00:00Z" } });
    await comment(daemon, fake, yes, {
      written: { user: { login: "mona[bot]", id: 7 } },
    });
    await comment(daemon, fake, `${yes} ${"x".repeat(5000)}`, { user: bob });
    await comment(daemon, fake, `${yes}\n\n<!-- svc ${"0".repeat(26)} reply ${"0".repeat(40)} -->`);
    await comment(daemon, fake, yes, { issue: 8 });
    await comment(daemon, fake, yes, { action: "edited" });
    await comment(daemon, fake, yes, { user: { login: "mona[bot]", id: 7, type: "Bot" } });
    await comment(daemon, fake, yes, { user: { login: TOKEN.login, id: TOKEN.id, type: "User" } });
    await comment(daemon, fake, `Looks good\n${yes}`);
    await comment(daemon, fake, yes, { written: { user: bob } });
    const replies = () => ours(fake).slice(1);
    await until(
      "the reply to bob",
      () =>
        replies().some((one) => /bob at GitHub is not among those who may answer: ada/.test(one)) ||
        undefined,
    );
    await comment(daemon, fake, "/approve 00000000");
    await until(
      "the reply with the code of now",
      () => replies().some((one) => one.includes(`its digest is ${code} now`)) || undefined,
    );
    equal(replies().length, 1, "one comment for all replies");
    equal(await openCount(daemon), 1, "nothing of that was an answer");
    await comment(daemon, fake, `${yes} ship it`);
    const [task] = await daemon.settled();
    deepEqual([task?.state, (await daemon.tasks()).length], ["succeeded", 1]);
    await until(
      "the question that is over",
      () => /^\*\*approved by ada at GitHub: ship it\*\*/.test(ours(fake)[0] ?? "") || undefined,
    );
    ok(!(ours(fake)[0] ?? "").includes("/approve"));
  },
);

programTest(
  "whoever may write answers if the forge says so now, and no reply is a no",
  async () => {
    await using fake = withIssue(fakeGitHub());
    await using daemon = await startDaemon(ONE_PROGRAM);
    const lists = ["bob", "eve"].map((login, index) => ({ login, id: 8 + index, type: "User" }));
    const [bob = MONA, eve = MONA] = lists;
    const rights: Record<string, string> = { bob: "write", eve: "read" };
    let isAway = true;
    fake.interfere = ({ path }) => {
      const [, login] = /\/collaborators\/(\w+)\/permission$/.exec(path) ?? [];
      if (login === undefined) return undefined;
      if (isAway) return Response.json({ message: "away" }, { status: 404 });
      const user = lists.find((one) => one.login === login);
      return Response.json({ permission: rights[login], user });
    };
    await daemon.apply(asking({ by: ["github:write"] }), ...fromGitHub(fake));
    const code = await askedAtGitHub(daemon, fake);
    const say = (user: typeof MONA) => comment(daemon, fake, `/approve ${code}`, { user });
    const refusedTo = (login: string) =>
      until(
        `the reply to ${login}`,
        () => ours(fake).some((one) => one.startsWith(`${login} at GitHub: `)) || undefined,
      );
    await say(bob);
    await refusedTo("bob");
    isAway = false;
    await say(eve);
    await refusedTo("eve");
    equal(await openCount(daemon), 1);
    await say(bob);
    const [task] = await daemon.settled();
    equal(task?.state, "succeeded");
  },
);
