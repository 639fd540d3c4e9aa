/**
 * A GitHub that is against it, for `github-pull` and `github-push`: a branch that moves at any moment, a
 * repository that is renamed or deleted, a token without the right, a clock that is off, answers without
 * an end. No commit of a person is ever overwritten, nothing is made twice, and what ends says why.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { pullKinds } from "../../src/outbox/pull.ts";
import { pushKinds } from "../../src/outbox/push.ts";
import { NO_COMMIT } from "../../src/git/change.ts";
import type { SendResult } from "../../src/outbox/message_kind.ts";
import { type FakeToken, type Interference, problem, TOKEN } from "../fakes/github.ts";
import { type FakeGitHubWithGit, fakeGitHubWithGit } from "../fakes/github_git.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import {
  githubSending,
  type GitHubSendingRig,
  type Given,
  REPOSITORY,
} from "../rigs/github_sending.ts";
import { PackBuilder } from "../rigs/pack_builder.ts";

const TASK = "01JZZZZZZZZZZZZZZZZZ0000TA";
const ADA = { login: "ada", id: 7 };
const BRANCH = "svc/fix-1";
const IN = `/repos/${REPOSITORY}`;
/** More calls than a message makes. */
const MAX_CALLS = 30;
/** As often as a message is tried here. */
const MAX_TRIES = 5;

/** What a message is about to do. */
const WORKS = ["open a pull request", "renew a pull request", "push onto a pull request"] as const;
type Work = typeof WORKS[number];

/** A message that is about to be sent. */
interface Site extends AsyncDisposable {
  readonly fake: FakeGitHubWithGit;
  readonly rig: GitHubSendingRig;
  readonly given: Given;
  /** The branch that it changes, and the commit that it brings there. */
  readonly branch: string;
  readonly commit: string;
}

async function siteOf(
  work: Work,
  { tokens = [TOKEN], askedAt }: {
    readonly tokens?: readonly FakeToken[];
    readonly askedAt?: number;
  } = {},
): Promise<Site> {
  await using opening = new AsyncDisposableStack();
  const fake = opening.use(await fakeGitHubWithGit({ tokens }));
  const isPush = work === "push onto a pull request";
  const rig = opening.use(await githubSending(isPush ? pushKinds : pullKinds, fake));
  const branch = isPush ? "topic" : BRANCH;
  let start = await fake.git.find(REPOSITORY, "main") ?? "";
  let number = 0;
  if (isPush) {
    start = await fake.git.commit(REPOSITORY, branch, { "topic.txt": "x\n" }, { from: "main" });
    ({ number } = await fake.pulls.open({ repository: REPOSITORY, user: ADA, head: branch }));
  }
  const of = (text: string): { readonly given: Given; readonly commit: string } => {
    const builder = new PackBuilder();
    const tree = builder.files({ "README.md": text });
    const place = { forge: "github", project: "default", repository: REPOSITORY, tree } as const;
    const message = `Fix it\n\n${rig.markers.makeTrailers(place, TASK)}\n`;
    const commit = builder.commit(tree, { parents: [start], message });
    const counted = { files: 1, added: 1, removed: 1, workflows: false };
    const body = {
      ...counted,
      commit,
      start,
      tree,
      base: "main",
      branch: BRANCH,
      title: "Fix it",
      text: "It works",
      draft: true,
      labels: ["automated"],
      reviewers: [],
      fixes: 0,
      trigger: "fix",
      notes: [],
      pullKey: "fix",
      taskId: TASK,
      workflow: "fix",
      asker: "ada",
      askedAt: askedAt ?? rig.clock.now(),
    };
    return {
      commit,
      given: { key: "fix", target: isPush ? { number } : {}, body, pack: builder.pack() },
    };
  };
  if (work === "renew a pull request") {
    equal((await rig.send(of("before\n").given)).result, "sent");
    fake.calls.length = 0;
  }
  const open = opening.move();
  return {
    fake,
    rig,
    branch,
    ...of("after\n"),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Sends it as often as the outbox would, and gives the last result. */
async function send({ rig, given }: Site, work = rig.send(given)): Promise<SendResult> {
  let result = await work;
  for (let tried = 1; tried < MAX_TRIES && result.result === "later"; tried++) {
    result = await rig.send({ ...given, uncertainSince: 1 });
  }
  return result;
}

/** Does something before the nth call from now on. */
function before(nth: number, act: () => Promise<void> | void): Interference {
  let left = nth;
  return (_call, carryOut) => {
    if (--left !== 0) return undefined;
    return (async () => {
      await act();
      return await carryOut();
    })();
  };
}

/** The commits of a person are on the branch, and svc has no second pull request. */
async function unharmed({ fake, branch }: Site, theirs: readonly string[]): Promise<void> {
  for (const commit of theirs) {
    const range = [commit, `refs/heads/${branch}`];
    const kept = await fake.git.tryRun(REPOSITORY, "merge-base", "--is-ancestor", ...range);
    equal(kept, "", "the commit of a person is on the branch");
  }
  ok(fake.pulls.pulls.length <= 1, "one pull request");
  ok((await fake.git.refs(REPOSITORY)).size <= 2, "one branch");
}

/** What a message that was not sent says. */
function saidBy(result: SendResult): string {
  ok(result.result === "refused" || result.result === "later" || result.result === "dropped");
  ok(result.reason.length < 1000 && !/\p{Cc}/u.test(result.reason), result.reason);
  ok(!result.reason.includes(TOKEN.token));
  return result.reason;
}

const NO_GIT = missing("git");
const test = (name: string, body: () => Promise<void>) => Deno.test(skippable(name, NO_GIT), body);
/** One that sends a message once for each of its calls. */
const slow = (name: string, body: () => Promise<void>) =>
  Deno.test(skippable(name, NO_GIT ?? NOT_SLOW), body);

/**
 * Tries it with something that happens before each call in turn, until a message makes no more calls.
 * `check` gets what came of each.
 */
async function atEachCall(
  work: Work,
  act: (site: Site) => Promise<void> | void,
  check: (site: Site, result: SendResult, at: string) => Promise<void> | void,
): Promise<void> {
  for (let nth = 1; nth <= MAX_CALLS; nth++) {
    await using site = await siteOf(work);
    let done = false;
    site.fake.interfere = before(nth, async () => {
      done = true;
      await act(site);
    });
    const result = await send(site);
    site.fake.interfere = undefined;
    const { method = "", path = "" } = site.fake.calls[nth - 1] ?? {};
    const at = `${work}, call ${nth}: ${method} ${path}: ${JSON.stringify(result)}`;
    await check(site, result, at);
    if (!done) return ok(nth > 4, "it makes calls");
  }
  throw new Error(`More than ${MAX_CALLS} calls`);
}

for (const work of WORKS) {
  slow(`${work}, while a person pushes before any call`, async () => {
    const said = /svc never overwrites them; a new task|begin at them with svc task retry$/;
    let theirs: string[] = [];
    await atEachCall(work, async ({ fake, branch }) => {
      const from = await fake.git.find(REPOSITORY, `refs/heads/${branch}`) ?? "main";
      theirs = [await fake.git.commit(REPOSITORY, branch, { "theirs.txt": "x\n" }, { from })];
    }, async (site, result, at) => {
      await unharmed(site, theirs);
      theirs = [];
      if (result.result !== "sent") return match(saidBy(result), said, at);
      const { fake, branch, commit } = site;
      const on = ["--is-ancestor", commit, `refs/heads/${branch}`];
      equal(await fake.git.tryRun(REPOSITORY, "merge-base", ...on), "", at);
      equal(fake.pulls.pulls.length, 1, at);
    });
  });

  test(`${work}, while a person pushes before every call`, async () => {
    await using site = await siteOf(work);
    const { fake, branch } = site;
    const theirs: string[] = [];
    fake.interfere = (_call, carryOut) =>
      (async () => {
        const from = await fake.git.find(REPOSITORY, `refs/heads/${branch}`) ?? "main";
        const files = { "theirs.txt": `${theirs.length}\n` };
        theirs.push(await fake.git.commit(REPOSITORY, branch, files, { from }));
        return await carryOut();
      })();
    const result = await send(site);
    equal(result.result, "refused");
    match(saidBy(result), /commits of Ada Pereira since/);
    await unharmed(site, theirs);
  });

  test(`${work}, while the branch goes and comes before every call`, async () => {
    await using site = await siteOf(work);
    const { fake, branch } = site;
    const at = await fake.git.find(REPOSITORY, `refs/heads/${branch}`) ??
      await fake.git.find(REPOSITORY, "main") ?? "";
    let calls = 0;
    fake.interfere = (_call, carryOut) =>
      (async () => {
        const wanted = ++calls % 2 === 0 ? at : NO_COMMIT;
        await fake.git.tryRun(REPOSITORY, "update-ref", `refs/heads/${branch}`, wanted);
        return await carryOut();
      })();
    const result = await send(site);
    ok(calls < 150, "it gives up");
    if (result.result !== "sent") {
      // The last ones are git's own words, where it is back at once.
      const said = /moves all the time|no branch|\(head invalid\)|never overwrites|cannot lock ref/;
      match(saidBy(result), said);
    }
    ok(fake.pulls.pulls.length <= 1);
  });

  slow(`${work} in a repository that is renamed before any call`, async () => {
    await atEachCall(
      work,
      ({ fake }) => void fake.state.renamed.set(REPOSITORY, "brightwater/lagoon"),
      (site, result, at) => {
        if (result.result !== "sent") {
          match(saidBy(result), /was renamed or transferred, write its new name$/, at);
        }
        return unharmed(site, []);
      },
    );
  });

  slow(`${work} in a repository that is deleted before any call`, async () => {
    await atEachCall(work, ({ fake }) => {
      fake.interfere = ({ path }) =>
        path.startsWith(IN)
          ? problem(404, "Not Found")
          : new Response("Repository not found.", { status: 404 });
    }, (site, result, at) => {
      if (result.result !== "sent") {
        match(
          saidBy(result),
          /it does not exist, was renamed, or|has no branch any more: restore it|never overwrites them/,
          at,
        );
      }
      return unharmed(site, []);
    });
  });

  for (const right of ["contents=write", "pull_requests=write", "issues=write"]) {
    test(`${work} with a token that lacks ${right}, until it has it`, async () => {
      const rights = ["contents=write", "pull_requests=write", "issues=write"];
      const permissions = work === "renew a pull request" ? [...rights] : [];
      if (work !== "renew a pull request") {
        permissions.push(...rights.filter((one) => one !== right));
      }
      await using site = await siteOf(work, { tokens: [{ ...TOKEN, permissions }] });
      if (permissions.includes(right)) permissions.splice(permissions.indexOf(right), 1);
      const result = await send(site);
      const { fake, branch, commit } = site;
      const isUnneeded = work === "push onto a pull request" && right !== "contents=write" ||
        // The title, the text and the labels are as they were.
        work === "renew a pull request" && right === "issues=write";
      if (isUnneeded) return equal(result.result, "sent");
      equal(result.result, "refused");
      match(saidBy(result), new RegExp(`needs the permission ${right}`));
      await unharmed(site, []);
      permissions.push(right);
      equal((await send(site, site.rig.send({ ...site.given, uncertainSince: 1 }))).result, "sent");
      equal(await fake.git.find(REPOSITORY, `refs/heads/${branch}`), commit);
      await unharmed(site, []);
    });
  }
}

const HOUR = 3600_000;
const TEN_MINUTES = 600_000;

for (
  const [name, ahead] of [["ahead", HOUR], ["behind", -HOUR], ["right", 0]] as const
) {
  test(`a clock of GitHub that is ${name}: what was closed before the task was asked for`, async () => {
    for (
      const [closed, wanted] of [[-TEN_MINUTES, "sent"], [TEN_MINUTES, "dropped"]] as const
    ) {
      await using site = await siteOf("renew a pull request");
      const { fake, rig } = site;
      const [pull] = fake.pulls.pulls;
      ok(pull !== undefined);
      fake.setNow(new Date(rig.clock.now() + ahead + closed).toISOString());
      await fake.pulls.close(pull, ADA);
      rig.clock.time += 2 * TEN_MINUTES; // a while after it was asked for
      fake.interfere = (_call, carryOut) =>
        (async () => {
          const answer = await carryOut();
          const headers = new Headers(answer.headers);
          headers.set("date", new Date(rig.clock.now() + ahead).toUTCString());
          return new Response(answer.body, { status: answer.status, headers });
        })();
      const result = await send(site);
      equal(result.result, wanted, JSON.stringify(result));
      equal(fake.pulls.pulls.length, wanted === "sent" ? 2 : 1);
      if (result.result === "dropped") match(result.reason, /a new event, or svc task retry/);
    }
  });
}

/** An answer that begins like a list, and goes on. */
function endless(): Response {
  const piece = new TextEncoder().encode(`{"number":1,"state":"open"},`.repeat(4000));
  let isFirst = true;
  const body = new ReadableStream({
    pull(to) {
      to.enqueue(isFirst ? new TextEncoder().encode("[") : piece);
      isFirst = false;
    },
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

/** Answers with no end of one kind, the work that asks for them, and what the message says. */
const ENDLESS: readonly (readonly [
  what: string,
  work: Work,
  path: RegExp,
  says: RegExp | undefined,
])[] = [
  ["pull requests of a branch", WORKS[0], /pulls\?head=/, /too long/],
  ["open pull requests", WORKS[0], /pulls\?state=open/, /too long/],
  ["a pull request", WORKS[2], /pulls\/[0-9]+$/, /too long/],
  ["a comparison", WORKS[1], /compare\//, /too long/],
  ["a branch", WORKS[0], /git\/ref\//, /too long/],
  ["the own user", WORKS[0], /\/user$/, undefined],
];

for (const [what, work, path, says] of ENDLESS) {
  test(`${what} without an end`, async () => {
    await using site = await siteOf(work);
    const { fake } = site;
    fake.interfere = (call) => path.test(call.path) ? endless() : undefined;
    const result = await send(site);
    fake.interfere = undefined;
    if (says === undefined) equal(result.result, "sent");
    else match(saidBy(result), says);
    await unharmed(site, []);
  });

  test(`${what} that never ends to come`, async () => {
    await using site = await siteOf(work);
    const { fake, rig, given } = site;
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    fake.interfere = (call) => {
      if (!path.test(call.path)) return undefined;
      reach();
      return new Response(
        new ReadableStream({ start: (to) => to.enqueue(new Uint8Array([0x5b])) }),
      );
    };
    const sending = rig.send(given);
    await reached;
    await rig.clock.advance(20_000);
    const result = await sending;
    fake.interfere = undefined;
    if (says === undefined) return equal(result.result, "sent");
    equal(result.result, "later");
    match(saidBy(result), /did not answer within 20 seconds/);
    equal((await rig.send({ ...given, uncertainSince: 1 })).result, "sent");
    await unharmed(site, []);
  });
}

test("pages of pull requests without an end", async () => {
  await using site = await siteOf("open a pull request");
  const { fake } = site;
  let pages = 0;
  fake.interfere = ({ path }) => {
    if (!/pulls\?(state=open|page=)/.test(path)) return undefined;
    const link = `<${fake.url}${IN}/pulls?page=${++pages}>; rel="next"`;
    return Response.json([], { headers: { link } });
  };
  equal((await send(site)).result, "sent");
  ok(pages <= 10, `${pages} pages`);
});

test("pull requests of a key without an end", async () => {
  await using site = await siteOf("open a pull request");
  const { fake } = site;
  fake.interfere = ({ path }) => {
    const [, branch] = /pulls\?head=brightwater%3A([^&]*)/.exec(path) ?? [];
    if (branch === undefined) return undefined;
    const ref = decodeURIComponent(branch);
    const head = { ref, sha: "a".repeat(40), repo: { full_name: REPOSITORY } };
    return Response.json([{ number: 9, state: "closed", head, base: { ref: "main" }, user: ADA }]);
  };
  match(saidBy(await send(site)), /50 closed pull requests .*: use another --key$/);
  deepEqual([...(await fake.git.refs(REPOSITORY)).keys()], ["refs/heads/main"]);
});
