/**
 * Three daemons behind the load balancers of docs/scale-out.md: pushes land on all of them, and none
 * is lost or run twice when one of them is killed, or cannot reach the database.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { missing } from "../helpers/requirements.ts";
import type { TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import { type Cluster, startCluster } from "../rigs/cluster.ts";
import { type Balancer, BALANCERS, startBalancer } from "../rigs/load_balancer.ts";

const SECRET = "the secret that GitHub signs with";
/** An address of this machine that is not the load balancer's. */
const SENDER = "127.0.0.2";

/** Three daemons behind a load balancer. */
interface Site {
  readonly cluster: Cluster;
  /** Sends a signed push to the load balancer. */
  push(options?: Push): Promise<Pushed>;
}

interface Push {
  readonly headers?: Readonly<Record<string, string>>;
  readonly bytes?: number;
}

interface Pushed {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly json: Record<string, unknown>;
}

for (const balancer of BALANCERS) {
  const name = `${balancer.program}, as docs/scale-out.md has it, before three daemons`;
  postgresTest(name, async (t) => {
    await using stack = new AsyncDisposableStack();
    const site = await startSite(balancer, stack);
    const { cluster: { daemons, cables } } = site;
    const [first, second, third] = daemons as [TestDaemon, TestDaemon, TestDaemon];
    let sent = 0;
    const pushAll = async (count: number, options?: Push) => {
      sent += count;
      return await inTurn(count, () => site.push(options));
    };

    await t.step("pushes land on all", async () => {
      expectAccepted(await pushAll(12));
      for (const daemon of daemons) ok(await answered(daemon, 200) > 0, daemon.dataDir);
    });

    await t.step("the sender is who sent it, whatever the request says", async () => {
      const headers = { "x-forwarded-for": "203.0.113.9", forwarded: "for=203.0.113.9" };
      const [pushed] = await pushAll(1, { headers });
      expectAccepted([pushed as Pushed]);
      const record = await first.json("get", "delivery", String(pushed?.json["delivery_id"]));
      equal((record as { remote: string }).remote, SENDER);
    });

    await t.step("a large body arrives as it was signed", async () => {
      expectAccepted(await pushAll(3, { bytes: 5_000_000 }));
    });

    await t.step("the database out of reach of one: the others take its pushes", async () => {
      await cables[0]?.cut();
      expectAccepted(await pushAll(12));
      await cables[0]?.mend();
      const refused = () => answered(first, 503); // once it can read its figures again
      await until("a push that was sent again", async () => await refused() > 0 || undefined);
    });

    await t.step("out of reach of all: 503, and when to send again", async () => {
      for (const cable of cables) await cable.cut();
      const { status, retryAfter } = await site.push();
      deepEqual([status, Number(retryAfter) > 0], [503, true]);
      for (const cable of cables) await cable.mend();
      const back = await until("the database to be back", async () => {
        const pushed = await site.push();
        return pushed.status === 200 ? pushed : undefined;
      });
      expectAccepted([back]);
      sent++;
    });

    await t.step("one is killed with pushes under way: each is stored once", async () => {
      const [pushed] = await Promise.all([
        pushAll(60),
        until("some pushes", async () => await answered(third, 200) > 20 || undefined)
          .then(() => third.crash()),
      ]);
      expectAccepted(pushed);
      expectAccepted(await pushAll(6));
    });

    await t.step("one stops in order: no push is refused", async () => {
      const [pushed] = await Promise.all([pushAll(60), second.stop()]);
      expectAccepted(pushed);
    });

    await t.step("a task for each push", async () => {
      const tasks = await first.settled();
      equal(tasks.length, sent);
      equal(new Set(tasks.map(({ delivery_id }) => delivery_id)).size, sent);
      deepEqual(new Set(tasks.map(({ state }) => state)), new Set(["succeeded"]));
    });
  }, { skip: missing(balancer.program, "openssl") });
}

async function startSite(balancer: Balancer, stack: AsyncDisposableStack): Promise<Site> {
  const args = ["--metrics", "--lease", "10s", "--trusted-proxy", "127.0.0.1"];
  const cluster = stack.use(await startCluster(ONE_PROGRAM, 3, { args }));
  await cluster.daemons[0]?.apply(
    secretStore("github", { webhook_secret: SECRET }),
    workflow("record", "true"),
    trigger("push"),
  );
  const { url, certificate } = stack.use(await startBalancer(balancer, cluster.daemons));
  const client = stack.use(
    Deno.createHttpClient({ caCerts: [certificate], localAddress: SENDER, poolMaxIdlePerHost: 8 }),
  );
  return {
    cluster,
    async push({ headers = {}, bytes = 0 } = {}) {
      const body = JSON.stringify({ ref: "refs/heads/main", padding: "x".repeat(bytes) });
      const answer = await fetch(`${url}/webhook/push`, {
        method: "POST",
        headers: { ...githubHeaders(SECRET, body, "push"), ...headers },
        body: new TextEncoder().encode(body),
        client,
      });
      const text = await answer.text();
      return {
        status: answer.status,
        retryAfter: answer.headers.get("retry-after"),
        json: text.startsWith("{") ? JSON.parse(text) : { text },
      };
    },
  };
}

/** Does something many times, a few at once. */
async function inTurn<T>(count: number, work: () => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  let left = count;
  const lanes = Array.from({ length: 6 }, async () => {
    while (left-- > 0) done.push(await work());
  });
  await Promise.all(lanes);
  return done;
}

/** A push that was sent again where its first answer was lost is stored already. */
function expectAccepted(pushed: readonly Pushed[]): void {
  for (const { status, json } of pushed) {
    equal(status, 200, JSON.stringify(json));
    ok(["accepted", "duplicate"].includes(String(json["status"])), JSON.stringify(json));
  }
}

/** How many requests a daemon has answered with a status, itself. */
async function answered(daemon: TestDaemon, status: number): Promise<number> {
  const { text } = await daemon.send("/metrics", { method: "GET" });
  const count = new RegExp(
    `^svc_webhook_request_duration_seconds_count\\{status="${status}"\\} ([0-9]+)$`,
    "m",
  );
  return Number(count.exec(text)?.[1] ?? 0);
}
