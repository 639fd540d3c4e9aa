import { ok } from "node:assert/strict";
import { processorTime } from "../../tools/bench/processor_time.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

/** Some hundred milliseconds of a shell. */
const WORK = "n=0; while [ $n -lt 150000 ]; do n=$((n+1)); done";

/** A tick is 10 ms; the times of the user and of the system are each rounded to one. */
const ROUNDING_MS = 20;

Deno.test({
  name: "processor time counts what lives once, and the same when it has ended",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using dir = await tempDir();
    const before = processorTime();
    // A shell that stays, as svc has them; it has worked itself, and had a child that worked. Its
    // other child stays, too.
    const shell = new Deno.Command("/bin/sh", {
      args: [
        "-c",
        `${WORK}; (${WORK}; :); (${WORK}; : > child; read -r _) & : > own; read -r _; wait`,
      ],
      cwd: dir.path,
      stdin: "piped",
      stdout: "null",
    }).spawn();
    for (const name of ["own", "child"]) {
      await until(
        `the file ${name}`,
        () => Deno.stat(`${dir.path}/${name}`).then(() => true as const, () => undefined),
      );
    }
    const living = processorTime();
    await shell.stdin.close();
    await shell.status;
    const after = processorTime();

    const ended = after.ended - before.ended;
    const counted = living.children - before.children;
    ok(ended > 10 * ROUNDING_MS, `${ended} ms of work are enough to tell`);
    ok(living.ended - before.ended < ROUNDING_MS, "nothing had ended yet");
    ok(Math.abs(ended - counted) <= 3 * ROUNDING_MS, `${counted} ms living, ${ended} ms ended`);
  },
});
