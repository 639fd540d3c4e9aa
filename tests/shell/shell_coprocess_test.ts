/**
 * The shell that stays: answers in the order of the questions, however many there are, and another
 * one takes over when it is killed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { startShellCoprocess } from "../../src/shell/shell_coprocess.ts";
import { within } from "../helpers/within.ts";

const ECHO = 'while IFS= read -r line; do echo "<$line>"; done';

Deno.test("startShellCoprocess: each question gets its own answer, a thousand at once", async () => {
  await using shell = startShellCoprocess(ECHO);
  const lines = Array.from({ length: 1000 }, (_, n) => `${n} ${"x".repeat(n % 300)}`);
  deepEqual(
    await Promise.all(lines.map((line) => shell.ask(line))),
    lines.map((line) => `<${line}>`),
  );
  equal(await shell.ask("one more"), "<one more>");
});

Deno.test("startShellCoprocess: more than a pipe holds, while it thinks", async () => {
  await using shell = startShellCoprocess(`sleep 0.3; ${ECHO}`);
  const long = "y".repeat(3000);
  const answers = await within(
    10_000,
    Promise.all(Array.from({ length: 200 }, () => shell.ask(long))),
  );
  equal(answers.length, 200);
  deepEqual(new Set(answers), new Set([`<${long}>`]));
});

Deno.test("startShellCoprocess: one that is killed is replaced, and what it owes is asked again", async () => {
  await using dir = await Deno.makeTempDir().then((path) => ({
    path,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  }));
  // Dies at the first "die" it is ever asked, and answers the second time.
  const script = `while read -r line; do
    if [ "$line" = die ] && [ ! -e ${dir.path}/died ]; then : > ${dir.path}/died; kill -KILL $$; fi
    echo "$line"
  done`;
  await using shell = startShellCoprocess(script);
  const asked = ["a", "b", "die", "c", "d"];
  deepEqual(await within(10_000, Promise.all(asked.map((line) => shell.ask(line)))), asked);
  equal(await shell.ask("after"), "after");
});

Deno.test("startShellCoprocess: a question that kills every shell is given up, and others are answered", async () => {
  await using shell = startShellCoprocess(
    'while read -r line; do if [ "$line" = die ]; then kill -KILL $$; fi; echo "$line"; done',
  );
  const die = shell.ask("die");
  await within(10_000, rejects(die, /has ended/));
  equal(await shell.ask("still here"), "still here");
});

Deno.test("startShellCoprocess: disposing waits for the answers", async () => {
  const shell = startShellCoprocess(`sleep 0.2; ${ECHO}`);
  const answers = Promise.all(["a", "b"].map((line) => shell.ask(line)));
  await within(5000, shell[Symbol.asyncDispose]());
  deepEqual(await answers, ["<a>", "<b>"]);
});
