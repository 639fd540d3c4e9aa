/**
 * What `svc policy lint` says about a policy that is valid: rules that allow too much, and prefixes
 * that match nothing.
 *
 * @module
 */

import { basename, resolve } from "node:path";
import { fileFault } from "../base/file_fault.ts";
import type { Policy, PolicyReading } from "../plugins/policy/policy.ts";
import { findDeniedName, prefixDirectory } from "../plugins/policy/policy_rules.ts";
import type { FieldPath } from "../resources/resource.ts";

/** Programs that run any code that they are given. */
const INTERPRETERS =
  /^(?:env|exec|command|xargs|find|sudo|doas|su|nohup|nice|timeout|setsid|strace|busybox|make|git|ssh|docker|podman|vim?|ed|sed|[gmn]?awk|(?:ba|da|z|k|mk|c|tc|a|fi)?sh|python[0-9.]*|perl[0-9.]*|ruby[0-9.]*|lua[0-9.]*|php[0-9.]*|tclsh|node|deno|bun|npx|npm|osascript|pwsh)$/;

/** The warnings about a policy whose relative commands start in `root`. */
export async function findWarnings(
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
