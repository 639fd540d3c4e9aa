/**
 * Approvals under kill -9: while questions open, while answers are stored and told, and while tasks go on.
 * Whoever was told that an answer has decided was told the truth, and each question ends once.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { ApprovalView } from "../../src/api/approval_operations.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { longTest, ONE_PROGRAM } from "../helpers/program.ts";

const OPEN = { webhook: { allowUnsigned: true } };

/** Two questions, so that a kill falls between an answer and the next question, too. */
const SHIP: Manifest = {
  kind: "Workflow",
  metadata: { name: "ship" },
  spec: {
    steps: [
      { id: "first", approval: { ask: "Build {{ payload.n }}?", by: ["socket"] } },
      { id: "build", run: "true" },
      {
        id: "second",
        approval: {
          ask: "Ship {{ payload.n }}?",
          by: ["socket"],
          fields: { note: { type: "text" } },
        },
      },
      {
        id: "ship",
        run: 'echo "note=$NOTE" >> "$SVC_OUTPUT"',
        env: { NOTE: "{{ steps.second.outputs.note }}" },
      },
    ],
  },
};

/** Milliseconds after which each daemon is killed, counted from its first answer. */
const KILLS = [10, 30, 60, 90, 120, 160, 210, 280, 360, 480];
const ENDED = ["succeeded", "failed", "cancelled"];
/** Tasks of each daemon. */
const TASKS = 6;

/** A question by its task and step, with what the person who answered it was told. */
type Told = Map<string, "approved" | "rejected">;

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Answers every open question, each fourth of the second ones with a rejection. */
async function answerAll(daemon: TestDaemon, told: Told): Promise<void> {
  using client = daemon.client();
  const { items } = await client.call("get", { what: "approvals" }).catch(() => ({ items: [] }));
  await Promise.all((items as unknown as readonly ApprovalView[]).map(async (question) => {
    const { task_id: id, step, digest, ask } = question;
    const n = Number(/\d+/.exec(ask)?.[0]);
    const answer = step === "second" && n % 4 === 0 ? "rejected" : "approved";
    const fields = step === "second" && answer === "approved" ? { fields: { note: `n${n}` } } : {};
    const said = await client.call("approval.answer", { id, step, answer, digest, ...fields }).then(
      ({ text }) => text,
      () => undefined, // it was killed, and may have stored the answer
    );
    if (said === undefined) return;
    match(said, new RegExp(answer));
    told.set(`${id} ${step}`, answer);
  }));
}

longTest(
  `kill -9 around questions and answers, ${KILLS.length} times: who was told of a decision was told the truth`,
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const told: Told = new Map();
    const started: string[] = [];
    const untilSettled = async (daemon: TestDaemon) => {
      for (;;) {
        await answerAll(daemon, told);
        const tasks = await daemon.tasks();
        if (tasks.every(({ state }) => ENDED.includes(state))) return;
        await later(20);
      }
    };
    for (const [round, killAfterMs] of KILLS.entries()) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      if (round === 0) await daemon.apply(SHIP, trigger("ship", { ...OPEN, workflow: "ship" }));
      await untilSettled(daemon);
      const requests = Array.from({ length: TASKS }, async (_, at) => {
        const body = JSON.stringify({ n: round * TASKS + at });
        const answer = await daemon.send("/webhook/ship", { body }).catch(() => undefined);
        if (answer?.status === 200) started.push(String(answer.json["task_id"]));
      });
      let isKilled = false;
      const answering = (async () => {
        while (!isKilled) {
          await answerAll(daemon, told);
          await later(5);
        }
      })();
      await Promise.race(requests);
      await later(killAfterMs);
      await daemon.crash();
      isKilled = true;
      await Promise.all([...requests, answering]);
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await untilSettled(daemon);
    const tasks = await daemon.settled();
    ok(told.size > KILLS.length, `${told.size} were told`);
    deepEqual(started.filter((id) => !tasks.some((task) => task.id === id)), [], "lost");
    for (const { id, state, reason = "", steps } of tasks) {
      const stateOf = (step: string) => steps.find((one) => one.id === step)?.state;
      equal(stateOf("first"), "succeeded", `${id} ${reason}`);
      equal(stateOf("build"), "succeeded", `${id} ${reason}`);
      const isApproved = stateOf("second") === "succeeded";
      equal(told.get(`${id} first`) ?? "approved", "approved");
      equal(
        told.get(`${id} second`) ?? isApproved,
        told.has(`${id} second`) ? isApproved ? "approved" : "rejected" : isApproved,
      );
      equal(state, isApproved ? "succeeded" : "failed", `${id} ${reason}`);
      if (!isApproved) match(reason, /second.* rejected/);
      const shipped = steps.find((one) => one.id === "ship");
      if (isApproved) match(String(shipped?.outputs?.["note"]), /^n\d+$/);
      else equal(shipped?.state, "skipped");
    }
    deepEqual(await daemon.json("get", "waits"), []);
    deepEqual(await daemon.json("get", "approvals"), []);
    const checked = await daemon.svc(["db", "check"]);
    equal(checked.code, 0, checked.stdout + checked.stderr);
  },
);
