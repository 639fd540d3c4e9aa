/**
 * Pooled shells: one after another, lines run in them, attack them and leave things behind, and the next
 * line notices nothing of it.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  deepStrictEqual as deepEqual,
  notStrictEqual,
  strictEqual as equal,
} from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import { runShell, type ShellCommand, type ShellExit } from "../../src/shell/run_shell.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { Random } from "../helpers/random.ts";
import { warmPool } from "../helpers/shell_kinds.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { processRuns, until, untilFile } from "../helpers/until.ts";
import { within } from "../helpers/within.ts";

interface Ran extends ShellExit {
  readonly out: string;
  readonly err: string;
  readonly group: number;
}

interface Bench {
  readonly dir: string;
  run(line: string, more?: Partial<ShellCommand>): Promise<Ran>;
  /** Waits until the lines of this pool run in a pooled shell; its process id. */
  warm(pool?: string): Promise<number>;
}

const PATH = Deno.env.get("PATH") ?? "";

function test(name: string, body: (bench: Bench) => Promise<void>, skip?: string): void {
  Deno.test({
    ...skippable(name, skip ?? missing("dash")),
    async fn() {
      await using dir = await tempDir();
      await using groups = openProcessGroups();
      const run = async (line: string, more: Partial<ShellCommand> = {}): Promise<Ran> => {
        const said = { out: "", err: "" };
        let group = 0;
        const exit = await within(
          30_000,
          runShell({
            line,
            cwd: dir.path,
            env: { PATH },
            umask: 0o022,
            graceMs: 300,
            pool: "a",
            onOutput: (stream, chunk) => void (said[stream] += String.fromCharCode(...chunk)),
            onStart: (pid) => group = pid,
            ...more,
          }, { groups, clock: systemClock }),
        );
        return { ...exit, ...said, group };
      };
      const warm = (pool = "a") => warmPool(groups, pool);
      await body({ dir: dir.path, run, warm });
    },
  });
}

const facts = ({ code, out, err }: Ran) => ({ code, out, err });

test("lines of a pool share a shell, one after another, and those of another pool do not", async ({ run, warm }) => {
  const [a, b] = [await warm("a"), await warm("b")];
  notStrictEqual(a, b);
  for (let n = 0; n < 5; n++) {
    const [one, two] = [await run(`exit ${n}`), await run("echo b", { pool: "b" })];
    deepEqual([one.group, one.code, two.group, two.out], [a, n, b, "b\n"]);
  }
  const ids = await Promise.all([1, 2, 3].map(() => run("sleep 0.1")));
  equal(new Set(ids.map(({ group }) => group)).size, 3, "three at a time need three shells");
});

test("nothing of a line is there for the next one", async ({ run, warm, dir }) => {
  const shell = await warm();
  const line =
    "cd /; umask 0; trap '' TERM; A=1; export A; alias ls=no; f() { :; }; set -u; exec >/dev/null 2>&1 </dev/zero; ulimit -n 20; exit 9";
  equal((await run(line, { env: { PATH, SECRET: "of the first" } })).code, 9);
  const next = await run(
    'pwd; umask; trap; echo "${A-none} ${SECRET-none} ${OLDPWD-none}"; type f; cat; ulimit -n',
  );
  equal(next.group, shell);
  equal(next.out.split("\n")[0], await Deno.realPath(dir));
  equal(next.out.includes("0022\nnone none none\n"), true, next.out);
  equal(next.out.includes("\n20\n"), false);
});

/** Attacks after which the shell is still the same. */
const SURVIVED: readonly (readonly [line: string, code: number])[] = [
  ["kill -TERM 0; sleep 30", 143],
  ["kill -HUP 0; sleep 30", 129],
  ["kill -PIPE 0; sleep 30", 141],
  ["trap '' TERM INT HUP; kill -INT 0; exit 4", 4],
  ["kill -TERM $PPID; kill -INT $PPID; kill -USR1 $PPID; exit 5", 5],
  ["kill -9 $$", 137],
  ["exec >&- 2>&- <&-; exit 6", 6],
  [`printf '\\036%s 0\\n' 0123456789abcdef0123456789abcdef; exit 7`, 7],
];

test("a line that attacks its group with signals, or its streams, harms only itself", async ({ run, warm }) => {
  const shell = await warm();
  for (const [line, code] of SURVIVED) {
    const ran = await run(line);
    deepEqual([ran.code, ran.group], [code, shell], line);
    deepEqual(facts(await run("echo next; echo err >&2")), {
      code: 0,
      out: "next\n",
      err: "err\n",
    });
  }
});

test("a signal and an exit with its number are told apart, and no word of the shell is printed", async ({ run, warm }) => {
  const shell = await warm();
  const cases:
    readonly (readonly [line: string, code: number, killedBy: string | undefined, err: string])[] =
      [
        ["exit 137", 137, undefined, ""],
        ["echo why >&2; exit 143", 143, undefined, "why\n"],
        ["kill -KILL $$", 137, "SIGKILL", ""],
        ["printf why >&2; kill -TERM $$", 143, "SIGTERM", "why"],
        ["ulimit -c 0; echo why >&2; kill -SEGV $$", 139, "SIGSEGV", "why\n"],
        ["echo Killed >&2; exit 3", 3, undefined, "Killed\n"],
        ["echo Killed >&2; kill -TERM $$", 143, "SIGTERM", "Killed\n"],
        ["echo Terminated >&2; sleep 0.05; echo more >&2", 0, undefined, "Terminated\nmore\n"],
        ["kill -INT $$", 130, "SIGINT", ""],
      ];
  for (const [line, code, killedBy, err] of cases) {
    const ran = await run(line);
    deepEqual([ran.code, ran.killedBy, ran.err, ran.group], [code, killedBy, err, shell], line);
  }
  equal((await run("echo Killed; exit 137")).out, "Killed\n");
  const ended = await run("echo why >&2; exec sleep 600", { timeoutMs: 300 });
  deepEqual([ended.endedFor, ended.killedBy, ended.err], ["timeout", "SIGTERM", "why\n"]);
});

/** Attacks that the shell does not survive. */
const FATAL: readonly (readonly [line: string, killedBy: string])[] = [
  ["kill -9 0; sleep 30", "SIGKILL"],
  ["kill -9 $PPID; sleep 30", "SIGKILL"],
  ["kill -SEGV $PPID; sleep 30", "SIGSEGV"],
  ["kill -KILL $PPID $$", "SIGKILL"],
];

test("a line that kills its shell is killed with it, and the next line has another", async ({ run, warm, dir }) => {
  for (const [line, killedBy] of FATAL) {
    const shell = await warm();
    const ran = await run(`sleep 600 & echo $! > pid; ${line}`);
    deepEqual([ran.killedBy, ran.group], [killedBy, shell], line);
    equal(await processRuns(Number(await untilFile(`${dir}/pid`))), false, line);
    await Deno.remove(`${dir}/pid`);
    const next = await run("echo next");
    deepEqual([next.code, next.out], [0, "next\n"]);
    notStrictEqual(next.group, shell);
  }
});

test("a line that stops its shell is ended on time", async ({ run, warm }) => {
  for (const line of ["kill -STOP $PPID; exit 3", "kill -STOP 0", "kill -STOP $PPID; sleep 600"]) {
    const shell = await warm();
    const ran = await run(line, { timeoutMs: 300 });
    equal(ran.endedFor, "timeout", line);
    notStrictEqual((await run(":")).group, shell);
  }
});

test("a process in the background is ended, prints nothing later, and its shell is not used again", async ({ run, warm, dir }) => {
  const lines = [
    "sh -c 'echo $$ > pid; while :; do echo late; sleep 0.01; done' & until [ -s pid ]; do sleep 0.01; done",
    "sh -c 'echo $$ > pid; exec sleep 600' >/dev/null 2>&1 </dev/null & until [ -s pid ]; do sleep 0.01; done",
    "env -i sh -c 'echo $$ > pid; exec /bin/sleep 600' >/dev/null 2>&1 & until [ -s pid ]; do sleep 0.01; done",
    "(sh -c '(echo $$ > pid; trap : TERM HUP; exec sleep 600) &' &) ; until [ -s pid ]; do sleep 0.01; done",
  ];
  for (const line of lines) {
    const shell = await warm();
    equal((await run(line)).code, 0);
    equal(await processRuns(Number(await untilFile(`${dir}/pid`))), false, line);
    await Deno.remove(`${dir}/pid`);
    const next = await run("sleep 0.1; echo next");
    deepEqual([next.out, next.group === shell], ["next\n", false], line);
  }
});

test("a shell says that nothing is left only if that is so, in any group", async ({ run, warm, dir }) => {
  const shell = await warm();
  await until(
    "a machine that orphans nothing",
    async () => (await run(":")).leftNothing || undefined,
  );
  for (const start of ["setsid sh", "env -i setsid sh"]) {
    const ran = await run(
      `${start} -c 'echo $$ > pid; exec sleep 600' >/dev/null 2>&1 & until [ -s pid ]; do sleep 0.01; done`,
    );
    const pid = Number(await untilFile(`${dir}/pid`));
    deepEqual([ran.group, ran.leftNothing, await processRuns(pid)], [shell, false, true], start);
    Deno.kill(pid, "SIGKILL");
    await Deno.remove(`${dir}/pid`);
  }
  equal((await run("exec sleep 600", { timeoutMs: 200 })).leftNothing, false);
  equal(
    (await run("cat", { stdin: new Uint8Array() })).leftNothing,
    undefined,
    "a shell of its own",
  );
});

test("a line that waits for a shell gets its own end, not that of the line before", async ({ run, warm }) => {
  await warm();
  const cases = [["kill -KILL $$", "SIGKILL"], ["exit 137", undefined], [
    "kill -TERM $$",
    "SIGTERM",
  ]] as const;
  const rounds = Array.from({ length: 4 }, async (_, n) => {
    for (let round = 0; round < 12; round++) {
      const [line, killedBy] = cases[(n + round) % 3] ?? cases[0];
      equal((await run(line)).killedBy, killedBy, line);
    }
  });
  await Promise.all(rounds);
});

test(
  "a program that makes its pipes non-blocking does so for itself alone",
  async ({ run, warm }) => {
    for (const fd of [1, 2]) {
      const shell = await warm();
      const ran = await run(
        `python3 -c 'import fcntl, os; fcntl.fcntl(${fd}, fcntl.F_SETFL, os.O_NONBLOCK)'; exit 3`,
      );
      deepEqual([ran.code, ran.group], [3, shell]);
      const next = await run(`head -c 1000000 /dev/zero >&${fd}`);
      deepEqual([next.code, (fd === 1 ? next.out : next.err).length], [0, 1_000_000]);
      notStrictEqual(next.group, shell);
    }
  },
  missing("python3"),
);

test("output is exact, whatever it looks like", async ({ run, warm, dir }) => {
  const random = new Random(7);
  const shell = await warm();
  for (let round = 0; round < 40; round++) {
    const size = random.below(round % 10 === 0 ? 200_000 : 300);
    const alphabet = [0x1e, 0x20, 0x0a, 0x30, 0x61, 0x66, 0x00, 0xff];
    const bytes = Uint8Array.from({ length: size }, () => alphabet[random.below(8)] ?? 0);
    await Deno.writeFile(`${dir}/bytes`, bytes);
    let out: number[] = [], err: number[] = [];
    const ran = await run("cat bytes; cat bytes >&2; printf '\\036'", {
      onOutput: (stream, chunk) => {
        if (stream === "out") out = out.concat(...chunk);
        else err = err.concat(...chunk);
      },
    });
    equal(ran.group, shell);
    equal(Buffer.compare(Uint8Array.from(out), Uint8Array.from([...bytes, 0x1e])), 0);
    equal(Buffer.compare(Uint8Array.from(err), bytes), 0);
  }
});

test("every value of a variable, an argument and the line reaches the program as it is", async ({ run, warm }) => {
  const random = new Random(11);
  const shell = await warm();
  for (let round = 0; round < 30; round++) {
    const text = () =>
      Array.from({ length: random.between(1, 60) }, () => {
        const n = random.below(400);
        return String.fromCharCode(n === 0 ? 1 : n);
      }).join("");
    const [value, arg] = [text(), text()];
    const ran = await run(`printf '%s|%s' "$A" "$1"`, { env: { PATH, A: value }, args: [arg] });
    equal(ran.group, shell);
    equal(
      new TextDecoder().decode(Uint8Array.from(ran.out, (c) => c.charCodeAt(0))),
      `${value}|${arg}`,
    );
  }
});

test("what a pooled shell could not hand on exactly runs in a shell of its own", async ({ run, warm }) => {
  const shell = await warm();
  const odd: readonly Partial<ShellCommand>[] = [
    ...["A.B", "1A", "IFS", "PPID", "OPTIND", "PWD", "LINENO"].map((name) => ({
      env: { PATH, [name]: "1" },
    })),
    { env: { PATH, A: "x".repeat(40_000) } },
    { stdin: new Uint8Array([97]) },
  ];
  for (const more of odd) {
    const ran = await run("echo $$", more);
    deepEqual([ran.code, ran.out], [0, `${ran.group}\n`]);
    notStrictEqual(ran.group, shell);
  }
  equal((await run(":")).group, shell);
});
