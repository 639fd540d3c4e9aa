/**
 * GitLab's log of deliveries: what its entries mean, and sending again within its limit.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { gitLabHooks } from "../../../src/connections/gitlab/hooks.ts";
import { GITLAB_PROJECT, GITLAB_TOKEN, problem } from "../../fakes/gitlab.ts";
import { type HookedGitLab, hookedGitLab } from "../../fakes/gitlab_hooks.ts";
import { missing, skippable } from "../../helpers/requirements.ts";

/** A webhook of which nothing arrives, with its log; the pauses are noted and not waited for. */
async function madeHook(gitlab: HookedGitLab) {
  const pauses: number[] = [];
  const clock = {
    ...systemClock,
    pause: (ms: number) => {
      pauses.push(ms);
      return Promise.resolve();
    },
  };
  const access = { api: gitlab.url, token: () => GITLAB_TOKEN.token, clock };
  const hooks = gitLabHooks(access, { project: GITLAB_PROJECT });
  const { hook } = await hooks.ensure({
    wanted: { url: "http://127.0.0.1:9/", secret: "plain", events: ["push"] },
    known: [],
  });
  const made = gitlab.hooks.hooks.get(hook.id);
  ok(made !== undefined);
  return { hooks, hook: made, log: hooks.log(hook.id), pauses };
}

async function tries(log: Awaited<ReturnType<typeof madeHook>>["log"]) {
  const page = await log.readPage();
  ok(typeof page === "object" && "tries" in page, JSON.stringify(page));
  return page.tries;
}

Deno.test(
  skippable(
    "an entry tells event, action, status and time, also where GitLab does not",
    missing("git"),
  ),
  async () => {
    await using gitlab = await hookedGitLab();
    const { hook, log } = await madeHook(gitlab);
    const payload = { object_kind: "note", object_attributes: { action: "create" } };
    await gitlab.hooks.execute(hook, { event: "Note Hook", payload, key: "k1" });
    const [one] = await tries(log);
    deepEqual(
      [one?.guid, one?.event, one?.action, one?.statusCode, one?.status, one?.isPing],
      ["k1", "note", "create", 0, "no answer", false],
    );
    const [entry] = gitlab.hooks.tries;
    ok(entry !== undefined);
    const headers = Object.entries(entry.headers).filter(([name]) => !name.startsWith("webhook-"));
    const times: readonly (readonly [string, Record<string, unknown>, number])[] = [
      ["its own", { created_at: "2026-01-02T03:04:05Z" }, Date.UTC(2026, 0, 2, 3, 4, 5)],
      ["that of the signature", {
        created_at: "",
        headers: { ...Object.fromEntries(headers), "webhook-timestamp": "1767323045" },
      }, 1767323045_000],
    ];
    for (const [what, changed, at] of times) {
      gitlab.hooks.tries.splice(0, 1, { ...entry, ...changed });
      equal((await tries(log))[0]?.at, at, what);
    }
    gitlab.hooks.tries.splice(0, 1, {
      ...entry,
      created_at: "",
      headers: Object.fromEntries(headers),
    });
    const at = (await tries(log))[0]?.at ?? 0;
    ok(Math.abs(at - Date.now()) < 60_000, "else it is as late as it can be");
  },
);

Deno.test(
  skippable("the sixth event in a minute waits for the next, and no longer", missing("git")),
  async () => {
    await using gitlab = await hookedGitLab({}, { resends: 1000 });
    const { hook, log, pauses } = await madeHook(gitlab);
    await gitlab.hooks.execute(hook, { event: "Push Hook", payload: {}, key: "k1" });
    const [lost] = await tries(log);
    ok(lost !== undefined);
    let refusals = 2;
    gitlab.interfere = ({ path }) =>
      path.endsWith("/resend") && refusals-- > 0
        ? Response.json({ message: { error: "Try again later." } }, { status: 429 })
        : undefined;
    equal(await log.resend(lost), "sent");
    deepEqual(pauses, [60_000, 60_000]);
    refusals = 100;
    const end = await log.resend(lost);
    ok(typeof end === "object" && end.kind === "limited");
    equal(pauses.length, 5, "a limit that does not end is a failure");
  },
);

Deno.test(
  skippable("what GitLab cannot send again is told from what it does not send now", missing("git")),
  async () => {
    await using gitlab = await hookedGitLab({}, { resends: 1000 });
    const { hook, log } = await madeHook(gitlab);
    await gitlab.hooks.execute(hook, { event: "Push Hook", payload: {}, key: "k1" });
    const [lost] = await tries(log);
    ok(lost !== undefined);
    equal(await log.resend(lost), "sent", "it was sent, and did not arrive");
    deepEqual((await tries(log)).map(({ guid }) => guid), ["k1", "k1"]);
    equal(await log.resend({ ...lost, id: "999999" }), "gone");
    hook.failures = 40;
    const off = await log.resend(lost);
    ok(typeof off === "object");
    match(off.message, /Hook disabled/);
    hook.failures = 0;
    hook.url = "http://127.0.0.1:10/";
    equal(await log.resend(lost), "gone", "GitLab sends nothing of another address");
    gitlab.interfere = () => problem(502, "Bad Gateway");
    ok(typeof await log.resend(lost) === "object");
  },
);

Deno.test(
  skippable("a webhook of a name that leads elsewhere is not asked for", missing("git")),
  async () => {
    await using gitlab = await hookedGitLab();
    const access = { api: gitlab.url, token: () => GITLAB_TOKEN.token, clock: systemClock };
    for (const owner of [{ project: "a/../b" }, { project: "a" }, { group: ".." }, {}]) {
      let said = "";
      try {
        await gitLabHooks(access, owner).list();
      } catch (error) {
        said = String(error);
      }
      match(said, /is not the name of a project or a group/);
    }
    deepEqual(gitlab.calls, []);
  },
);
