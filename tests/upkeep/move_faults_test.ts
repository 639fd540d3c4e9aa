/**
 * `svc db move` while the cable is cut, the server crashes, or a disk is full, in each of its parts:
 * afterwards one side can be used, and only one, and the command says which and what to do.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { dirname } from "node:path";
import { AppError } from "../../src/base/errors.ts";
import { afterEachChange } from "../helpers/each_change.ts";
import { createEmptyDatabase, postgresTest } from "../helpers/postgres.ts";
import { startPostgres } from "../helpers/postgres_server.ts";
import { findMountObstacle, smallDisk } from "../helpers/small_disk.ts";
import { Cable, type Sender } from "../rigs/cable.ts";
import { moveRig } from "../rigs/move_rig.ts";
import { filesIn } from "../rigs/upkeep_rig.ts";

const TASKS = 30;

/** How long packets may vanish unnoticed, and what a busy machine takes for the move itself. */
const MOST_MS = 180_000;

/** What the command says when it did not end; nothing when it did. */
const faultOf = (work: Promise<unknown>) =>
  work.then(() => undefined, (error: unknown) => {
    ok(error instanceof AppError, String(error));
    return error.message;
  });

const NOTHING_CHANGED =
  /"[^"]*svc\.db" is as it was, and svc daemon uses it; in .* nothing was changed/;
const PART =
  /"[^"]*svc\.db" is as it was, and svc daemon uses it; .* holds a part.* --again empties/;
const AT_THE_END = /everything is in .*, and svc daemon uses it: run this again, which renames/;

/** The first bytes of each part, of whom, and what is said when the cable is cut there. */
const CUTS: readonly (readonly [string, Sender, RegExp])[] = [
  ["SELECT version()", "daemon", /^PostgreSQL at .* cannot be reached now/],
  ["pg_try_advisory_lock", "daemon", NOTHING_CHANGED],
  ["CREATE TABLE svc.moving", "daemon", NOTHING_CHANGED],
  ["CREATE TABLE deliveries", "daemon", PART],
  ["CREATE SCHEMA IF NOT EXISTS svc_jobs", "daemon", PART],
  ["COPY resources", "daemon", PART],
  ["PGCOPY", "daemon", PART], // rows
  ["COPY 30", "database", PART], // rows that are in, which nobody has been told
  ["INSERT INTO nodes", "daemon", PART],
  ["ANALYZE", "daemon", PART],
  ["svc.jobs_add", "daemon", PART],
  ["TO STDOUT", "daemon", PART],
  ["PGCOPY", "database", PART], // read back
  ["job_of(tasks.id)", "daemon", PART], // svc db check
  ["FROM tasks WHERE id", "daemon", PART], // tasks are compared
  ["INTO control_audit", "daemon", PART],
  ["DROP TABLE IF EXISTS svc.moving\0", "daemon", AT_THE_END],
];

postgresTest("a cable that is cut in any part leaves one side in use", async () => {
  await using database = await createEmptyDatabase();
  await using cable = new Cable(database.url);
  await using rig = await moveRig(TASKS, { url: cable.url });
  for (const [bytes, from, says] of CUTS) {
    let cuts = 0;
    cable.breakWhere((passed, sender) => {
      if (sender !== from || !passed.includes(bytes)) return undefined;
      cuts++;
      return "before";
    });
    const fault = await faultOf(rig.move({ again: true }));
    cable.breakWhere(() => undefined);
    ok(cuts > 0, `${bytes} was never sent: ${fault}`);
    match(fault ?? "it ended", says, bytes);
    equal(await rig.usableSide(), says === AT_THE_END ? "postgres" : "file", bytes);
  }
  equal((await rig.move()).finished, true);
  equal(await rig.usableSide(), "postgres");
});

/** Where packets vanish: a statement, the rows, those read back, and the end. */
const VANISHING: readonly (readonly [string, RegExp])[] = [
  ["CREATE TABLE deliveries", PART],
  ["COPY resources", PART],
  ["TO STDOUT", PART],
  ["DROP TABLE IF EXISTS svc.moving\0", AT_THE_END],
];

postgresTest(
  "packets that vanish end the move in a bounded time, and leave one side in use",
  async () => {
    const began = Date.now();
    await Promise.all(VANISHING.map(async ([bytes, says]) => {
      await using database = await createEmptyDatabase();
      await using cable = new Cable(database.url);
      await using rig = await moveRig(TASKS, { url: cable.url });
      cable.breakWhere((passed, sender) => {
        if (sender === "daemon" && passed.includes(bytes)) cable.hold();
        return undefined;
      });
      const fault = await faultOf(rig.move());
      const tookMs = Date.now() - began;
      cable.breakWhere(() => undefined);
      cable.release();
      match(fault ?? "it ended", says, bytes);
      ok(tookMs < MOST_MS, `${bytes}: it took ${tookMs} ms`);
      const side = says === AT_THE_END ? "postgres" : "file";
      equal(await rig.usableSide(), side, bytes);
      await rig.move({ again: side === "file" });
      equal(await rig.usableSide(), "postgres", bytes);
    }));
  },
);

postgresTest("a server that crashes leaves the file in use, and the move begins anew", async () => {
  await using server = await startPostgres();
  await server.sql((db) => db.exec("CREATE DATABASE svc"));
  await using rig = await moveRig(TASKS, { url: server.url("svc") });
  for (const phase of ["moving", "reading"]) {
    let crashing: Promise<void> | undefined;
    const onPhase = (text: string) => {
      if (text.startsWith(phase)) crashing = server.crash();
    };
    const fault = await faultOf(rig.move({ again: true, onPhase }, () => crashing));
    await server.start();
    match(fault ?? "it ended", PART, phase);
    equal(await rig.usableSide(), "file", phase);
  }
  await rig.move({ again: true });
  equal(await rig.usableSide(), "postgres");
});

const skip = await findMountObstacle();

postgresTest("a full disk of the server leaves the file in use", async () => {
  await using server = await startPostgres();
  await using disk = await smallDisk("64m");
  const { uid } = await Deno.stat(new URL(server.url()).searchParams.get("host") ?? "");
  await Deno.chmod(dirname(disk.path), 0o755);
  await Deno.chown(disk.path, uid, null);
  await server.sql((db) => db.exec(`CREATE TABLESPACE small LOCATION '${disk.path}'`));
  await server.sql((db) => db.exec("CREATE DATABASE svc TABLESPACE small"));
  await using rig = await moveRig(TASKS, { url: server.url("svc") });
  for (const phase of ["checking", "moving", "reading"]) {
    let ballast: string | undefined;
    let filling: Promise<void> | undefined;
    const onPhase = (text: string) => {
      if (text.startsWith(phase)) filling = disk.fill().then((file) => void (ballast = file));
    };
    const fault = await faultOf(rig.move({ again: true, onPhase }, () => filling));
    ok(ballast !== undefined);
    await Deno.remove(ballast);
    if (fault === undefined) { // to read needs no room
      equal(await rig.usableSide(), "postgres", phase);
      equal(phase, "reading");
      return;
    }
    match(fault, /No space left on device|could not write/, phase);
    match(fault, /"[^"]*svc\.db" is as it was/, phase);
    equal(await rig.usableSide(), "file", phase);
  }
  await rig.move({ again: true });
  equal(await rig.usableSide(), "postgres");
}, { skip });

postgresTest("a data directory without room is moved, or stays in use", async () => {
  await using disk = await smallDisk("64m");
  await using rig = await moveRig(TASKS, { root: `${disk.path}/data` });
  let ballast: string | undefined;
  let filling: Promise<void> | undefined;
  const onPhase = (text: string) => {
    if (text.startsWith("checking")) filling = disk.fill().then((file) => void (ballast = file));
  };
  const fault = await faultOf(rig.move({ onPhase }, () => filling));
  await Deno.remove(ballast ?? "");
  equal(await rig.usableSide(), fault === undefined ? "postgres" : "file", fault);
}, { skip });

postgresTest(
  "a disk that is full at the very end leaves the file in use",
  async () => {
    await using rig = await moveRig(TASKS);
    const isEnding = () => filesIn(rig.dirs.root).some((name) => name.startsWith("node."));
    const full = () =>
      Promise.reject(Object.assign(new Error("No space left on device"), { code: "ENOSPC" }));
    let fault: string | undefined;
    await afterEachChange(
      () => isEnding() ? full() : Promise.resolve(),
      async () => void (fault = await faultOf(rig.move())),
    );
    match(
      fault ?? "it ended",
      /\(No space left on device\): everything is in .*, but "[^"]*database\.url" cannot be written, so svc daemon still uses "[^"]*svc\.db": run this again with --again/,
    );
    equal(await rig.usableSide(), "file");
    await rig.move({ again: true });
    equal(await rig.usableSide(), "postgres");
  },
);
