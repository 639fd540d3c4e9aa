/**
 * Approvals that are answered by a comment at GitLab. Maintainers of a project choose there what its
 * webhooks send, so an event that is signed may say anything: what counts is what GitLab shows.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { ADA, BOT, GITLAB_PROJECT as PROJECT } from "../fakes/gitlab.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { until } from "../helpers/until.ts";
import { ADAS, BOB, MALLORY, ROBOT, Site } from "../rigs/approval_gitlab.ts";

const NO_GIT = defined({ skip: missing("git") });

programTest(
  "a comment at GitLab answers as GitLab shows it, whatever its event says",
  async (program) => {
    await using site = await Site.open(program, { by: ["ada", "bob"], need: 2 });
    const { gitlab, daemon, issue } = site;
    const code = await site.ask();
    const yes = `approve ${code}`;
    const asAda = { author: ADA, text: yes };
    // The event is signed, and its author is one who may answer.
    const nowhere = { id: 999_999, author: ADA, body: yes, thread: site.thread, internal: false };
    await site.tell(nowhere);
    await site.say(ADA, yes, { thread: issue, told: { thread: site.thread } });
    await site.say(ADA, "Looks good", { told: asAda });
    await site.say(ADA, yes, { system: true });
    await site.say(ADA, yes, { internal: true });
    await site.say(ROBOT, yes, { told: asAda });
    await site.say(ROBOT, yes);
    await site.say(BOT, yes, { told: asAda });
    const edited = gitlab.threads.note(site.thread, ADA, "What is this?");
    edited.body = yes; // as a maintainer can, in the name of its author
    edited.updated_at = "2030-01-01T00:00:00.000Z";
    await site.tell(edited);
    await site.say(ADA, yes, { told: { action: "update" } });
    await site.say(ADA, yes, { thread: issue });
    await site.say(ADA, `Looks good\n${yes}`);
    await site.say(MALLORY, yes, { told: asAda });
    await site.replied(/^mallory at GitLab: mallory at GitLab is not among those who may answer/);
    await site.say(ADA, "approve 00000000");
    await site.replied(new RegExp(`its digest is ${code} now`));
    equal(await site.openCount(), 1, "nothing of that was an answer");
    equal(site.ours().length, 2, "one comment for all replies");

    const right = await site.say(ADA, `${yes} ship it`);
    for (const _ of [1, 2]) await site.tell(right);
    await until("the last look", async () => {
      const audit = JSON.stringify(await daemon.json("get", "control-audits"));
      return audit.split(`approved ${code} gitlab`).length > 4 || undefined;
    });
    const [question] = await daemon.json("get", "approvals") as { answers: { by: string }[] }[];
    deepEqual(question?.answers.map(({ by }) => by), ["ada at GitLab"], "one answer, told thrice");
    await site.say(BOB, yes);
    const [task] = await daemon.settled();
    deepEqual([task?.state, (await daemon.tasks()).length], ["succeeded", 1]);
    const over = /^\*\*approved by ada at GitLab and bob at GitLab\*\*/;
    await until(
      "the question that is over",
      () => over.test(site.ours()[0] ?? "") || undefined,
    );
  },
  NO_GIT,
);

programTest(
  "who may write at GitLab answers if GitLab says so now, and no reply is no answer",
  async () => {
    await using site = await Site.open(ONE_PROGRAM, { by: ["gitlab:write"] });
    const { gitlab, daemon } = site;
    const code = await site.ask();
    await site.say(MALLORY, `approve ${code}`, { told: { author: ADA } });
    await site.replied(/^mallory at GitLab: .* is not among those who may answer: gitlab:write/);
    let fails = /\/notes\/[0-9]+$/;
    gitlab.interfere = ({ method, path }) =>
      method === "GET" && fails.test(path)
        ? Response.json({ message: "away" }, { status: 502 })
        : undefined;
    const note = await site.say(ADA, `approve ${code}`);
    await site.replied(
      /^A comment could not be read at GitLab, so it did not count: write it again/,
    );
    fails = /\/members\/all\//;
    await site.tell(note);
    await site.replied(/^ada at GitLab: .* is not among those who may answer/);
    fails = /\/users\//;
    await site.tell(note);
    await site.replied(/^A comment could not be read/);
    equal(await site.openCount(), 1);
    gitlab.interfere = undefined;
    await site.tell(note);
    const [task] = await daemon.settled();
    equal(task?.state, "succeeded");
  },
  NO_GIT,
);

programTest("the line that a question at GitLab shows is no command of GitLab", async () => {
  await using site = await Site.open(ONE_PROGRAM, { by: ["ada"] });
  const code = await site.ask();
  const { gitlab, daemon, thread } = site;
  const post = (body: string) =>
    fetch(
      `${gitlab.url}/projects/${encodeURIComponent(PROJECT)}/merge_requests/${thread.iid}/notes`,
      {
        method: "POST",
        headers: { "private-token": ADAS.token, "content-type": "application/json" },
        body: JSON.stringify({ body }),
      },
    );
  const command = await post(`/approve ${code}`);
  equal(command.status, 202, "GitLab takes it for its own, and makes no comment");
  await command.body?.cancel();
  match(gitlab.threads.executed.at(-1)?.line ?? "", /^\/approve/);
  const answer = await post(`approve ${code}`);
  equal(answer.status, 201);
  const { id } = await answer.json();
  const note = gitlab.threads.notes.find((one) => one.id === id);
  ok(note !== undefined);
  await site.tell(note);
  equal((await daemon.settled())[0]?.state, "succeeded");
}, NO_GIT);
