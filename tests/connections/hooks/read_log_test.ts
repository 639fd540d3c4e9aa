/**
 * Reading a log of GitHub: as far back as is needed, without what is here already, whatever the
 * clocks say, and redelivery where the rate is limited.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { gitHubLog } from "../../../src/connections/github/delivery_log.ts";
import {
  type LogFindings,
  type LogReading,
  readLog,
  redeliverMissed,
} from "../../../src/connections/hooks/repair_hook.ts";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../../fakes/github.ts";
import { accept } from "../../helpers/store_records.ts";
import { tempStore } from "../../helpers/temp_store.ts";

const REPOSITORY = "brightwater/tidepool";
const HOUR = 3600_000;

async function logOf(github: FakeGitHub, upTo: number): Promise<LogReading> {
  const access = { api: github.url, token: () => TOKEN.token, clock: systemClock };
  const owner = { repository: REPOSITORY };
  if (github.hooks.hooks.size === 0) {
    github.hooks.hooks.set(7, {
      id: 7,
      of: `repos/${REPOSITORY}`,
      name: "web",
      active: true,
      events: ["*"],
      config: { url: "http://127.0.0.1:9/", content_type: "json", insecure_ssl: "0" },
    });
  }
  await github.hooks.rest();
  const signal = new AbortController().signal;
  return { log: gitHubLog(access, owner, 7), project: "default", upTo, signal };
}

async function lose(github: FakeGitHub, guids: readonly string[]): Promise<void> {
  for (const guid of guids) {
    await github.hooks.send(REPOSITORY, { event: "push", payload: "{}", guid, lost: true });
  }
}

function found(given: Awaited<ReturnType<typeof readLog>>): LogFindings {
  ok(typeof given === "object" && "missed" in given, JSON.stringify(given));
  return given;
}

Deno.test("a log of 10,000 entries is read to its end, and no page twice", async () => {
  await using github = fakeGitHub();
  await using temp = await tempStore();
  const host = { store: temp.store, clock: systemClock };
  const log = await logOf(github, Date.now() - HOUR);
  await lose(github, ["first"]);
  for (let n = 0; n < 9_998; n++) {
    const [one] = github.hooks.tries;
    ok(one !== undefined);
    github.hooks.tries.push({
      ...one,
      id: `9007199${String(n).padStart(9, "0")}`,
      guid: `g${n}`,
      status_code: 200,
    });
  }
  await lose(github, ["last"]);
  github.calls.length = 0;
  const { missed } = found(await readLog(log, host));
  deepEqual(missed.map(({ guid }) => guid), ["first", "last"]);
  equal(github.calls.length, 100);
  github.calls.length = 0;
  const late = { ...log, upTo: Date.now() + 2 * HOUR };
  deepEqual(found(await readLog(late, host)).missed, []);
  equal(github.calls.length, 1, "what is before the mark is not read");
});

Deno.test("a stored delivery is not missing, even if the clock is off", async () => {
  await using github = fakeGitHub();
  await using temp = await tempStore();
  const log = await logOf(github, Date.now() - HOUR);
  await lose(github, ["a", "b"]);
  await accept(temp.store, 1, { headers: { "x-github-delivery": "a" } });
  for (const ahead of [0, 30 * 24 * HOUR]) {
    const clock = { ...systemClock, now: () => Date.now() + ahead };
    const { store } = temp;
    const early = {
      ...store,
      listHeaderValues: (query: Parameters<typeof store.listHeaderValues>[0]) => {
        ok(
          Math.abs(query.since - (clock.now() - HOUR)) < 10 * 60_000,
          "looked for by our own clock",
        );
        return store.listHeaderValues({ ...query, since: 0 });
      },
    };
    const { missed, now } = found(await readLog(log, { store: early, clock }));
    deepEqual(missed.map(({ guid }) => guid), ["b"]);
    ok(Math.abs(now - Date.now()) < 60_000, "the mark is by GitHub's clock");
  }
});

Deno.test("a delivery that was given up is not missing again, not even within the second of the mark", async () => {
  await using github = fakeGitHub();
  await using temp = await tempStore();
  const host = { store: temp.store, clock: systemClock };
  const log = await logOf(github, 0);
  await lose(github, ["poison", "young"]);
  const [poison] = github.hooks.tries;
  ok(poison !== undefined);
  for (const n of [1, 2, 3]) {
    github.hooks.tries.push({ ...poison, id: `90071993${n}`, redelivery: true, status_code: 400 });
  }
  const at = Date.parse(poison.delivered_at);
  const missing = async (upTo: number) =>
    found(await readLog({ ...log, upTo }, host)).missed.map(({ guid }) => guid);
  deepEqual(await missing(at - 999), ["young"], "the header Date has whole seconds");
  deepEqual((await missing(at - 1000)).toSorted(), ["poison", "young"]);
});

Deno.test("a delivery that the log no longer has is reported as beyond the log", async () => {
  await using github = fakeGitHub();
  await using temp = await tempStore();
  const day = 24 * HOUR;
  const log = await logOf(github, Date.now() - 9 * day);
  const { beyond } = found(await readLog(log, { store: temp.store, clock: systemClock }));
  ok(beyond !== undefined && beyond.from === log.upTo);
  ok(Math.abs(beyond.to - (Date.now() - 7 * day)) < 60_000);
});

Deno.test("a limited rate stops the repair, which says for how long", async () => {
  await using github = fakeGitHub();
  await using temp = await tempStore();
  const host = { store: temp.store, clock: systemClock };
  const log = await logOf(github, Date.now() - HOUR);
  await lose(github, ["a", "b"]);
  const findings = found(await readLog(log, host));
  github.interfere = ({ path }) =>
    path.endsWith("/attempts")
      ? new Response("", { status: 429, headers: { "retry-after": "77" } })
      : undefined;
  const steps: string[] = [];
  const ended = await redeliverMissed(log, findings, {
    ...host,
    onStep: (step) => steps.push(step),
  });
  deepEqual([ended.repaired, ended.lost, ended.retryAfterSecs, ended.broken], [[], [], 77, false]);
  deepEqual(steps, ["push a, 1 of 2"]);
  github.interfere = ({ path }) =>
    path.endsWith("/attempts") ? new Response("", { status: 404 }) : undefined;
  const gone = await redeliverMissed(log, findings, { ...host, onStep() {} });
  deepEqual(gone.lost.map(({ guid }) => guid), ["a", "b"]);
});
