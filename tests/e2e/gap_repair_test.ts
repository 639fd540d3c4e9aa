/**
 * Events that GitHub could not deliver: after the daemon's start all are there once, in order; what
 * cannot be got back is named. With the program, behind a proxy whose address stays.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import {
  type DataDirectory,
  initDataDirectory,
  startDaemon,
  type TestDaemon,
} from "../helpers/daemon.ts";
import { ONE_PROGRAM, slowTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const REPOSITORY = "brightwater/tidepool";

/** A proxy before a daemon that comes and goes. */
interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** Where it passes on to, once that is known; nothing answers while it is absent. */
  to: string | Promise<string> | undefined;
  /** Events that it lets nobody have, by their GUID. */
  readonly refuses: Set<string>;
  /** What arrived, by its GUID, in order. */
  readonly passed: string[];
}

function startProxy(): Proxy {
  const ended = new AbortController();
  const state = { to: undefined as Proxy["to"], refuses: new Set<string>() };
  const passed: string[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
    async (request) => {
      const body = await request.text();
      const guid = request.headers.get("x-github-delivery") ?? "";
      const to = await state.to;
      if (to === undefined) return new Response("", { status: 502 });
      if (state.refuses.has(guid)) return new Response("", { status: 400 });
      const { pathname } = new URL(request.url);
      const init = { method: "POST", body, headers: request.headers };
      const answer = await fetch(`${to}${pathname}`, init);
      if (answer.ok && request.headers.get("x-github-event") !== "ping") passed.push(guid);
      return new Response(await answer.text(), { status: answer.status });
    },
  );
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`,
    passed,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await server.finished;
    },
  });
}

function pushOf(n: number): string {
  return JSON.stringify({
    ref: `refs/heads/branch-${n}`,
    pusher: { name: "ada" },
    commits: [],
    compare: `https://github.com/${REPOSITORY}/compare/${n}`,
    deleted: false,
    forced: false,
    repository: { full_name: REPOSITORY },
  });
}

const guidOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

async function push(github: FakeGitHub, n: number): Promise<void> {
  await github.hooks.send(REPOSITORY, { event: "push", payload: pushOf(n), guid: guidOf(n) });
}

async function started(directory: DataDirectory, proxy: Proxy): Promise<TestDaemon> {
  // A daemon that starts asks GitHub at once, before anybody else knows its port.
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

slowTest(
  "deliveries that GitHub could not make arrive after the start, once and in order",
  async (_program, t) => {
    await using github = fakeGitHub();
    await using proxy = startProxy();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    {
      await using daemon = await started(directory, proxy);
      const args = ["connect", "github", REPOSITORY, "--api", github.url, "--url", proxy.url];
      const made = await daemon.svc([...args, "--token", "-"], { stdin: TOKEN.token });
      equal(made.code, 0, made.stderr);
      await push(github, 1);
      proxy.to = undefined;
    }
    for (const n of [2, 3, 4, 5]) await push(github, n);
    await github.hooks.send(REPOSITORY, {
      event: "push",
      payload: pushOf(6),
      guid: guidOf(6),
      lost: true,
    });

    await t.step("the daemon away: all are there, in their order", async () => {
      await using daemon = await started(directory, proxy);
      await until(
        "the gap to be closed",
        async () => (await statusOf(daemon)).events_repaired >= 5 ? true : undefined,
      );
      const tasks = await daemon.settled();
      equal(tasks.length, 6);
      deepEqual(proxy.passed, [1, 2, 3, 4, 5, 6].map(guidOf));
      const status = await statusOf(daemon);
      deepEqual([status.events_lost, status.fault], [0, null]);
      const table = await daemon.svc(["get", "connections"]);
      match(table.stdout, /5 repaired +ok/);
      using client = daemon.client();
      const again = await client.call("get", { what: "deliveries", limit: 100 });
      equal(again.items.filter(({ outcome }) => outcome === "duplicate").length, 0);
    });

    await t.step(
      "a delivery that is always refused is given up and named, the others are not",
      async () => {
        proxy.to = undefined;
        for (const n of [7, 8]) await push(github, n);
        proxy.refuses.add(guidOf(7));
        await using daemon = await started(directory, proxy);
        await until(
          "the gap to be gone through",
          async () => (await statusOf(daemon)).events_lost === 1 ? true : undefined,
        );
        const status = await statusOf(daemon);
        match(
          status.gaps[0]?.reason ?? "",
          new RegExp(`push ${guidOf(7)} of .* \\(answered 400\\)`),
        );
        deepEqual(proxy.passed.slice(-1), [guidOf(8)]);
        const metrics = await daemon.send("/metrics", { method: "GET" });
        ok(metrics.status === 404 || metrics.text.includes("svc_connection_missed_events_total"));
        match(daemon.log, /events are lost/);
        const repaired = await daemon.svc(["connection", "repair", "tidepool"]);
        equal(repaired.code, 0, repaired.stderr);
        match(repaired.stdout, /nothing is missing/);
      },
    );

    await t.step("a dry run names missing deliveries and requests none", async () => {
      await using daemon = await started(directory, proxy);
      proxy.to = undefined;
      await push(github, 9);
      const dry = await daemon.svc(["connection", "repair", "tidepool", "--dry-run", "-o", "json"]);
      equal(dry.code, 0, dry.stderr);
      const shown = JSON.parse(dry.stdout);
      deepEqual(shown.missed.map((one: { guid: string }) => one.guid), [guidOf(9)]);
      equal(shown.missed[0].status, "answered 502");
      const attempts = () => github.calls.filter(({ path }) => path.endsWith("/attempts")).length;
      const before = attempts();
      equal((await daemon.json("get", "deliveries") as unknown[]).length > 0, true);
      equal(attempts(), before);
      const broken = await daemon.svc(["connection", "repair", "tidepool"]);
      equal(broken.code, 1);
      match(broken.stdout, /GitHub could not deliver push .* again \(answered 502\)/);
      match((await statusOf(daemon)).fault ?? "", /could not deliver push/);
      match(
        (await daemon.svc(["status"])).stdout,
        /degraded: +Connection "tidepool": GitHub could/,
      );
      proxy.to = daemon.url;
      const mended = await daemon.svc(["connection", "repair", "tidepool", "--since", "1h"]);
      equal(mended.code, 1, "what was given up before is missing still, and lost again");
      match(mended.stdout, new RegExp(`${guidOf(9)}  repaired`));
      equal((await statusOf(daemon)).fault, null);
      match((await daemon.svc(["status"])).stdout, /degraded: +no/);
    });

    await t.step(
      "GitHub away, a token that ended, a webhook that is gone: each is said",
      async () => {
        await using daemon = await started(directory, proxy);
        github.interfere = () => new Response("", { status: 503 });
        const away = await daemon.svc(["connection", "repair", "tidepool"]);
        equal(away.code, 1);
        match(away.stdout, /answered with status 503/);
        github.interfere = () => new Response('{"message":"Bad credentials"}', { status: 401 });
        const ended = await daemon.svc(["connection", "repair", "tidepool"]);
        match(ended.stdout, /refuses the token \(Bad credentials\)/);
        match(daemon.log, /a Connection is broken/);
        github.interfere = undefined;
        github.hooks.hooks.clear();
        const gone = await daemon.svc(["connection", "repair", "tidepool"]);
        match(gone.stdout, /Webhook \d+ of brightwater\/tidepool is gone/);
        match((await statusOf(daemon)).fault ?? "", /run svc connect github again/);
      },
    );
  },
);
