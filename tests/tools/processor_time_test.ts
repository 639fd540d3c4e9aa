import { ok } from "node:assert/strict";
import { processorTime } from "../../tools/bench/processor_time.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

/** Some hundred milliseconds of a shell. */
const WORK = "n=0; while [ $n -lt 150000 ]; do n=$((n+1)); done";

/**
 * A shell that stays for a while, as svc has them. It works, has a child that worked and ended, and
 * one that worked and stays until it has read a line.
 */
const STAYS = `${WORK}; (${WORK}; :); (${WORK}; : > child; read -r _ <&3) & : > own; wait`;

/** A tick is 10 ms; the times of the user and of the system are each rounded to one. */
const ROUNDING_MS = 20;

Deno.test({
  name: "processor time counts what lives once, and the same when it has ended",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using dir = await tempDir();
    await dir.write("stays", STAYS);
    const shell = new Deno.Command("/bin/sh", {
      args: ["-c", "exec 3<&0; /bin/sh ./stays; : > ended; read -r _"],
      cwd: dir.path,
      stdin: "piped",
      stdout: "null",
    }).spawn();
    const input = shell.stdin.getWriter();
    const made = async (...names: string[]) => {
      for (const name of names) {
        await until(
          `the file ${name}`,
          () => Deno.stat(`${dir.path}/${name}`).then(() => true as const, () => undefined),
        );
      }
    };
    await made("own", "child");
    const living = processorTime(shell.pid);
    await input.write(new TextEncoder().encode("\n"));
    await made("ended");
    const after = processorTime(shell.pid);
    await input.close();
    await shell.status;

    ok(after.ended > 10 * ROUNDING_MS, `${after.ended} ms of work are enough to tell`);
    ok(living.ended < ROUNDING_MS, "nothing had ended yet");
    const apart = Math.abs(after.ended - living.children);
    ok(apart <= 3 * ROUNDING_MS, `${living.children} ms living, ${after.ended} ms ended`);
    ok(after.children - after.ended < ROUNDING_MS, "nothing lives any more");
  },
});
