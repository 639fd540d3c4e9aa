/**
 * Conversations with three daemons over one database: events of one key reach all of them at once.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger, workflow } from "../helpers/manifests.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM, times } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until, untilFile } from "../helpers/until.ts";
import { startCluster } from "../rigs/cluster.ts";

const KEYS = times(6, 2);

/** One that belongs to the conversation of its pull request; each of its events has an id. */
function talking(name: string): Manifest {
  const webhook = { allowUnsigned: true, idempotencyKey: "payload.id" };
  const { spec, ...one } = trigger(name, { webhook, workflow: "answer" });
  const conversation = { name: "pr", key: "payload.pr", text: "{{ payload.text }}" };
  return { ...one, spec: { ...spec, conversation } };
}

/** An event, and which trigger and which daemon get it. */
interface Sent {
  readonly name: "comments" | "pushes";
  readonly text: string;
  readonly to: number;
}

postgresTest(
  `comments and a push at three daemons at once have one task, which reads each once, in order${KEYS.inName}`,
  async () => {
    await using cluster = await startCluster(ONE_PROGRAM, 3, { args: ["--workers", "4"] });
    await using shared = await tempDir();
    const { daemons } = cluster;
    const daemon = (at: number): TestDaemon => {
      const one = daemons[at % daemons.length];
      ok(one !== undefined);
      return one;
    };
    const waits = `until [ -e ${shared.path}/go ]; do sleep 0.05; done`;
    const reads = `cat "$SVC_INBOX" > "${shared.path}/part-$PR" && ` +
      `mv "${shared.path}/part-$PR" "${shared.path}/$PR"`;
    const { spec, ...answer } = workflow("answer", waits, reads);
    await daemon(0).apply(talking("comments"), talking("pushes"), {
      ...answer,
      spec: { ...spec, env: { PR: "{{ payload.pr }}" } },
    });
    const send = async (pr: string, { name, text, to }: Sent) => {
      const body = JSON.stringify({ pr, text, id: `${pr} ${text}` });
      const { status, json } = await daemon(to).send(`/webhook/${name}`, { body });
      return { status, outcome: String(json["status"]), task: String(json["task_id"]) };
    };
    for (const one of daemons) {
      await until("each daemon has the triggers", async () => {
        const { status } = await one.send("/webhook/pushes", { method: "GET" });
        return status !== 404 || undefined;
      });
    }

    const talk = async (pr: string, at: number): Promise<void> => {
      const first: readonly Sent[] = [
        { name: "comments", text: "please fix it", to: at },
        { name: "pushes", text: "c0ffee", to: at + 1 },
        { name: "comments", text: "and test it", to: at + 2 },
      ];
      const told = await Promise.all(first.map((one) => send(pr, one)));
      const [{ task } = { task: "" }] = told;
      deepEqual(told, told.map(() => ({ status: 200, outcome: "accepted", task })), pr);
      const later = Array.from({ length: 9 }, (_, n): Sent => ({
        name: n % 3 === 1 ? "pushes" : "comments",
        text: `${n}`,
        to: at + n,
      }));
      for (const one of later) equal((await send(pr, one)).task, task);
      // Each is sent once more, to another daemon.
      const again = await Promise.all(
        [...first, ...later].map((one) => send(pr, { ...one, to: one.to + 1 })),
      );
      deepEqual(new Set(again.map(({ outcome }) => outcome)), new Set(["duplicate"]));
    };
    const keys = Array.from({ length: KEYS.count }, (_, n) => `pr-${n}`);
    await Promise.all(keys.map(talk));
    const listed = await daemon(1).json("get", "conversations") as {
      readonly key: string;
      readonly unread: number;
    }[];
    deepEqual(
      listed.map(({ key, unread }) => [key, unread]).toSorted(),
      keys.map((key) => [key, 11]).toSorted(),
    );
    await Deno.writeTextFile(`${shared.path}/go`, "");
    for (const key of keys) {
      const lines = (await untilFile(`${shared.path}/${key}`)).trimEnd().split("\n");
      const texts = lines.map((line) => String(JSON.parse(line).text));
      deepEqual(texts.slice(2), Array.from({ length: 9 }, (_, n) => `${n}`), key);
      equal(new Set(texts).size, 11, key);
    }
    await until("all have ended", async () => {
      const tasks = await daemon(2).tasks();
      equal(tasks.length, keys.length);
      return tasks.every(({ state }) => state === "succeeded") || undefined;
    });
    equal((await daemon(0).json("db", "check") as { faults?: unknown[] }).faults?.length ?? 0, 0);
  },
);
