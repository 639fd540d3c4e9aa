/**
 * A change that waits for a person: it is looked at, sent or dropped by its id, and nothing of it leaves
 * before.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import {
  ask,
  changeableGitHub,
  changeTest,
  cloneOf,
  createPull,
  manifestsOf,
  messageOf,
  REPOSITORY,
} from "../rigs/change_rig.ts";

changeTest("a held change is looked at, replaced, sent and dropped by its id", async () => {
  await using fake = await changeableGitHub();
  await using clone = await cloneOf(fake);
  await using directory = await initDataDirectory(ONE_PROGRAM);
  const start = () => startDaemon(ONE_PROGRAM, { directory });
  const held = await (async () => {
    await using daemon = await start();
    await daemon.apply(...manifestsOf(fake.url, { may: { pull: { max: 2, hold: "always" } } }));
    const task = await ask(daemon);
    const pull = async (key: string, text: string) => {
      const asked = { task, key, title: `Fix ${text}` };
      return (await createPull(daemon, await clone.change({ "src/a.ts": text }), asked)).outbox_id;
    };
    const made = [
      await pull("one", "old\n"),
      await pull("one", "new\u202e\n"),
      await pull("two", "x\n"),
    ];
    return made as [string, string, string];
  })();
  const [older, newer, other] = held;

  await using daemon = await start();
  const svc = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await daemon.svc(args);
    return { code, stdout, stderr };
  };
  const table = await svc("get", "outbox", "--state", "held");
  equal(table.stdout.trimEnd().split("\n").length, 3, table.stdout);
  match(table.stdout, /github-pull +held .*brightwater\/tidepool.*1 file, \+1 \u2212/);
  match((await svc("status")).stdout, /outbox: +0 pending; 2 held \(svc get outbox --state held\)/);

  const shown = await svc("outbox", "show", newer, "--diff");
  match(shown.stdout, /^State: +held$/m);
  match(shown.stdout, /^Title: +Fix new/m);
  match(shown.stdout, /^ {2}src\/a\.ts +\+1 \u2212/m);
  ok(shown.stdout.includes("\n+new\u202e\n"), "a program gets the bytes");
  equal(fake.pulls.pulls.length, 0);

  const stale = await svc("outbox", "send", older);
  equal(stale.code, 1);
  match(stale.stderr, new RegExp(`not held: it is dropped \\(replaced by outbox/${newer}\\)`));
  match((await svc("outbox", "send", "latest")).stderr, /Give the ID/);
  equal((await svc("outbox", "send", newer)).stdout, `outbox/${newer} is sent\n`);
  equal((await messageOf(daemon, newer)).state, "sent");
  deepEqual(fake.pulls.pulls.map(({ issue: { title } }) => title), ["Fix new"]);

  equal((await svc("outbox", "drop", other)).code, 0);
  const retry = await svc("outbox", "retry", other);
  deepEqual([retry.code, /was deleted when it was dropped/.test(retry.stderr)], [1, true]);
  match((await svc("outbox", "show", newer, "--diff")).stderr, /was deleted when it was sent/);
  equal((await svc("db", "check")).code, 0);
  deepEqual([...(await fake.git.refs(REPOSITORY)).keys()].filter((ref) => ref.includes("svc/")), [
    "refs/heads/svc/one-1",
  ]);
});
