/**
 * What is proposed for a command line that is none.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { SECTIONS, unknownCommand } from "../../src/cli/command_list.ts";
import { LISTED } from "../../src/cli/commands/commands.ts";
import { LISTED_NAMES } from "../../src/cli/listed_names.ts";
import { runCli } from "../../src/cli/run.ts";
import { screen } from "../rigs/screen.ts";

const CASES: readonly (readonly [typed: string, meant: string])[] = [
  ["aply -f x.yaml", "apply"],
  ["gett", "get"],
  ["stauts", "status"],
  ["damon", "daemon"],
  ["trigger fier x", "trigger fire"],
  ["triger fire x", "trigger fire"],
  ["trigger susped x", "trigger suspend"],
  ["delivery explian 01", "delivery explain"],
  ["integration instal github", "integration install"],
  ["completion bash", "completions"],
  ["tasks", "get tasks"],
  ["taks", "get tasks"],
  ["triggers", "get triggers"],
  ["deliveries", "get deliveries"],
  ["deliverys", "get deliveries"],
  ["workflow", "get workflows"],
  ["retry 01", "task retry"],
  ["suspend github-push", "trigger suspend"],
  ["list tokens", "token list"],
  ["list", "get"],
  ["rm trigger/x", "delete"],
  ["start", "daemon"],
  ["ps", "get tasks"],
  ["ls", "get tasks"],
  ["diagnose", "doctor"],
  ["restart", "daemon"],
  ["config", "help daemon"],
  ["log", "task logs"],
  ["events", "get deliveries"],
  ["validate", "apply --dry-run"],
  ["task list", "get tasks"],
  ["task show 01", "describe task"],
  ["task stop 01", "task cancel"],
  ["trigger ls", "get triggers"],
  ["trigger rm x", "delete trigger"],
  ["trigger run x", "trigger fire"],
  ["secret get x", "describe secretstore"],
  ["secret list", "get secretstores"],
  ["token rm 01", "token revoke"],
  ["node delete one", "node forget"],
  ["deliv", "get deliveries"],
  ["desc task", "describe"],
];

Deno.test("svc --help has every command under a heading, and no word that is none", () => {
  const first = new Set(LISTED.map(({ words }) => words.split(" ")[0]));
  deepEqual(SECTIONS.flatMap(([, words]) => words).toSorted(), [...first].toSorted());
});

for (const [typed, meant] of CASES) {
  Deno.test(`svc ${typed}: did you mean "svc ${meant}"?`, () => {
    const { message } = unknownCommand(typed.split(" "), LISTED, LISTED_NAMES);
    equal(message.replace(/^.*: /, ""), `did you mean "svc ${meant}"?`, message);
  });
}

for (const typed of ["frobnicate", "xy", "trigger frobnicate", "tool x", "db"]) {
  Deno.test(`svc ${typed}: nothing is near, so nothing is proposed`, () => {
    const { message } = unknownCommand(typed.split(" "), LISTED, LISTED_NAMES);
    equal(message.includes("did you mean"), false, message);
  });
}

/** Runs a command line that needs no daemon. */
async function ran(line: string, columns?: number) {
  const { io, text } = screen(false, { columns });
  const code = await runCli(line === "" ? [] : line.split(" "), io);
  return { code, out: text.out, err: text.err };
}

Deno.test("svc help COMMAND is its --help, svc help GROUP lists the group", async () => {
  deepEqual(await ran("help get"), await ran("get --help"));
  deepEqual(await ran("help task logs"), await ran("task logs --help"));
  const group = await ran("help task");
  deepEqual([group.code, group.err], [0, ""]);
  equal(group.out.includes("  task logs "), true);
  const half = await ran("task");
  deepEqual([half.code, half.out, half.err], [2, "", group.out]);
  equal((await ran("help frobnicate")).code, 2);
});

Deno.test("svc --help: every command stands once, under a heading, in 80 columns", async () => {
  const { out } = await ran("--help");
  const shown = [...out.matchAll(/^ {2}(\S.*?) {2,}\S/gm)].map(([, words]) => words);
  deepEqual(shown.toSorted(), LISTED.map(({ words }) => words).toSorted());
  equal(out.includes("Other commands"), false, "a command's first word is in no section");
  deepEqual(out.split("\n").filter((line) => line.length > 80), []);
});

for (const columns of [60, 80, 200]) {
  Deno.test(`svc get --help at ${columns} columns: wrapped, at 100 at most`, async () => {
    const { out } = await ran("get --help", columns);
    const [text = ""] = out.split("\nExamples:");
    const longest = Math.max(...text.split("\n").map((line) => line.length));
    equal(longest <= Math.min(columns, 100), true, `${longest}`);
    equal(longest > Math.min(columns, 100) - 20, true, `${longest}`);
  });
}

Deno.test("svcd --version is that of svc, as svcd is svc daemon", async () => {
  for (const option of ["--version", "-V"]) {
    deepEqual(await ran(`daemon ${option}`), await ran("version"));
  }
});

const USAGE: readonly (readonly [line: string, says: string])[] = [
  ["describe", "KIND is missing: svc describe KIND [NAME]"],
  ["task inbox", "TASK is missing: svc task inbox TASK"],
  ["version x", "Too many arguments: svc version"],
  ["get task --limt 3", 'Unknown option "--limt", did you mean "--limit"?'],
  ["get task --frobnicate", 'Unknown option "--frobnicate": see "svc help get"'],
  ["get task -o xml", '--output takes table, wide, json, yaml, name, not "xml"'],
  ["get task --limit", '--limit needs a value: see "svc help get"'],
];

for (const [line, says] of USAGE) {
  Deno.test(`svc ${line}: ${says}`, async () => {
    deepEqual(await ran(line), { code: 2, out: "", err: `error: ${says}\n` });
  });
}
