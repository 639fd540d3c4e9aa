/**
 * `svc db move`, ended in each of its parts: afterwards one side can be used, and only one, and a second
 * call ends the move.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { findSharedDatabase } from "../../src/storage/shared_database.ts";
import { afterEachChange } from "../helpers/each_change.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { cleanEnv, SOURCE } from "../helpers/program.ts";
import { moveRig } from "../rigs/move_rig.ts";
import { filesIn } from "../rigs/upkeep_rig.ts";

const TASKS = 30;

postgresTest(
  "a move that is ended at any point leaves the file in use, and --again moves it",
  async () => {
    await using rig = await moveRig(TASKS);
    const whole = await Deno.readFile(rig.dirs.database);
    let ends = 0;
    let parts = 0;
    for (let at = 0;; at += 1) {
      const stop = (step: number) => {
        if (step === at) throw new Error("stopped");
      };
      const done = await rig.move({ again: at > 0 }, stop).then(() => true, () => false);
      if (done) break;
      ends++;
      equal(await rig.usableSide(), "file", `stopped at ${at}`);
      deepEqual(filesIn(rig.dirs.root).filter((name) => name.startsWith("svc.db")), ["svc.db"]);
      if (await rig.isMarked()) {
        parts++;
        await rejects(rig.move(), /has not ended.*--again empties/);
      }
    }
    ok(ends > 2 && parts > 1, `${ends} points, ${parts} with a part`);
    equal(await rig.isMarked(), false);
    equal(await rig.usableSide(), "postgres");
    const [kept] = filesIn(rig.dirs.root).filter((name) => name.startsWith("svc.db"));
    match(kept ?? "", /^svc\.db\.moved-\d{8}T\d{6}Z$/);
    ok(whole.length > 0);
  },
);

postgresTest(
  "killed between its last changes, database.url decides, and a second call ends it",
  async () => {
    await using rig = await moveRig(TASKS);
    const sides: string[] = [];
    for (let at = 1;; at++) {
      let changes = 0;
      const isEnd = () => filesIn(rig.dirs.root).some((name) => name.startsWith("node."));
      let done = false;
      await afterEachChange(
        () => {
          const isLast = isEnd() && ++changes === at;
          return isLast ? Promise.reject(new Error("killed")) : Promise.resolve();
        },
        async () => {
          const again = findSharedDatabase(rig.dirs) === undefined && await rig.isMarked();
          done = await rig.move({ again }).then(() => true, () => false);
        },
      );
      if (done) break;
      const side = findSharedDatabase(rig.dirs) === undefined ? "file" : "postgres";
      if (sides.at(-1) !== side) sides.push(side);
      if (side === "file") await rejects(rig.openAsAnother(), /has not ended/);
      else equal(await rig.usableSide(), "postgres", `killed after ${at} changes`);
      if (at > 20) throw new Error("it never ends");
    }
    deepEqual(sides, ["file", "postgres"]);
    equal(await rig.isMarked(), false);
    equal(await rig.usableSide(), "postgres");
    equal(filesIn(rig.dirs.root).includes("svc.db"), false);
    await rejects(rig.move(), /has its database in PostgreSQL already/);
  },
);

postgresTest("killed with -9 while it moves, it leaves the file in use", async () => {
  await using rig = await moveRig(TASKS);
  for (const phase of ["checking", "moving", "reading"]) {
    const child = new Deno.Command(SOURCE.command, {
      args: [...SOURCE.args, "db", "move", "--to", rig.url, "--data-dir", rig.dirs.root, "--again"],
      clearEnv: true,
      env: cleanEnv(),
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    let said = "";
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
      said += text;
      if (said.includes(phase)) child.kill("SIGKILL");
    }
    const { signal } = await child.status;
    equal(signal, "SIGKILL", said);
    equal(await rig.usableSide(), "file", `killed while ${phase}`);
    if (phase !== "checking") await rejects(rig.openAsAnother(), /has not ended/);
  }
  await rig.move({ again: true });
  equal(await rig.usableSide(), "postgres");
});
