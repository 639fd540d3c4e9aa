/**
 * Steps that wait for events under kill -9: while waits open and look back, while events are stored and
 * looked at, and while tasks go on. Each wait ends by its own event, and no event that was stored is lost.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { longTest, ONE_PROGRAM } from "../helpers/program.ts";

const OPEN = { webhook: { allowUnsigned: true } };

/** Its events are only waited for. */
const CHECKS: Manifest = {
  kind: "Trigger",
  metadata: { name: "checks" },
  spec: { event: { source: "webhook", ...OPEN } },
};

const waitFor = (outputs: Record<string, string>, more: Record<string, unknown> = {}) => ({
  trigger: "checks",
  match: { "payload.sha": "{{ payload.sha }}" },
  outputs,
  since: "1h",
  timeout: "2h",
  ...more,
});

/** Two waits, so that a kill falls between the end of one and the step that follows, too. */
const FIX: Manifest = {
  kind: "Workflow",
  metadata: { name: "fix" },
  spec: {
    steps: [
      { id: "ci", waitFor: waitFor({ conclusion: "payload.conclusion" }) },
      { id: "again", waitFor: waitFor({ n: "payload.n" }, { if: "payload.n != 0" }) },
      { id: "b", env: { C: "{{ steps.ci.outputs.conclusion }}" }, run: 'echo "was $C"' },
    ],
  },
};

const send = (daemon: TestDaemon, name: string, body: unknown): Promise<boolean> =>
  daemon.send(`/webhook/${name}`, { body: JSON.stringify(body) }).then(
    ({ status }) => status === 200,
    () => false, // it was killed; what it has stored before nobody knows
  );

/** Milliseconds after which each daemon is killed, counted from its first requests. */
const KILLS = [5, 15, 30, 45, 60, 80, 100, 130, 160, 200, 260, 340, 450, 600];
/** Milliseconds between the request that starts a task and the event that it waits for. */
const GAPS = [-40, -10, 0, 0, 5, 20, 50, 120];

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

longTest(
  `kill -9 around the events that tasks wait for, ${KILLS.length} times: each wait ends by its own`,
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const started = new Set<string>();
    let unsent: string[] = [];
    const sendAll = async (daemon: TestDaemon, shas: readonly string[]) => {
      const sent = await Promise.all(shas.map(async (sha) => {
        const events = [{ n: 0, conclusion: sha }, { n: 1, conclusion: `${sha} again` }];
        const all = [];
        for (const event of events) all.push(await send(daemon, "checks", { sha, ...event }));
        return { sha, isSent: all.every((one) => one) };
      }));
      return sent.filter(({ isSent }) => !isSent).map(({ sha }) => sha);
    };
    for (const [round, killAfterMs] of KILLS.entries()) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      if (round === 0) {
        await daemon.apply(CHECKS, FIX, trigger("fix", { ...OPEN, workflow: "fix" }));
      }
      deepEqual(await sendAll(daemon, unsent), []); // the senders of checks try again
      await daemon.settled(60_000);
      const tried = GAPS.map(async (gap, at) => {
        const sha = `${round}-${at}`;
        const task = later(-gap).then(async () => {
          if (await send(daemon, "fix", { sha })) started.add(sha);
        });
        const left = await later(gap).then(() => sendAll(daemon, [sha]));
        await task;
        return left;
      });
      await later(killAfterMs);
      await daemon.crash();
      unsent = (await Promise.all(tried)).flat();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    deepEqual(await sendAll(daemon, unsent), []);
    const tasks = await daemon.settled(120_000);
    ok(started.size >= GAPS.length, `${started.size} started`);
    const shaOf = new Map<string, string>();
    for (const { id, state, reason = "", steps } of tasks) {
      equal(state, "succeeded", `${id} ${reason}`);
      const [ci, second] = steps;
      const [conclusion = "", n] = [ci?.outputs?.["conclusion"], second?.outputs?.["n"]];
      equal(n, "1");
      shaOf.set(id, conclusion);
      const shown = await daemon.json("delivery", "show", ci?.outputs?.["delivery_id"] ?? "");
      const { sha } = JSON.parse((shown as { body: string }).body);
      equal(conclusion.split(" ")[0], sha);
    }
    const ended = new Set([...shaOf.values()].map((text) => text.split(" ")[0]));
    deepEqual([...started].filter((sha) => !ended.has(sha)), [], "lost");
    deepEqual(await daemon.json("get", "waits"), []);
    const checked = await daemon.svc(["db", "check"]);
    equal(checked.code, 0, checked.stdout + checked.stderr);
  },
);
