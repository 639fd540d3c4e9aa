/**
 * Kills and stalls, once, on the compiled program where there is
 * one: what was answered 200 is a task, exactly once, whatever happens to the daemon.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, ONE_PROGRAM, programTest, slowTest, times } from "../helpers/program.ts";
import { findFile, processRuns, until, untilFile } from "../helpers/until.ts";

const SECRET = "a secret of 32 bytes, or so it is";
const REQUESTS = 2000;
const AT_ONCE = 32;
const ROUNDS = times(6, 2);
/**
 * After how many answers the daemon is killed, round by round: early, in the thick of it, and late.
 */
const KILLS = ROUNDS.of([1, 60, 400, 20, 120, 250, 600, 900, 1300, 1900]);
/**
 * One in so many starts a process. The others name a workflow that does not exist: as much a task.
 */
const RUNS = 5;

/**
 * Longer than a test waits: a daemon that starts again goes on at once, and not when its lease is over.
 */
const ARGS = ["--lease", "10m"];

interface Accepted {
  readonly task: string;
  readonly delivery: string;
}

/** Sends the burst; kills the daemon after `killAfter` answers; gives what was answered 200. */
async function burst(daemon: TestDaemon, killAfter: number): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  let next = 0;
  let killed: Promise<void> | undefined;
  const send = async () => {
    while (next < REQUESTS && killed === undefined) {
      const path = next % RUNS === 0 ? "/webhook/run" : "/webhook/keep";
      const body = `{"number":${next++},"filler":"${"x".repeat(200)}"}`;
      const headers = githubHeaders(SECRET, body);
      const answer = await daemon.send(path, { headers, body }).catch(() => undefined);
      if (answer === undefined) return; // the daemon is gone, and nothing was promised
      deepEqual([answer.status, answer.json["status"]], [200, "accepted"]);
      accepted.push({
        task: String(answer.json["task_id"]),
        delivery: String(answer.json["delivery_id"]),
      });
      if (accepted.length >= killAfter) killed ??= daemon.crash();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  await killed;
  return accepted;
}

programTest(
  `kill -9 in a burst of requests: every id answered 200 is one task${ROUNDS.inName}`,
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const accepted: Accepted[] = [];
    for (const [round, killAfter] of KILLS.entries()) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ARGS });
      await daemon.apply(
        secretStore("github", { webhook_secret: SECRET }),
        workflow("record", ":"),
        trigger("run"),
        trigger("keep", { workflow: "nowhere" }),
      );
      const before = await daemon.tasks();
      expectOnce(before, accepted, `after the kill of round ${round}`);
      accepted.push(...await burst(daemon, killAfter));
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ARGS });
    const tasks = await daemon.settled(300_000);
    expectOnce(tasks, accepted, "at the end");
    const ends = new Set(
      tasks.map(({ trigger, state, reason }) => `${trigger} ${state} ${reason}`),
    );
    const missing = 'missing in project "default": Workflow "nowhere"';
    deepEqual([...ends].sort(), [`keep failed ${missing}`, "run succeeded "]);
    const sum = KILLS.reduce((a, b) => a + b);
    ok(accepted.length >= sum, `${accepted.length} answers, and there were to be ${sum}`);
    const check = await daemon.svc(["db", "check"]);
    equal(check.code, 0, check.stdout);
  },
);

/** Each id that was answered is one task, and no delivery has two. */
function expectOnce(
  tasks: readonly { id: string; delivery_id: string }[],
  accepted: readonly Accepted[],
  when: string,
) {
  equal(new Set(tasks.map(({ id }) => id)).size, tasks.length, when);
  equal(new Set(tasks.map(({ delivery_id }) => delivery_id)).size, tasks.length, when);
  const deliveries = new Map(tasks.map(({ id, delivery_id }) => [id, delivery_id]));
  const lost = accepted.filter(({ task, delivery }) => deliveries.get(task) !== delivery);
  deepEqual(lost, [], `${lost.length} of ${accepted.length} lost ${when}`);
}

/** A daemon on this directory with one trigger `now`, whose workflow is one shell line. */
async function startWith(
  directory: Awaited<ReturnType<typeof initDataDirectory>>,
  ...lines: readonly string[]
): Promise<TestDaemon> {
  const daemon = await startDaemon(ONE_PROGRAM, { directory, args: ARGS });
  await daemon.apply(
    workflow("record", ...lines),
    trigger("now", { webhook: { allowUnsigned: true } }),
  );
  return daemon;
}

/** Clients that stop in the middle: of a header, of a body, and of a body on the control socket. */
async function stalledClients(daemon: TestDaemon): Promise<Disposable> {
  const clients = new DisposableStack();
  const { hostname, port } = new URL(daemon.url);
  const tcp = { hostname, port: Number(port) };
  const body = clients.use(await Deno.connect(tcp));
  const head = clients.use(await Deno.connect(tcp));
  const path = `${daemon.dataDir}/control-plane/svc.sock`;
  const control = clients.use(await Deno.connect({ transport: "unix", path }));
  const bytes = (text: string) => new TextEncoder().encode(text);
  await head.write(bytes("POST /webhook/now HT"));
  await control.write(bytes("POST /v1/get HTTP/1.1\r\nHost: svc\r\nContent-Length: 100\r\n\r\n{"));
  await body.write(bytes("POST /webhook/now HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"));
  await new Promise((resolve) => setTimeout(resolve, 200));
  return clients;
}

slowTest(
  "SIGTERM with clients that never finish: exit 0 in time, the step is ended and runs again",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const line = `
    if [ -e stopped ]; then echo again; exit 0; fi
    trap 'echo TERM >stopped; exit 1' TERM
    echo once >>started
    i=0; while [ "$i" -lt 600 ]; do sleep 0.1; i=$((i + 1)); done`;
    {
      await using daemon = await startWith(directory, "echo first >>first", line, "echo last");
      equal((await daemon.send("/webhook/now", { body: "{}" })).status, 200);
      await untilFile(`${daemon.workspace}/started`);

      using _clients = await stalledClients(daemon);

      equal(await daemon.stop(), 0, daemon.log);
      equal(await Deno.readTextFile(`${daemon.workspace}/stopped`), "TERM\n");
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ARGS });
    const [task, ...others] = await daemon.settled();
    equal(others.length, 0);
    deepEqual(
      [task?.state, task?.restarts, task?.steps.map(({ state }) => state)],
      ["succeeded", 0, ["succeeded", "succeeded", "succeeded"]],
    );
    equal(
      await Deno.readTextFile(`${daemon.workspace}/first`),
      "first\n",
      "a finished step is kept",
    );
    const logs = await daemon.svc(["task", "logs", task?.id ?? ""]);
    match(logs.stdout, /again\nlast\n$/);
    equal(logs.stderr, '[svc: step "s2" was interrupted and runs again]\n');
  },
);

slowTest(
  "SIGTERM with clients that never finish ends a step that ignores TERM, by force and in time",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const line = `
    [ ! -e pid ] || exit 0
    trap '' TERM
    echo $$ >pid
    i=0; while [ "$i" -lt 600 ]; do sleep 0.1; i=$((i + 1)); done`;
    {
      await using daemon = await startWith(directory, line);
      await daemon.send("/webhook/now", { body: "{}" });
      const pid = Number(await untilFile(`${daemon.workspace}/pid`));
      using _clients = await stalledClients(daemon);
      deepEqual([await daemon.stop(), await processRuns(pid)], [0, false]);
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ARGS });
    const [task] = await daemon.settled();
    deepEqual([task?.state, task?.restarts], ["succeeded", 0]);
  },
  { fileOnly: NO_DATABASE },
);

programTest("a second SIGTERM ends it at once", async () => {
  await using directory = await initDataDirectory(ONE_PROGRAM);
  {
    const line = "[ ! -e pid ] || exit 0; trap '' TERM; echo $$ >pid; exec sleep 60";
    await using daemon = await startWith(directory, line);
    daemon.expectCode(130);
    await daemon.send("/webhook/now", { body: "{}" });
    await untilFile(`${daemon.workspace}/pid`);
    daemon.signal("SIGTERM");
    await until("the daemon to be stopping", () => daemon.log.includes("stopping") || undefined);
    equal(await daemon.stop(), 130); // in order it would be 0
  }
  await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ARGS });
  equal((await daemon.settled())[0]?.state, "succeeded");
}, { fileOnly: NO_DATABASE });

programTest(
  "kill -9 while a step runs: its processes are ended before it runs again",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    // The first run leaves three processes: the shell, one in its group, and one in a session of its own.
    const line = `
    if [ -e pids ]; then
      for pid in $(cat pids); do
        case "$(sed 's/.*) //' /proc/$pid/stat 2>/dev/null)" in ''|Z*|X*) ;; *) echo "$pid" >>alive ;; esac
      done
      exit 0
    fi
    sleep 60 & a=$!
    setsid sleep 60 & b=$!
    echo "$$ $a $b" >pids.new; mv pids.new pids
    wait`;
    let pids: number[];
    {
      await using daemon = await startWith(directory, line);
      await daemon.send("/webhook/now", { body: "{}" });
      pids = (await untilFile(`${daemon.workspace}/pids`)).trim().split(" ").map(Number);
      equal(pids.length, 3);
      await daemon.crash();
      if (ONE_PROGRAM.onPostgres !== true) { // where its guard ends them at once
        deepEqual(await Promise.all(pids.map(processRuns)), [true, true, true]);
      }
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ARGS });
    const [task] = await daemon.settled();
    deepEqual([task?.state, task?.restarts], ["succeeded", 1]);
    equal(
      await findFile(`${daemon.workspace}/alive`),
      undefined,
      "processes of the first run were left",
    );
    deepEqual(await Promise.all(pids.map(processRuns)), [false, false, false]);
  },
);

slowTest(
  "a task that is interrupted by four crashes ends failed, reason interrupted",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    for (let crash = 1; crash <= 4; crash++) {
      await using daemon = crash === 1
        ? await startWith(directory, 'echo "$$" >>pids; sleep 60')
        : await startDaemon(ONE_PROGRAM, { directory, args: ARGS });
      await (crash === 1 ? daemon.send("/webhook/now", { body: "{}" }) : undefined);
      await until(`run ${crash}`, async () => {
        const runs = (await findFile(`${daemon.workspace}/pids`) ?? "").trim().split("\n");
        return runs.length === crash && runs[0] !== "" ? true : undefined;
      });
      await daemon.crash();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory, args: ARGS });
    const [task] = await daemon.settled();
    deepEqual([task?.state, task?.reason], ["failed", "interrupted"]);
    const pids = (await Deno.readTextFile(`${daemon.workspace}/pids`)).trim().split("\n").map(
      Number,
    );
    equal(pids.length, 4);
    deepEqual(await Promise.all(pids.map(processRuns)), [false, false, false, false]);
  },
);
