/**
 * Two daemons over one database, one of which is killed while it makes a pull request: the other one goes
 * on, and there is one branch, one commit and one pull request. Limits count over both.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { problem } from "../fakes/github.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { until } from "../helpers/until.ts";
import {
  ask,
  changeableGitHub,
  cloneOf,
  createPull,
  manifestsOf,
  messageOf,
  REPOSITORY,
} from "../rigs/change_rig.ts";
import { startCluster } from "../rigs/cluster.ts";

/** The calls at which the daemon that makes them dies: GitHub has carried them out, and nobody hears it. */
const MOMENTS = [
  ["the push", "POST", /\/git-receive-pack$/],
  ["the opening of the pull request", "POST", /\/pulls$/],
] as const;

/** The daemons that are sending messages. */
const LANES = "SELECT nodes.name FROM outbox_lanes JOIN nodes ON nodes.id = outbox_lanes.node";

for (const [what, method, path] of MOMENTS) {
  postgresTest(
    `a daemon that is killed at ${what}: another one goes on, and makes nothing twice`,
    async () => {
      await using fake = await changeableGitHub();
      await using clone = await cloneOf(fake);
      const args = ["--lease", "10s"];
      await using cluster = await startCluster(ONE_PROGRAM, 2, { args, direct: true });
      const { daemons: [a, b], database } = cluster;
      ok(a !== undefined && b !== undefined);
      const owner = { node: "test", run: "test" };
      await using connections = new Connections({ url: database, owner, max: 1 });
      const may = { pull: { max: 1, hold: "never", labels: ["automated"], reviewers: ["ada"] } };
      await a.apply(...manifestsOf(fake.url, { may }));
      await until("the trigger at the other daemon", async () => {
        const found = await b.json("get", "triggers") as unknown[];
        return found.length === 1 || undefined;
      });
      const task = await ask(a);

      const { promise: killed, resolve } = Promise.withResolvers<string>();
      const asking = Promise.withResolvers<void>();
      fake.interfere = (call, carryOut) => {
        if (call.method !== method || !path.test(call.path)) return undefined;
        fake.interfere = undefined;
        return (async () => {
          await asking.promise; // which its death would cut off, too
          await carryOut();
          const lanes = await connections.use((db) => db.all(LANES));
          equal(lanes.length, 1);
          const node = String(lanes[0]?.["name"]);
          await (node === "a" ? a : b).crash();
          resolve(node);
          return problem(500, "nobody hears this");
        })();
      };
      const change = await clone.change({ "fixed.txt": "x\n" });
      const asked = await Promise.allSettled([
        createPull(a, change, { task, title: "Fix it", key: "one" }),
        createPull(b, change, { task, title: "Fix it", key: "two" }),
      ]);
      asking.resolve();
      const node = await killed;
      const [made, ...more] = asked.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
      ok(made !== undefined && more.length === 0, "one of the two is within the limit");
      const [refused] = asked.flatMap((one) => one.status === "rejected" ? [one.reason] : []);
      match(String(refused), /may\.github\.pull .*allows 1/);

      const left = node === "a" ? b : a;
      const message = await messageOf(left, made.outbox_id);
      equal(message.state, "sent", message.reason);
      deepEqual(
        fake.pulls.pulls.map(({ head, reviewers, issue }) => [
          head.sha,
          reviewers,
          issue.labels,
          issue.title,
        ]),
        [[made.sha, ["ada"], ["automated"], "Fix it"]],
      );
      const refs = await fake.git.refs(REPOSITORY);
      deepEqual(
        [...refs.keys()].toSorted(),
        ["refs/heads/main", `refs/heads/${made.branch}`].toSorted(),
      );
      equal(refs.get(`refs/heads/${made.branch}`), made.sha);
      const pushes = fake.calls.filter(({ path }) => path.endsWith("/git-receive-pack"));
      equal(pushes.length, 1, "what has arrived is not pushed again");
      const other = await clone.change({ "other.txt": "x\n" });
      await createPull(left, other, { task, title: "Fix it", key: "three" }).then(
        () => ok(false, "the limit holds"),
        (error) => match(String(error), /allows 1/),
      );
    },
    { skip: missing("git") },
  );
}
