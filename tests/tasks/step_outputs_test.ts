/**
 * `$SVC_OUTPUT`: which lines count, what the log says of the others, and that no replacement of the file
 * by a step blocks svc.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { parseOutputs, readOutputs } from "../../src/tasks/step/step_outputs.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { within } from "../helpers/within.ts";

const TAKEN: readonly [text: string, outputs: Record<string, string>][] = [
  ["", {}],
  ["a=1", { a: "1" }],
  ["a=1\n", { a: "1" }],
  ["a=1\n\n\nb=2\n", { a: "1", b: "2" }],
  ["a=1\na=2\n", { a: "2" }],
  ["a=b=c\n", { a: "b=c" }],
  ["a=\n", { a: "" }],
  ["a= x \n", { a: " x " }],
  ["a=1\r\n", { a: "1\r" }],
  ["_a-B9=ü😀\n", { "_a-B9": "ü😀" }],
  ["a=x\0y\n", { a: "x\0y" }],
  ['a={"b": "$(id)"}\n', { a: '{"b": "$(id)"}' }],
];

for (const [text, outputs] of TAKEN) {
  Deno.test(`parseOutputs of ${JSON.stringify(text)}`, () => {
    deepEqual(parseOutputs(text), { outputs, problems: [] });
  });
}

for (const line of ["word", "=1", " a=1", "a =1", "9a=1", "-a=1", "a.b=1", "ä=1", "export a=1"]) {
  Deno.test(`parseOutputs ignores ${JSON.stringify(line)} and says which line it is`, () => {
    deepEqual(parseOutputs(`ok=1\n${line}\n`), {
      outputs: { ok: "1" },
      problems: ['line 2 of $SVC_OUTPUT is not "key=value" and is ignored'],
    });
  });
}

Deno.test("parseOutputs keeps names that mean something to JavaScript", () => {
  const { outputs } = parseOutputs("__proto__=1\nconstructor=2\ntoString=3\n");
  deepEqual(Object.entries(outputs), [["__proto__", "1"], ["constructor", "2"], ["toString", "3"]]);
  equal(Object.getPrototypeOf(outputs), Object.prototype);
});

Deno.test("parseOutputs takes a thousand keys, and new values of these", () => {
  const text = Array.from({ length: 1002 }, (_, n) => `k${n}=${n}\n`).join("") + "k0=new\n";
  const { outputs, problems } = parseOutputs(text);
  equal(Object.keys(outputs).length, 1000);
  equal(outputs["k0"], "new");
  deepEqual(
    problems,
    [1001, 1002].map((line) =>
      `line ${line} of $SVC_OUTPUT is ignored, a step has at most 1000 keys`
    ),
  );
});

Deno.test("parseOutputs tells of twenty problems and counts the rest", () => {
  const { problems } = parseOutputs("no\n".repeat(1000));
  equal(problems.length, 21);
  equal(problems.at(-1), "980 more lines of $SVC_OUTPUT are ignored");
});

Deno.test("readOutputs reads a file, and a file that is not there has nothing", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/out`;
  deepEqual(await readOutputs(path), { outputs: {}, problems: [] });
  await Deno.writeFile(path, new Uint8Array([97, 61, 0xff, 98, 10]));
  deepEqual(await readOutputs(path), { outputs: { a: "\ufffdb" }, problems: [] });
});

Deno.test("readOutputs takes the whole lines of the first mebibyte", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/out`;
  const long = `a=${"x".repeat(600_000)}\n`;
  await Deno.writeTextFile(path, `first=1\n${long}${long}`);
  const { outputs, problems } = await readOutputs(path);
  deepEqual([Object.keys(outputs), outputs["a"]?.length], [["first", "a"], 600_000]);
  deepEqual(problems, ["$SVC_OUTPUT holds more than 1048576 bytes, the rest is ignored"]);
  await Deno.writeTextFile(path, `a=${"x".repeat(1_048_573)}\n`);
  const whole = await readOutputs(path);
  deepEqual([whole.outputs["a"]?.length, whole.problems], [1_048_573, []]);
});

Deno.test("readOutputs of a gigabyte is quick and small", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/out`;
  await Deno.writeTextFile(path, "a=1\n");
  await Deno.truncate(path, 1e9);
  const { outputs } = await within(2000, readOutputs(path));
  deepEqual(outputs, { a: "1" });
});

Deno.test("readOutputs does not wait for a file that was replaced by a pipe", async () => {
  await using dir = await tempDir();
  const [pipe, link, folder] = ["pipe", "link", "folder"].map((name) => `${dir.path}/${name}`);
  const { success } = await new Deno.Command("mkfifo", { args: [pipe ?? ""] }).output();
  equal(success, true);
  await Deno.symlink("/etc/passwd", link ?? "");
  await Deno.mkdir(folder ?? "");
  for (const path of [pipe, link, folder]) {
    const { outputs, problems } = await within(2000, readOutputs(path ?? ""));
    deepEqual(outputs, {});
    match(problems.join(), /it is no longer a file/);
  }
});
