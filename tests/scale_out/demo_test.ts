/**
 * `make demo-cluster`: three daemons over a PostgreSQL of its own, one of which is killed.
 *
 * @module
 */

import { match, ok, rejects, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM, ROOT, run } from "../helpers/program.ts";

postgresTest(".ci/demo --cluster passes and leaves nothing behind", async () => {
  const program = ONE_PROGRAM.name === "source" ? join(ROOT, ".ci/svc") : ONE_PROGRAM.command;
  const env = {
    SVC_PROGRAM: program,
    SVC_DENO: Deno.execPath(),
    SVC_POSTGRES: Deno.env.get("SVC_POSTGRES") ?? "",
  };
  const demo = await run(join(ROOT, ".ci/demo"), ["--cluster"], { env, withinMs: 240_000 });
  equal(demo.code, 0, demo.stdout + demo.stderr);
  match(demo.stdout, /^\$ kill -9 \d+ # of [bc]$/m);
  match(demo.stdout, /^([bc]) begins\n(?:.*\n)?(?!\1)[abc] begins\n[abc] is done$/m);
  match(demo.stdout, /^All 7 tasks have ended, \d+ seconds after the kill\.$/m);
  const places = demo.stdout.match(/\/tmp\/svc-(?:demo|postgres)\.\w+/g) ?? [];
  ok(places.length > 0);
  for (const place of new Set(places)) {
    await rejects(Deno.stat(place), Deno.errors.NotFound, `${place} is still there`);
  }
});
