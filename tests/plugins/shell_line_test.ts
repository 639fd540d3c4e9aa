/**
 * Generated shell lines in a real shell: a line that the policy allows starts only programs with an
 * allowed prefix. The lines are made from pieces and are the same in every run.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { decideCommand, DEFAULT_POLICY } from "../../src/plugins/policy/policy.ts";
import { fileFacts } from "../../src/plugins/policy/policy_file.ts";
import { cpuMsOf } from "../helpers/cpu_time.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

/** Lines that are made, and how many of them have to be allowed for the test to mean anything. */
const MADE = 6000;
const ALLOWED_AT_LEAST = 250;
/** Shells that run at once. */
const AT_ONCE = 8;

/** Processor time after which a line counts as one without an end. */
const ENDLESS_MS = 200;
const IS_LINUX = Deno.build.os === "linux";

const ALLOWED = { ...DEFAULT_POLICY, allowedCommandPrefixes: ["scripts/", "svc tool "] };

/** What a program under one of these names does is noted. */
const TRAPS =
  "evil curl nc eval2 rm sh bash cat ls env time function select coproc [[ ]] x f a b 1 2 y EOF ok.sh tool - { } ! * # if then else elif fi for in do done while until case esac scripts a=b"
    .split(" ");

/** Programs, scripts and traps; each trap writes the number of its line. */
async function playground() {
  const dir = await tempDir();
  const log = `${dir.path}/trapped`;
  await Deno.mkdir(`${dir.path}/scripts`);
  await Deno.mkdir(`${dir.path}/bin`);
  const put = async (name: string, text: string) => {
    await Deno.chmod(await dir.write(name, `#!/bin/sh\n${text}\n`), 0o755);
  };
  for (const name of ["ok.sh", "a.sh", "b.sh", "x"]) await put(`scripts/${name}`, "echo evil");
  await put("bin/svc", "echo evil");
  for (const name of [...TRAPS.map((trap) => `bin/${trap}`), "evil.sh"]) {
    await put(name, `echo "$LINE" >>"${log}"`);
  }
  await Deno.symlink("../evil.sh", `${dir.path}/scripts/link.sh`);
  return {
    ...dir,
    /** Runs a line; whether it started anything but what has an allowed prefix. */
    async escapes(line: string, number: number): Promise<boolean> {
      const child = new Deno.Command("/bin/sh", {
        args: ["-c", line],
        cwd: dir.path,
        clearEnv: true,
        env: { PATH: `${dir.path}/bin`, LINE: String(number), x: "evil", X: "evil;evil" },
        stdin: "null",
        stdout: "null",
        stderr: "piped",
      }).spawn();
      const began = performance.now();
      // Only Linux tells; elsewhere an end comes within two seconds.
      const worked = () => IS_LINUX ? cpuMsOf(child.pid) : (performance.now() - began) / 10;
      let isOver = false;
      const output = child.output().finally(() => isOver = true);
      await until("its end, or so much work that it has none, as `while :`", () => {
        if (!isOver && worked() < ENDLESS_MS) return undefined;
        if (!isOver) child.kill("SIGKILL");
        return true;
      });
      const { stderr } = await output;
      const trapped = await Deno.readTextFile(log).catch(() => "");
      return trapped.split("\n").includes(String(number)) ||
        /not found|denied|cannot/i.test(new TextDecoder().decode(stderr));
    },
  };
}

const WHOLE = [
  'scripts/ok.sh "$x" | scripts/b.sh',
  "scripts/ok.sh && { scripts/a.sh; } 2>/dev/null",
  'scripts/ok.sh; for x in a b; do scripts/a.sh "$x"; done',
  'scripts/ok.sh "$(scripts/b.sh "a$x")" \'evil\'',
  'scripts/ok.sh; if [ "$x" = a ]; then scripts/a.sh; else scripts/b.sh; fi',
  'scripts/ok.sh; case "$x" in a|b) scripts/a.sh;; *) scripts/b.sh;; esac',
  "scripts/ok.sh; while read x; do scripts/b.sh; done",
  "scripts/ok.sh; f() { scripts/a.sh; }",
  'scripts/ok.sh `scripts/b.sh a` "evil" "`scripts/b.sh`"',
  "scripts/ok.sh || ( scripts/b.sh & scripts/a.sh ) >/dev/null 2>&1",
  'scripts/ok.sh "${x:-evil}" "${x#evil}" \\\n "evil"',
  "svc tool x \"$x\" 'a;evil'",
  "scripts/ok.sh # evil\nscripts/b.sh",
  "scripts/ok.sh; set -e; echo \"a\" 'evil'",
];

// deno-fmt-ignore
const PIECES = [
  "scripts/ok.sh", "scripts/x", "svc tool x", "scripts/link.sh", "scripts/../evil.sh", "ok.sh",
  "evil", "evil", "a", "x", "1", "2", "-", "a=b", "eval2", "sh", ";", ";", ";;", "&", "&&", "|",
  "||", "|&", "(", ")", "((", "))", "{", "}", "{a,b}", "[", "]", "[[", "!", "if", "then",
  "elif", "else", "fi", "for", "for x in", "in", "do", "done", "while", "case", "case x in",
  "esac", "function", "f()", "select", "coproc", "time", "\n", "\n", "\t", " ", " ", " ", "'",
  "'", '"', '"', "`", "`", "$", "$(", "$((", "${", "${x:-", "${x#", "$x", '"$x"', '"${x:-y}"',
  '"$(scripts/b.sh)"', "`scripts/b.sh`", "$[", "$'", '$"', "\\", "\\\n", "\\'", '\\"', "\\`",
  "#", " #", ">", "<", "2>&1", ">/dev/null", "&>/dev/null", "<<EOF", "<<'EOF'", "\nEOF\n",
  "<<<", "<(", "=", "*", "?", "[ab]", "@(", "!(", "~", "${IFS}", "set", "read x", "echo",
  "printf", "test", ":", "true", "exit", "exec", ".", "trap", "\u00a0", "\u3000", "é", "10>",
];

/** The same numbers from 0 to 1 on every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const mixed = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    return ((mixed ^ (mixed >>> 12)) >>> 0) / 2 ** 32;
  };
}

/** Whole lines with something put in, left out or doubled; and pieces in any order. */
function makeLines(count: number): readonly string[] {
  const next = numbers(20_240_607);
  const below = (limit: number) => Math.floor(next() * limit);
  const pick = (list: readonly string[]) => list[below(list.length)] ?? "";
  const changed = (line: string) => {
    const [at, from] = [below(line.length + 1), below(line.length + 1)];
    return [
      () => line.slice(0, at) + pick(PIECES) + line.slice(at),
      () => line.slice(0, at) + line.slice(at + 1 + below(3)),
      () => line.slice(0, at) + line.slice(from, from + below(8)) + line.slice(at),
    ][below(3)]?.() ?? line;
  };
  const joined = () => pick(WHOLE) + pick([";", "\n", " && ", " | ", " "]) + pick(WHOLE);
  const mixed = () =>
    pick(["scripts/ok.sh ", "scripts/ok.sh;", "scripts/ok.sh $(", 'svc tool "']) +
    Array.from({ length: 1 + below(8) }, () => pick(PIECES) + pick([" ", ""])).join("");
  const made = Array.from({ length: count }, () => {
    const kinds = [() => changed(pick(WHOLE)), () => changed(changed(joined())), mixed];
    return kinds[below(kinds.length)]?.() ?? "";
  });
  return [...new Set([...WHOLE, ...made])];
}

/** Runs the lines, several at once; gives those that escape. */
async function findEscapes(lines: readonly string[]): Promise<string[]> {
  await using ground = await playground();
  const found: string[] = [];
  const work = lines.entries();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (const [number, line] of work) {
      if (await ground.escapes(line, number)) found.push(line);
    }
  }));
  return found;
}

Deno.test("what the policy allows starts nothing but what it allows, under /bin/sh", async () => {
  const lines = makeLines(MADE);
  await using ground = await playground();
  const facts = { ...fileFacts(ground.path), when: "run" as const };
  const allowed = lines.filter((line) => decideCommand(line, ALLOWED, facts).verdict === "allowed");
  ok(allowed.length >= ALLOWED_AT_LEAST, `only ${allowed.length} lines are allowed`);
  equal(WHOLE.filter((line) => allowed.includes(line)).length, WHOLE.length);
  deepEqual(await findEscapes(allowed), []);
});

/**
 * The ways around a policy that looks at the start of a line
 * (`docs/decisions/0008-policy-by-parsing.md`).
 */
const WAYS_AROUND = [
  "scripts/../evil.sh",
  "scripts/link.sh",
  "scripts/ok.sh; curl",
  "scripts/ok.sh\ncurl",
  "scripts/ok.sh `curl`",
  "scripts/ok.sh $(curl)",
  "scripts/ok.sh & curl; wait",
  "scripts/ok.sh | curl",
  "scripts/ok.sh && curl",
  'scripts/ok.sh; c""url',
  "scripts/ok.sh;c\\url",
  "scripts/ok.sh; a=cu;b=rl;$a$b",
  "scripts/ok.sh; ${Z:-cu}rl",
  "scripts/ok.sh; curl${IFS}x",
  "scripts/ok.sh; bin/cur?",
  "scripts/ok.sh; $x",
  "scripts/ok.sh $'a\\'; evil #'",
  'scripts/ok.sh "`echo \\`evil\\``"',
  "scripts/ok.sh <<E\n$(evil)\nE",
  "scripts/ok.sh &>x evil",
  "scripts/ok.sh; for PATH in .; do svc tool x; evil.sh; done",
  "scripts/ok.sh; time evil",
];

Deno.test("the ways around a policy work where nothing stops them, and the policy does", async () => {
  await using ground = await playground();
  const facts = { ...fileFacts(ground.path), when: "run" as const };
  const verdicts = WAYS_AROUND.map((line) => decideCommand(line, ALLOWED, facts).verdict);
  deepEqual([...new Set(verdicts)], ["denied"]);
  deepEqual((await findEscapes(WAYS_AROUND)).toSorted(), WAYS_AROUND.toSorted());
});
