/**
 * Each attempt at a step has a run token of its own, which names the step and ends with the attempt.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { untilFile } from "../helpers/until.ts";
import { runRig } from "../rigs/run_rig.ts";

/** Writes the token of its attempt into a file, and waits until it may go on. */
const line = (end: string) =>
  `echo "$SVC_RUN_TOKEN" > "$SVC_STEP.$SVC_ATTEMPT"; until [ -f "go.$SVC_STEP.$SVC_ATTEMPT" ]; ` +
  `do sleep 0.02; done; ${end}`;

Deno.test("run tokens: one for each attempt, which ends with it", async () => {
  await using rig = await runRig();
  const claimed = await rig.claim(`
    steps:
      - {id: first, run: '${line("[ $SVC_ATTEMPT = 2 ]")}', retry: {attempts: 2, backoffSecs: 0}}
      - {id: beside, needs: [], run: '${line("true")}'}
    finally:
      - {id: last, run: '${line("true")}'}
`);
  const { id: taskId, project, deliveryId } = claimed.task;
  const { tokens } = rig.host;
  const read = async (attempt: string) => (await untilFile(`${rig.workspace}/${attempt}`)).trim();
  const goOn = (attempt: string) => Deno.writeTextFile(`${rig.workspace}/go.${attempt}`, "");
  const grant = (stepId: string) => (
    { kind: "step", project, taskId, deliveryId, waitedFor: [], stepId }
  );

  const ended = rig.run(claimed);
  const [first, beside] = [await read("first.1"), await read("beside.1")];
  deepEqual([tokens.find(first), tokens.find(beside)], [grant("first"), grant("beside")]);
  await goOn("first.1");
  const second = await read("first.2");
  deepEqual(
    [tokens.find(first), tokens.find(second), tokens.find(beside)],
    [undefined, grant("first"), grant("beside")],
  );
  await goOn("first.2");
  await goOn("beside.1");
  const last = await read("last.1");
  deepEqual(
    [tokens.find(second), tokens.find(beside), tokens.find(last)],
    [undefined, undefined, grant("last")],
  );
  await goOn("last.1");
  equal((await ended).state, "succeeded");
  equal(tokens.find(last), undefined);
  equal(new Set([first, second, beside, last]).size, 4);
});

Deno.test("run tokens: that of a step which cannot be prepared ends too", async () => {
  await using rig = await runRig();
  const { tokens } = rig.host;
  const issued: string[] = [];
  const host = {
    ...rig.host,
    tokens: Object.assign(Object.create(tokens), {
      issue(grant: Parameters<typeof tokens.issue>[0]) {
        const made = tokens.issue(grant);
        issued.push(made.token);
        return made;
      },
    }),
  };
  const claimed = await rig.claim("{steps: [{id: a, run: 'true', workdir: nowhere}]}");
  equal((await rig.run(claimed, {}, host)).state, "failed");
  deepEqual(issued.map((token) => tokens.find(token)), [undefined]);
});
