/**
 * The guard, as the daemon has it: in a process that is killed, stopped, or ends, while processes of
 * its own run.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { startGuard } from "../../src/shell/guard.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { findFile, processRuns, until, untilFile } from "../helpers/until.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NEVER_MS = 3_600_000;

/** Stands in for the daemon: does what each line says, and answers it. */
const DAEMON = `
const { startGuard } = await import("${ROOT}src/shell/guard.ts");
const guard = startGuard({ silenceMs: Number(Deno.args[0]) });
const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
for await (const line of lines) {
  const [op, value] = line.trim().split(" ");
  if (op === "watch") await guard.watch(value);
  if (op === "release") guard.release(value);
  if (op === "beat") guard.beat();
  if (op === "beating") setInterval(() => guard.beat(), 20);
  if (op === "dispose") await guard[Symbol.asyncDispose]();
  console.log(op);
  if (op === "dispose") Deno.exit();
}`;

class Daemon implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #answers: ReadableStreamDefaultReader<string>;
  readonly #lines: WritableStreamDefaultWriter<Uint8Array>;

  constructor(silenceMs = NEVER_MS) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--config", `${ROOT}deno.json`, DAEMON, String(silenceMs)],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    this.#answers = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#lines = this.#child.stdin.getWriter();
  }

  /** Has it do something; resolves when it is done. */
  async tell(line: string): Promise<void> {
    await this.#lines.write(new TextEncoder().encode(`${line}\n`));
    equal((await this.#answers.read()).value?.trim(), line.split(" ")[0]);
  }

  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Its processes, and theirs. */
  descendants(): readonly number[] {
    return descendantsOf(this.#child.pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // it has ended by itself
    }
    await this.#child.status;
    await this.#lines.close().catch(() => {});
    await this.#answers.cancel();
  }
}

function descendantsOf(pid: number): readonly number[] {
  const children = [...Deno.readDirSync(`/proc/${pid}/task`)].flatMap(({ name }) =>
    Deno.readTextFileSync(`/proc/${pid}/task/${name}/children`).split(" ").filter(Boolean)
      .map(Number)
  );
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** A process with a mark, in a group of its own, that ignores signals; it ends with the test. */
async function startMarked(stack: AsyncDisposableStack, line = "sleep 1000; :"): Promise<Marked> {
  const dir = stack.use(await tempDir());
  const mark = `SVC_TEST=${crypto.randomUUID()}`;
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", `echo $$ > pid; ${line}`],
    cwd: dir.path,
    env: { SVC_TEST: mark.split("=")[1] ?? "" },
    detached: true,
    stdin: "null",
  }).spawn();
  stack.defer(async () => {
    try {
      Deno.kill(-child.pid, "SIGKILL");
    } catch {
      // it has ended
    }
    await child.status;
  });
  await untilFile(`${dir.path}/pid`);
  return { mark, dir: dir.path, pid: child.pid, ended: child.status.then(() => {}) };
}

interface Marked {
  readonly mark: string;
  readonly dir: string;
  readonly pid: number;
  readonly ended: Promise<void>;
}

const isOver = async (pid: number) => await processRuns(pid) ? undefined : true;

Deno.test("if the owner is killed, the watched processes are ended, and no others", async () => {
  await using stack = new AsyncDisposableStack();
  const daemon = stack.use(new Daemon());
  const polite = await startMarked(
    stack,
    "trap 'echo > ended; exit' TERM; echo 1 > up; sleep 1000 & wait",
  );
  await untilFile(`${polite.dir}/up`);
  const stubborn = await startMarked(stack, "trap '' TERM; while :; do sleep 1000; done");
  const left = await startMarked(
    stack,
    "setsid sh -c 'trap \"\" TERM; echo $$ > left; while :; do sleep 1000; done' & exit",
  );
  const leftPid = Number(await untilFile(`${left.dir}/left`));
  const hidden = await startMarked(stack, "env -i sleep 1000 & echo $! > hidden; wait");
  const hiddenPid = Number(await untilFile(`${hidden.dir}/hidden`));
  const released = await startMarked(stack);
  const stranger = await startMarked(stack);
  await daemon.tell(`watch ${released.mark}`);
  await daemon.tell(`release ${released.mark}`);
  for (const { mark } of [polite, stubborn, left, hidden]) await daemon.tell(`watch ${mark}`);
  const guard = daemon.descendants();
  ok(guard.length > 0);

  daemon.signal("SIGKILL");

  for (const pid of [polite.pid, stubborn.pid, leftPid, hiddenPid, ...guard]) {
    await until(`the end of ${pid}`, () => isOver(pid));
  }
  equal(await findFile(`${polite.dir}/ended`), "\n");
  deepEqual([await processRuns(released.pid), await processRuns(stranger.pid)], [true, true]);
});

Deno.test(
  skippable(
    "who is stopped loses what is watched, and keeps what it starts after it goes on",
    NOT_SLOW,
  ),
  async () => {
    await using stack = new AsyncDisposableStack();
    const daemon = stack.use(new Daemon(3000));
    const first = await startMarked(stack, "trap '' TERM; while :; do sleep 1000; done");
    await daemon.tell(`watch ${first.mark}`);
    await daemon.tell("beating");
    const guard = daemon.descendants();
    daemon.signal("SIGSTOP");
    await first.ended;
    daemon.signal("SIGCONT");
    await daemon.tell("beat");
    const second = await startMarked(stack);
    await daemon.tell(`watch ${second.mark}`);
    ok(daemon.descendants().some((pid) => guard.includes(pid)), "it is the same guard");
    equal(await processRuns(second.pid), true);
    daemon.signal("SIGKILL");
    await second.ended;
  },
);

Deno.test("an owner that ends leaves the watched processes running, and no process of the guard", async () => {
  await using stack = new AsyncDisposableStack();
  const daemon = stack.use(new Daemon());
  const watched = await startMarked(stack);
  await daemon.tell(`watch ${watched.mark}`);
  const guard = daemon.descendants();
  await daemon.tell("dispose");
  for (const pid of guard) await until(`the end of ${pid}`, () => isOver(pid));
  equal(await processRuns(watched.pid), true);
});

Deno.test("a guard that is killed has a successor that knows all it knew", async () => {
  await using stack = new AsyncDisposableStack();
  const daemon = stack.use(new Daemon());
  const [watched, released] = [await startMarked(stack), await startMarked(stack)];
  await daemon.tell(`watch ${watched.mark}`);
  await daemon.tell(`watch ${released.mark}`);
  await daemon.tell(`release ${released.mark}`);
  const guard = daemon.descendants();
  for (const pid of guard) Deno.kill(pid, "SIGKILL");
  const later = await startMarked(stack);
  await daemon.tell(`watch ${later.mark}`);
  deepEqual([await processRuns(watched.pid), await processRuns(later.pid)], [true, true]);
  daemon.signal("SIGKILL");
  await Promise.all([watched.ended, later.ended]);
  equal(await processRuns(released.pid), true);
});

Deno.test("a signal to every shell and every sleep does not end the guard", async () => {
  await using stack = new AsyncDisposableStack();
  const daemon = stack.use(new Daemon());
  const watched = await startMarked(stack);
  await daemon.tell(`watch ${watched.mark}`);
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    for (const pid of daemon.descendants()) Deno.kill(pid, signal);
    await daemon.tell("beat");
  }
  equal(await processRuns(watched.pid), true);
  daemon.signal("SIGKILL");
  await watched.ended;
});

Deno.test(skippable("only a beat says that this process may go on", NOT_SLOW), async () => {
  await using stack = new AsyncDisposableStack();
  const [beaten, silent] = [await startMarked(stack), await startMarked(stack)];
  const silentGuard = stack.use(startGuard({ silenceMs: 4000 }));
  const beatenGuard = stack.use(startGuard({ silenceMs: 2000 }));
  await silentGuard.watch(silent.mark);
  await beatenGuard.watch(beaten.mark);
  const timer = setInterval(() => {
    silentGuard.release("SVC_TEST=none");
    silentGuard.beat(NEVER_MS); // of an hour ago
    beatenGuard.beat();
  }, 50);
  stack.defer(() => clearInterval(timer));
  await silent.ended;
  equal(await processRuns(beaten.pid), true);
});

Deno.test("without heartbeats, newly started processes are ended as well", async () => {
  await using stack = new AsyncDisposableStack();
  const guard = stack.use(startGuard({ silenceMs: 200 }));
  for (let round = 0; round < 2; round++) {
    const marked = await startMarked(stack);
    await guard.watch(marked.mark);
    await marked.ended;
  }
});

Deno.test("a mark is one word of a line", async () => {
  await using guard = startGuard({ silenceMs: NEVER_MS });
  for (
    const mark of ["", "SVC_TEST", "SVC_TEST=", "SVC_TEST=a b", "SVC_TEST=a\nwatch B=c", "A=*"]
  ) {
    await rejects(guard.watch(mark), TypeError, mark);
  }
});
