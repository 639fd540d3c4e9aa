/**
 * A forge that is against it, for the messages that open, renew and push: a branch that moves at any
 * moment, a repository that is renamed or deleted, a clock that is off, answers without an end. No commit
 * of a person is ever overwritten, nothing is made twice, and what ends says why.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { FORGE_WORDS, type ForgeName, FORGES } from "../../src/base/forge_names.ts";
import { NO_COMMIT } from "../../src/git/change.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import {
  atEachCall,
  saidBy,
  sendAt,
  siteOf,
  unharmed,
  type Work,
  WORKS,
} from "../rigs/pull_site.ts";
import { until } from "../helpers/until.ts";

const NO_GIT = missing("git");
const test = (name: string, body: () => Promise<void>) => Deno.test(skippable(name, NO_GIT), body);
/** One that sends a message once for each of its calls. */
const slow = (name: string, body: () => Promise<void>) =>
  Deno.test(skippable(name, NO_GIT ?? NOT_SLOW), body);

const CASES = FORGES.flatMap((forge) => WORKS.map((work) => [work, forge] as const));

for (const [work, forge] of CASES) {
  const what = `${work} at ${FORGE_WORDS[forge].title}`;

  slow(`${what}, while a person pushes before any call`, async () => {
    const said = /svc never overwrites them; a new task|begin at them with svc task retry$/;
    let theirs: string[] = [];
    await atEachCall([work, forge], async ({ forge: { git, repository }, branch }) => {
      const from = await git.find(repository, `refs/heads/${branch}`) ?? "main";
      theirs = [await git.commit(repository, branch, { "theirs.txt": "x\n" }, { from })];
    }, async (site, result, at) => {
      await unharmed(site, theirs);
      theirs = [];
      if (result.result !== "sent") return match(saidBy(site, result), said, at);
      const { forge: { git, repository, pulls }, branch, commit } = site;
      const on = ["--is-ancestor", commit, `refs/heads/${branch}`];
      equal(await git.tryRun(repository, "merge-base", ...on), "", at);
      equal(pulls(), 1, at);
    });
  });

  test(`${what}, while a person pushes before every call`, async () => {
    await using site = await siteOf(work, forge);
    const { forge: { git, repository, interfere }, branch } = site;
    const theirs: string[] = [];
    interfere((_call, carryOut) =>
      (async () => {
        const from = await git.find(repository, `refs/heads/${branch}`) ?? "main";
        const files = { "theirs.txt": `${theirs.length}\n` };
        theirs.push(await git.commit(repository, branch, files, { from }));
        return await carryOut();
      })()
    );
    const result = await sendAt(site);
    equal(result.result, "refused");
    match(saidBy(site, result), /commits of Ada Pereira since/);
    await unharmed(site, theirs);
  });

  test(`${what}, while the branch goes and comes before every call`, async () => {
    await using site = await siteOf(work, forge);
    const { forge: { git, repository, interfere, pulls }, branch } = site;
    const at = await git.find(repository, `refs/heads/${branch}`) ??
      await git.find(repository, "main") ?? "";
    let calls = 0;
    interfere((_call, carryOut) =>
      (async () => {
        const wanted = ++calls % 2 === 0 ? at : NO_COMMIT;
        await git.tryRun(repository, "update-ref", `refs/heads/${branch}`, wanted);
        return await carryOut();
      })()
    );
    const result = await sendAt(site);
    ok(calls < 200, "it gives up");
    if (result.result !== "sent") {
      // The last ones are git's own words, where it is back at once.
      const said = /moves all the time|no branch|\(head invalid\)|never overwrites|cannot lock ref/;
      match(saidBy(site, result), said);
    }
    ok(pulls() <= 1);
  });

  slow(`${what} in a repository that is renamed before any call`, async () => {
    await atEachCall([work, forge], (site) => site.forge.rename(), (site, result, at) => {
      if (result.result !== "sent") {
        match(saidBy(site, result), /was renamed or transferred, write its new (name|path)$/, at);
      }
      return unharmed(site, []);
    });
  });

  slow(`${what} in a repository that is deleted before any call`, async () => {
    const said = /it does not exist, was renamed, or|has no branch|never overwrites them/;
    await atEachCall([work, forge], ({ forge: { path: own, interfere, notFound } }) => {
      interfere(({ path }) =>
        path.startsWith(own) ? notFound() : new Response("Repository not found.", { status: 404 })
      );
    }, (site, result, at) => {
      if (result.result !== "sent") match(saidBy(site, result), said, at);
      return unharmed(site, []);
    });
  });
}

const HOUR = 3600_000;
const TEN_MINUTES = 600_000;
const CLOCKS = [["ahead", HOUR], ["behind", -HOUR], ["right", 0]] as const;

for (const forge of FORGES) {
  for (const [name, ahead] of CLOCKS) {
    test(`a clock of ${forge} that is ${name}: what was closed before the task was asked for`, async () => {
      for (
        const [closed, wanted] of [[-TEN_MINUTES, "sent"], [TEN_MINUTES, "dropped"]] as const
      ) {
        await using site = await siteOf("renew a pull", forge);
        const { forge: { closePull, interfere, pulls }, rig } = site;
        await closePull(new Date(rig.clock.now() + ahead + closed).toISOString());
        rig.clock.time += 2 * TEN_MINUTES; // a while after it was asked for
        interfere((_call, carryOut) =>
          (async () => {
            const answer = await carryOut();
            const headers = new Headers(answer.headers);
            headers.set("date", new Date(rig.clock.now() + ahead).toUTCString());
            return new Response(answer.body, { status: answer.status, headers });
          })()
        );
        const result = await sendAt(site);
        equal(result.result, wanted, JSON.stringify(result));
        equal(pulls(), wanted === "sent" ? 2 : 1);
        if (result.result === "dropped") match(result.reason, /a new event, or svc task retry/);
      }
    });
  }
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

/** Answers with no end of one kind, the work that asks for them, where, and what the message says. */
const ENDLESS: readonly (readonly [
  what: string,
  work: Work,
  paths: Readonly<Record<ForgeName, RegExp | undefined>>,
  says: RegExp | undefined,
])[] = [
  [
    "pulls of a branch",
    WORKS[0],
    { github: /pulls\?head=/, gitlab: /merge_requests\?.*source_branch=/ },
    /too long/,
  ],
  [
    "open pulls",
    WORKS[0],
    { github: /pulls\?state=open/, gitlab: /merge_requests\?state=opened/ },
    /too long/,
  ],
  ["a pull", WORKS[2], { github: /pulls\/[0-9]+$/, gitlab: /merge_requests\/[0-9]+$/ }, /too long/],
  ["a comparison", WORKS[1], { github: /compare\//, gitlab: /compare\?/ }, /too long/],
  ["a branch", WORKS[0], { github: /git\/ref\//, gitlab: /repository\/branches\// }, /too long/],
  ["a tree", WORKS[1], { github: undefined, gitlab: /repository\/tree\?/ }, /too long/],
  ["the own user", WORKS[0], { github: /\/user$/, gitlab: /\/user$/ }, undefined],
];

for (const [what, work, paths, says] of ENDLESS) {
  for (const forge of FORGES) {
    const path = paths[forge];
    if (path === undefined) continue;

    test(`${what} of ${forge} without an end`, async () => {
      await using site = await siteOf(work, forge);
      site.forge.interfere((call) => path.test(call.path) ? endless() : undefined);
      const result = await sendAt(site);
      site.forge.interfere(undefined);
      if (says === undefined) equal(result.result, "sent");
      else match(saidBy(site, result), says);
      await unharmed(site, []);
    });

    test(`${what} of ${forge} that never ends to come`, async () => {
      await using site = await siteOf(work, forge);
      const { rig, given } = site;
      let asked = 0;
      site.forge.interfere((call) => {
        if (!path.test(call.path)) return undefined;
        asked++;
        return new Response(
          new ReadableStream({ start: (to) => to.enqueue(new Uint8Array([0x5b])) }),
        );
      });
      let isOver = false;
      const sending = rig.send(given).finally(() => void (isOver = true));
      // Each call has its own time.
      for (let ended = 0; !isOver; ended = asked) {
        await until("the next call", () => isOver || asked > ended || undefined);
        if (!isOver) await rig.clock.advance(20_000);
      }
      const result = await sending;
      site.forge.interfere(undefined);
      if (says === undefined) return equal(result.result, "sent");
      equal(result.result, "later");
      match(saidBy(site, result), /did not answer within 20 seconds/);
      equal((await rig.send({ ...given, uncertainSince: 1 })).result, "sent");
      await unharmed(site, []);
    });
  }
}

/** Lists of pulls, page after page. */
const PAGES: Readonly<Record<ForgeName, RegExp>> = {
  github: /pulls\?(state=open|page=)/,
  gitlab: /merge_requests\?(state=opened|page=)/,
};

for (const forge of FORGES) {
  test(`pages of pulls of ${forge} without an end`, async () => {
    await using site = await siteOf("open a pull", forge);
    const { forge: { interfere, url, path: own, name } } = site;
    let pages = 0;
    interfere(({ path }) => {
      if (!PAGES[forge].test(path)) return undefined;
      const list = name === "github" ? "pulls" : "merge_requests";
      const link = `<${url}${own}/${list}?page=${++pages}>; rel="next"`;
      return Response.json([], { headers: { link } });
    });
    equal((await sendAt(site)).result, "sent");
    ok(pages > 1 && pages <= 10, `${pages} pages`);
  });

  test(`pulls of a key at ${forge} without an end`, async () => {
    await using site = await siteOf("open a pull", forge);
    const { forge: { interfere, git, repository } } = site;
    interfere(({ path }) => {
      const [, branch] = /(?:pulls\?head=brightwater%3A|source_branch=)([^&]*)/.exec(path) ?? [];
      if (branch === undefined) return undefined;
      const ref = decodeURIComponent(branch);
      const sha = "a".repeat(40);
      const head = { ref, sha, repo: { full_name: repository } };
      const gitHub = { number: 9, head, base: { ref: "main" }, user: { login: "ada", id: 7 } };
      const gitLab = {
        iid: 9,
        sha,
        source_branch: ref,
        target_branch: "main",
        source_project_id: 1,
        target_project_id: 1,
      };
      return Response.json([{ ...gitHub, ...gitLab, state: "closed" }]);
    });
    const { pull } = FORGE_WORDS[forge];
    match(
      saidBy(site, await sendAt(site)),
      new RegExp(`50 closed ${pull}s .*: use another --key$`),
    );
    deepEqual([...(await git.refs(repository)).keys()], ["refs/heads/main"]);
  });
}
