/**
 * `svc policy lint`: finds rules of a valid policy that allow too much, or that can never match.
 *
 * @module
 */

import { basename, resolve } from "node:path";
import { findText } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { fileFault } from "../../base/file_fault.ts";
import { parsePolicy, type Policy, type PolicyReading } from "../../plugins/policy/policy.ts";
import { policyPath, readPolicy } from "../../plugins/policy/policy_file.ts";
import { findDeniedName, prefixDirectory } from "../../plugins/policy/policy_rules.ts";
import type { FieldPath } from "../../resources/resource.ts";
import { type Command, DATA_DIR, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import type { Io } from "../io.ts";
import { PLUGIN_ROOT, pluginRoot } from "./policy_check.ts";
import { jsonText } from "../json_text.ts";
import { inputName, readFile } from "../read_file.ts";
import { printable } from "../terminal_text.ts";

/** Programs that run any code that they are given. */
const INTERPRETERS =
  /^(?:env|exec|command|xargs|find|sudo|doas|su|nohup|nice|timeout|setsid|strace|busybox|make|git|ssh|docker|podman|vim?|ed|sed|[gmn]?awk|(?:ba|da|z|k|mk|c|tc|a|fi)?sh|python[0-9.]*|perl[0-9.]*|ruby[0-9.]*|lua[0-9.]*|php[0-9.]*|tclsh|node|deno|bun|npx|npm|osascript|pwsh)$/;

export const command: Command = defineCommand({
  help: "Looks for mistakes in a plugin policy: errors, with which no plugin runs, and prefixes " +
    "that allow more than they seem to, or nothing. Exit 1 when there are errors. Needs no " +
    "daemon.",
  arguments: [{
    name: "[file]",
    help: "the policy (default: plugin-policy.yaml in the data directory)",
  }],
  options: [DATA_DIR, PLUGIN_ROOT, OUTPUT_TEXT_JSON],
  examples: ["svc policy lint", "svc policy lint deploy/plugin-policy.yaml"],
  async run(context) {
    const file = context.argument(0);
    const reading = file === ""
      ? await readPolicy(context.dir())
      : await readPolicyFile(file, context.io);
    const errors = "closed" in reading ? reading.errors : [];
    const warnings = "closed" in reading ? [] : await findWarnings(reading, pluginRoot(context));
    if (context.options.output === "json") {
      context.io.out(jsonText({ errors, warnings }));
    } else {
      for (const line of errors) context.io.out(`error: ${printable(line)}\n`);
      for (const line of warnings) context.io.out(`warning: ${printable(line)}\n`);
      if (errors.length + warnings.length === 0) {
        context.io.out(
          `${file === "" ? policyPath(context.dir()) : inputName(file)}: no mistakes found\n`,
        );
      }
    }
    return errors.length > 0 ? 1 : 0;
  },
});

async function readPolicyFile(path: string, io: Io): Promise<PolicyReading> {
  const name = inputName(path);
  const text = findText(await readFile(path, io));
  if (text === undefined) throw new AppError("invalid", `"${name}" is not UTF-8`);
  return parsePolicy(text, name);
}

async function findWarnings(
  { policy, warnings, locate }: Extract<PolicyReading, { policy: Policy }>,
  root: string,
): Promise<string[]> {
  const found = [...warnings];
  const warn = (path: FieldPath, message: string) => found.push(`${locate(path)}: ${message}`);
  const prefixes = policy.allowedCommandPrefixes;
  if (policy.mode === "audit") {
    warn(
      ["mode"],
      "Under audit every command runs: use it to find the prefixes, then set allowlist",
    );
  }
  if (policy.shellSyntax === "any") {
    warn(["shell_syntax"], "After an allowed prefix anything may follow: prefer strict");
  }
  if (policy.mode !== "deny" && !prefixes.some((prefix) => prefix !== "")) {
    warn([PREFIXES], "There is no prefix, so no command is allowed: add one such as scripts/");
  }
  for (const [i, prefix] of prefixes.entries()) {
    if (prefix === "") continue;
    for (const message of [...textWarnings(prefix), ...await directoryWarnings(prefix, root)]) {
      warn([PREFIXES, i], message);
    }
  }
  return found;
}

const PREFIXES = "allowed_command_prefixes";

/** Warnings that follow from the text of a prefix alone. */
function textWarnings(prefix: string): string[] {
  const found: string[] = [];
  const [word = ""] = prefix.split(/[ \t]/, 1);
  const shown = `"${prefix}"`;
  const denied = findDeniedName(prefix);
  if (denied !== undefined) {
    found.push(
      `${shown} names "${denied}", which is never allowed, whatever the prefix: remove it`,
    );
  }
  if (/^\s/.test(prefix) || /(?![\t\n])\p{Cc}/u.test(prefix)) {
    found.push(`${shown} starts with a blank or holds a control character: no command matches`);
  }
  if (/["'`$\\;&|<>(){}*?[\]~\n]/.test(prefix)) {
    found.push(
      `${shown} holds characters that are special to the shell: here they are compared as text`,
    );
  }
  if (word.split("/").includes("..")) found.push(`${shown} holds "..": no command matches`);
  if (INTERPRETERS.test(basename(word))) {
    found.push(`${shown} lets "${basename(word)}" run anything it is given: name a script instead`);
  }
  if (!/[/ \t]$/.test(prefix)) {
    const other = `${prefix}-evil`;
    found.push(`${shown} also allows "${other}": end it with a slash or a blank`);
  }
  if (prefixDirectory(prefix) === "/") found.push(`${shown} allows every file of the machine`);
  return found;
}

/** Warnings about the directory that a prefix names. */
async function directoryWarnings(prefix: string, root: string): Promise<string[]> {
  const named = prefixDirectory(prefix);
  if (named === "") return [];
  const directory = resolve(root, named);
  try {
    const { isDirectory, mode } = await Deno.stat(directory);
    if (!isDirectory) return [`"${directory}" is not a directory`];
    if (((mode ?? 0) & 0o002) === 0) return [];
    return [`Everyone can write to "${directory}", and so decide what runs: chmod o-w it`];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [`"${directory}" does not exist`];
    return [`Cannot examine "${directory}": ${fileFault(error)}`];
  }
}
