/**
 * Events that GitLab could not deliver, or delivered twice: after the daemon was killed and started
 * again, all are there once. With the program, behind a proxy whose address stays.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { GITLAB_PROJECT, GITLAB_TOKEN } from "../fakes/gitlab.ts";
import { type HookedGitLab, hookedGitLab } from "../fakes/gitlab_hooks.ts";
import {
  type DataDirectory,
  initDataDirectory,
  startDaemon,
  type TestDaemon,
} from "../helpers/daemon.ts";
import { ONE_PROGRAM, slowTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

/** A proxy before a daemon that comes and goes. */
interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** Where it passes on to, once that is known; nothing answers while it is absent. */
  to: string | Promise<string> | undefined;
  /** Ids of the tasks that the daemon answered with, by the ref of the push. */
  readonly tasks: Map<string, Set<string>>;
}

function startProxy(): Proxy {
  const ended = new AbortController();
  const state = { to: undefined as Proxy["to"], tasks: new Map<string, Set<string>>() };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
    async (request) => {
      const body = await request.text();
      const to = await state.to;
      if (to === undefined) return new Response("", { status: 502 });
      try {
        const init = { method: "POST", body, headers: request.headers };
        const answer = await fetch(`${to}${new URL(request.url).pathname}`, init);
        const text = await answer.text();
        const { ref } = JSON.parse(body) as { ref?: string };
        for (const [, id = ""] of text.matchAll(/"task_id":"([^"]+)"/g)) {
          if (ref !== undefined) state.tasks.set(ref, (state.tasks.get(ref) ?? new Set()).add(id));
        }
        return new Response(text, { status: answer.status });
      } catch {
        return new Response("", { status: 502 });
      }
    },
  );
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await server.finished;
    },
  });
}

async function push(gitlab: HookedGitLab, n: number): Promise<void> {
  const project = gitlab.state.projectAt(GITLAB_PROJECT);
  ok(project !== undefined);
  const payload = {
    object_kind: "push",
    ref: `refs/heads/branch-${n}`,
    before: "a".repeat(40),
    after: "b".repeat(40),
    user_id: 77,
    user_username: "ada-pereira",
    user_email: "ada@example.com",
    total_commits_count: 0,
    project: gitlab.state.shownProject(project),
    commits: [],
  };
  const key = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  await gitlab.hooks.send({ project, event: "Push Hook", payload }, key);
}

async function started(directory: DataDirectory, proxy: Proxy): Promise<TestDaemon> {
  const starting = startDaemon(ONE_PROGRAM, { directory });
  proxy.to = starting.then(({ url }) => url);
  const daemon = await starting;
  proxy.to = daemon.url;
  return daemon;
}

interface Status {
  readonly events_repaired: number;
  readonly events_lost: number;
  readonly fault: string | null;
  readonly gaps: readonly { readonly reason: string }[];
}

async function statusOf(daemon: TestDaemon): Promise<Status> {
  const [item] = await daemon.json("get", "connections") as { status: Status }[];
  ok(item !== undefined);
  return item.status;
}

async function connected(daemon: TestDaemon, gitlab: HookedGitLab, proxy: Proxy): Promise<void> {
  const args = ["connect", "gitlab", GITLAB_PROJECT, "--api", gitlab.url, "--url", proxy.url];
  const made = await daemon.svc([...args, "--token", "-"], { stdin: GITLAB_TOKEN.token });
  equal(made.code, 0, made.stderr);
}

slowTest(
  "of 200 events of which a third is lost and a third comes twice, each starts one task",
  async () => {
    const EVENTS = 200;
    // The limit of five a minute has a test of its own.
    await using gitlab = await hookedGitLab({}, { resends: 10_000 });
    await using proxy = startProxy();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const ways = ["sent", "lost", "twice"] as const;
    {
      await using daemon = await started(directory, proxy);
      await connected(daemon, gitlab, proxy);
      gitlab.hooks.wayOf = ({ payload }) => ways[Number(String(payload["ref"]).split("-")[1]) % 3]!;
      for (let n = 1; n <= EVENTS / 2; n++) await push(gitlab, n);
      proxy.to = undefined;
      await daemon.crash();
    }
    await using daemon = await started(directory, proxy);
    for (let n = EVENTS / 2 + 1; n <= EVENTS; n++) await push(gitlab, n);
    await daemon.svc(["connection", "repair", "tidepool"]);
    await until(
      "the gap to be closed",
      async () => {
        const { events_repaired: repaired } = await statusOf(daemon);
        return repaired >= Math.floor(EVENTS / 3) ? true : undefined;
      },
    );
    const tasks = await daemon.settled();
    equal(tasks.length, EVENTS);
    equal(proxy.tasks.size, EVENTS, "no event has none");
    deepEqual([...proxy.tasks].filter(([, ids]) => ids.size !== 1), [], "and none has two");
    const { events_lost: lost, fault } = await statusOf(daemon);
    deepEqual([lost, fault], [0, null]);
    const again = await daemon.svc(["connection", "repair", "tidepool"]);
    match(again.stdout, /nothing is missing/);
    equal((await daemon.settled()).length, EVENTS);
  },
);

slowTest(
  "a webhook that GitLab has switched off is said to be, and switched on again",
  async (_program, t) => {
    await using gitlab = await hookedGitLab({}, { resends: 10_000 });
    await using proxy = startProxy();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    await using daemon = await started(directory, proxy);
    await connected(daemon, gitlab, proxy);
    const [hook] = [...gitlab.hooks.hooks.values()];
    ok(hook !== undefined);
    await t.step("while its address does not work", async () => {
      proxy.to = undefined;
      for (const n of [1, 2, 3, 4, 5]) await push(gitlab, n);
      equal(gitlab.hooks.tries.filter(({ status }) => status === 502).length, 4);
      const broken = await daemon.svc(["connection", "repair", "tidepool"]);
      equal(broken.code, 1);
      match(broken.stdout, /GitLab has switched webhook \d+ off until 20/);
      const status = await daemon.svc(["status"]);
      match(status.stdout, /degraded: .*GitLab has switched webhook/);
      const described = await daemon.svc(["describe", "connection", "tidepool"]);
      match(described.stdout, /GitLab has switched webhook/);
    });
    await t.step("once it works: what was logged comes, and the rest is named", async () => {
      proxy.to = daemon.url;
      const mended = await daemon.svc(["connection", "repair", "tidepool"]);
      equal(mended.code, 0, mended.stdout);
      equal(hook.failures, 0);
      equal((await daemon.settled()).length, 4);
      const { fault, gaps } = await statusOf(daemon);
      equal(fault, null);
      match(
        gaps.map(({ reason }) => reason).join(),
        /GitLab had switched webhook \d+ off, because deliveries failed/,
      );
      match(daemon.log, /events are lost/);
    });
    await t.step("for good: a test that arrives switches it on too", async () => {
      hook.failures = 40;
      await daemon.svc(["connection", "repair", "tidepool"]);
      equal(hook.failures, 0);
      await push(gitlab, 6);
      equal((await daemon.settled()).length, 5);
    });
  },
);
