/**
 * Every `svc …` in the documentation is a command there is, with options that it has.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { entryOf, inFull } from "../../src/cli/command_words.ts";
import { COMMANDS } from "../../src/cli/commands/commands.ts";
import { parseArguments } from "../../src/cli/parse.ts";
import { SETTINGS } from "../../src/daemon/settings.ts";
import { GUIDES, place } from "./pages.ts";
import { shellCommands, svcArguments } from "./shell_words.ts";

const LEADING = /^(--server|--ca-file|--data-dir|-p|--project)$/;
const PLACEHOLDER = /^[[<(]?[A-Z][A-Z0-9_/:#.,-]*[\])>]?$/;
const GROUPS = new Set(COMMANDS.map(({ words }) => words.split(" ")[0]));

/** What is wrong with the arguments of `svc`; `isWhole` where nothing may be left out. */
async function faultOf(given: readonly string[], isWhole: boolean): Promise<string | undefined> {
  let args = given.filter((word) => !/^[….]+$/.test(word))
    .map((word) => word.replace(/^\[(-.*)$/, "$1").replace(/(?<!\[\w*)\]$/, ""))
    .filter((word) => !/^[[<]/.test(word));
  while (LEADING.test(args[0]?.split("=")[0] ?? "")) {
    args = args.slice(args[0]?.includes("=") ? 1 : 2);
  }
  if (args[0] === "help") args = [...args.slice(1), "--help"];
  args = [...inFull(args)];
  const [first = ""] = args;
  if (first === "" || /^(-h|--help|-V|--version)$/.test(first) || PLACEHOLDER.test(first)) {
    return undefined;
  }
  const entry = entryOf(args, COMMANDS);
  if (entry === undefined) {
    const [, second = "--help"] = args;
    const isGroup = GROUPS.has(first) && (PLACEHOLDER.test(second) || second.startsWith("-"));
    return isGroup ? undefined : "no such command";
  }
  try {
    const { command } = await entry.load();
    parseArguments(entry.words, command, args.slice(entry.words.split(" ").length));
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { message } = error;
    if (/takes .*, not "[A-Z]+"$/.test(message)) return undefined;
    const isPart = /is missing|needs a value|Too many arguments/.test(message);
    return isPart && !isWhole ? undefined : message;
  }
}

Deno.test("every svc in the documentation is a command with options that it has", async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const page of GUIDES) {
    const whole = page.blocks.filter(({ language }) => /^(sh|bash|console)$/.test(language));
    for (const { line, text } of whole) {
      for (const command of shellCommands(text)) {
        const args = svcArguments(command);
        if (args === undefined) continue;
        count++;
        const fault = await faultOf(args, true);
        if (fault !== undefined) {
          wrong.push(`${place(page, line + command.line + 1)}: svc ${args.join(" ")}: ${fault}`);
        }
      }
    }
    for (const { line, text } of page.codes) {
      if (!/\bsvcd?\b/.test(text) || text.startsWith("/svc ")) continue; // that asks an agent
      for (const command of shellCommands(text)) {
        const args = svcArguments(command);
        if (args === undefined) continue;
        count++;
        const fault = await faultOf(args, false);
        if (fault !== undefined) wrong.push(`${place(page, line)}: \`${text}\`: ${fault}`);
      }
    }
  }
  ok(count > 500, `${count} commands`);
  deepEqual(wrong, []);
});

Deno.test("every option that the documentation names is one of some command, or of another program", async () => {
  const known = new Set(["--help", "--version", ...SETTINGS.map(({ name }) => `--${name}`)]);
  for (const { load } of COMMANDS) {
    const { command } = await load();
    for (const { flags } of command.options ?? []) known.add(/--[a-z-]+/.exec(flags)?.[0] ?? "");
  }
  // A code that begins with an option speaks of one of ours, unless its page is about other programs.
  const wrong = GUIDES.filter(({ path }) => !OF_OTHERS.has(path)).flatMap((page) =>
    page.codes.flatMap(({ line, text }) => {
      const [flag] = /^--[a-z][a-z-]*/.exec(text) ?? [];
      const isPart = flag?.endsWith("-"); // \`--webhook-tls-…\`
      return flag === undefined || isPart || known.has(flag) || OTHERS.has(flag)
        ? []
        : [`${place(page, line)}: no command has ${flag}`];
    })
  );
  deepEqual(wrong, []);
});

/** Pages about install.sh. */
const OF_OTHERS = new Set(["docs/install.md"]);

/** Options of other programs that pages speak of. */
const OTHERS = new Set([
  "--dangerously-skip-permissions",
  "--oidc-email-claim",
  "--skip-provider-button",
  "--print",
  "--output-format",
  "--permission-mode",
  "--approval-mode",
]);

Deno.test("the check knows what is wrong", async () => {
  for (const line of ["gett task", "get task --filter x", "apply -f", "task", "task wait --all"]) {
    const fault = await faultOf(line.split(" "), true);
    if (line !== "task") ok(fault !== undefined, line);
  }
  const text =
    "a=$(svc get task | head)\nsudo -u svc svc init && svc \\\n  status # svc x\ncat <<E\nsvc no\nE\n";
  deepEqual(shellCommands(text).flatMap((one) => svcArguments(one)?.join(" ") ?? []), [
    "get task",
    "init",
    "status",
  ]);
});
