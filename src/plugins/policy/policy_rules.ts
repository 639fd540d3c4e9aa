/**
 * The rules of `allowlist`, in the order in which they apply, as `docs/design/security.md` lists
 * them. `tests/plugins/policy_test.ts` runs every line that they allow in a real shell.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import { OWN_NAME, readShellLine, type ShellCommand } from "./shell_line.ts";
import type { ShellFault } from "./shell_word.ts";

/** A fact of the file system about a path. */
export interface FileFact {
  /** Kind of the file at the end of links; `other` also for a file that cannot be inspected. */
  readonly kind: "file" | "directory" | "other" | "missing";
  /** Its real path, without links; the path itself where no file exists. */
  readonly real: string;
}

/** Facts that a decision depends on, besides line and policy. */
export interface PolicyFacts {
  /** Absolute path of the directory that relative commands start from. */
  readonly pluginRoot: string;
  /** Finds the fact of an absolute path. */
  readonly realPath: (path: string) => FileFact;
  /** A missing file is a warning on apply and a failure at run. */
  readonly when: "apply" | "run";
}

/** The fields of a policy that the rules need. */
export interface PolicyLimits {
  /** Allowed beginnings of commands; empty ones are ignored. */
  readonly allowedCommandPrefixes: readonly string[];
  /** `any`: only the first command of a line has to have an allowed prefix. */
  readonly shellSyntax: "strict" | "any";
}

/** Rules that keep a command from running. */
export type RefusalRule =
  | "control_character"
  | "empty"
  | "too_long"
  | "denied_name"
  | "prefix"
  | ShellFault
  | "further_command"
  | "builtin"
  | "parent_directory"
  | "file"
  | "missing_file";

/** Why a line may not run. */
export interface Refusal {
  /** The rule it breaks. */
  readonly rule: RefusalRule;
  /** The remedy, as a sentence. */
  readonly reason: string;
  /** Set for a line that may run and only gets a warning. */
  readonly warning?: true;
}

/** Longest line, in bytes of UTF-8. */
const MAX_LINE_BYTES = 8 * 1024;
/**
 * Control characters, and lone surrogates, for which the shell would get other bytes than were
 * checked.
 */
const CONTROL = /(?![\t\n])\p{Cc}|\p{Cs}/u;
/**
 * Programs denied anywhere in a line, in upper and lower case, and in letters that Unicode treats
 * as these.
 */
const DENIED_ANYWHERE = /curl|wget|base64/iu;
/** Programs denied as a whole word. */
const DENIED_WORD = /(?<![A-Za-z0-9_])(?:nc|eval)(?![A-Za-z0-9_])/iu;
/** Builtins of the shell that cannot run another program. */
const BUILTINS: readonly string[] = [
  "exit",
  "true",
  "false",
  ":",
  "test",
  "[",
  "echo",
  "printf",
  "read",
  "set",
];

/** The first rule that `line` breaks; `undefined` when it may run. */
export function findRefusal(
  line: string,
  limits: PolicyLimits,
  facts: PolicyFacts,
): Refusal | undefined {
  const prefixes = limits.allowedCommandPrefixes.filter((prefix) => prefix !== "");
  const text = findTextRefusal(line) ?? findPrefixRefusal(line, prefixes);
  if (text !== undefined) return text;
  if (limits.shellSyntax === "any") {
    return findFileRefusal(firstCommand(line), { line, prefixes }, facts);
  }
  const shell = readShellLine(line);
  if ("fault" in shell) return { rule: shell.fault, reason: shell.reason };
  const { commands } = shell;
  const refusals = [
    ...commands.map((command) => findCommandRefusal(command, line, prefixes)),
    ...commands.map((command) => findFileRefusal(command, { line, prefixes }, facts)),
  ].filter((refusal) => refusal !== undefined);
  return refusals.find((refusal) => refusal.warning !== true) ?? refusals[0];
}

/** The denied program that a text names, however it is quoted. */
export function findDeniedName(text: string): string | undefined {
  const bare = text.replace(/\\\n|['"\\]/g, "");
  for (const form of [text, bare]) {
    const match = DENIED_ANYWHERE.exec(form) ?? DENIED_WORD.exec(form);
    if (match !== null) return match[0];
  }
  return undefined;
}

/** The rules over the text alone: control characters, length, denied programs. */
function findTextRefusal(line: string): Refusal | undefined {
  const control = CONTROL.exec(line)?.[0];
  if (control !== undefined) {
    const code = control.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    return { rule: "control_character", reason: `remove the control character U+${code}` };
  }
  if (line.trim() === "") return { rule: "empty", reason: "name a command" };
  if (utf8(line).length > MAX_LINE_BYTES) {
    return { rule: "too_long", reason: `over ${MAX_LINE_BYTES} bytes: move it into a script` };
  }
  const name = findDeniedName(line);
  if (name === undefined) return undefined;
  return {
    rule: "denied_name",
    reason: `"${name}" is never allowed in a command, whatever the prefix`,
  };
}

/** The rule that a line begins with an allowed prefix. */
function findPrefixRefusal(line: string, prefixes: readonly string[]): Refusal | undefined {
  if (prefixes.some((prefix) => line.startsWith(prefix, startOf(line)))) return undefined;
  return { rule: "prefix", reason: notAllowed("the command", prefixes) };
}

/**
 * The rule that each command in the line begins with an allowed prefix, or is a harmless builtin.
 */
function findCommandRefusal(
  command: ShellCommand,
  line: string,
  prefixes: readonly string[],
): Refusal | undefined {
  if (prefixes.some((prefix) => line.startsWith(prefix, command.at))) return undefined;
  if (BUILTINS.includes(command.word)) return findBuiltinRefusal(command);
  return { rule: "further_command", reason: notAllowed(`"${command.word}"`, prefixes) };
}

function notAllowed(what: string, prefixes: readonly string[]): string {
  if (prefixes.length === 0) return `${what} does not run: allowed_command_prefixes is empty`;
  const list = prefixes.map((prefix) => `"${prefix}"`).join(", ");
  return `${what} starts with no allowed prefix (${list}): add one, or move it into a script`;
}

/** Options of `set` that neither set nor export variables. */
const HARMLESS_SET = /^[-+][efuxvC]+$/;

/**
 * The rule over arguments of builtins that assign: `set -a` exports what is set from then on, `read
 * PATH` sets it, `printf -v` sets a variable where /bin/sh is Bash, and `test -v` runs the content
 * of a subscript there.
 */
function findBuiltinRefusal({ word, args }: ShellCommand): Refusal | undefined {
  const [first] = args;
  const refused = (reason: string): Refusal => ({ rule: "builtin", reason });
  if (word === "set") {
    const end = args.indexOf("--");
    const options = end === -1 ? args : args.slice(0, end);
    if (options.every((option) => option !== undefined && HARMLESS_SET.test(option))) return;
    return refused("set takes -e, -f, -u, -x, -v and -C, and -- before arguments");
  }
  if (word === "read") {
    const names = first === "-r" ? args.slice(1) : args;
    if (names.every((name) => name !== undefined && OWN_NAME.test(name))) return;
    return refused("read takes -r and names of variables in lower case");
  }
  if (word === "printf" && args.length > 0) {
    if (first !== undefined && (first === "--" || !first.startsWith("-"))) return;
    return refused("give printf its format as plain text: printf '%s' …");
  }
  if (word === "test" || word === "[") {
    const open = args.some((arg, i) => i > 0 && arg === undefined && args[i - 1] === undefined);
    if (!open && !args.includes("-v") && !args.includes("-R")) return;
    return refused(`write out the operator of ${word}, and not -v or -R`);
  }
  return undefined;
}

/** The name of a command and its place in the line. */
type CommandName = Pick<ShellCommand, "at" | "word">;

/** The first word of a line, without parsing it; empty when it is not plain text. */
function firstCommand(line: string): CommandName {
  const at = startOf(line);
  // Only the shell's own blanks end a word; any other blank belongs to it.
  const word = /^[^ \t\n;&|<>()'"`$\\*?[\]{}~]+(?=[ \t\n;&|<>()]|$)/.exec(line.slice(at))?.[0];
  return { at, word: word ?? "" };
}

/** The rule that a command which is a file is in the directory of its prefix. */
function findFileRefusal(
  { at, word }: CommandName,
  { line, prefixes }: { readonly line: string; readonly prefixes: readonly string[] },
  facts: PolicyFacts,
): Refusal | undefined {
  if (word === "") {
    return { rule: "file", reason: "write out the name of the command, without quotes and $" };
  }
  if (!word.includes("/")) return undefined;
  if (word.split("/").includes("..")) {
    return { rule: "parent_directory", reason: `take the ".." out of "${word}"` };
  }
  const file = facts.realPath(absolute(word, facts));
  if (file.kind === "missing") {
    return {
      rule: "missing_file",
      reason: `"${word}" does not exist: put it there before it runs`,
      ...(facts.when === "apply" ? { warning: true } : {}),
    };
  }
  if (file.kind !== "file") {
    return { rule: "file", reason: `"${word}" is not a regular file that can be read` };
  }
  const homes = prefixes.filter((prefix) => line.startsWith(prefix, at)).map((prefix) =>
    facts.realPath(absolute(prefixDirectory(prefix), facts))
  );
  if (homes.some(({ kind, real }) => kind === "directory" && isInside(file.real, real))) return;
  return {
    rule: "file",
    reason: `"${word}" is "${file.real}", outside the directory of its prefix`,
  };
}

/** The directory of a prefix: its first word up to the last slash; empty for the plugin root. */
export function prefixDirectory(prefix: string): string {
  const [word = ""] = prefix.split(/[ \t\n]/, 1);
  return word.slice(0, word.lastIndexOf("/") + 1);
}

function absolute(path: string, facts: PolicyFacts): string {
  return path.startsWith("/") ? path : `${facts.pluginRoot}/${path}`;
}

function isInside(path: string, directory: string): boolean {
  return path.startsWith(directory.endsWith("/") ? directory : `${directory}/`);
}

function startOf(line: string): number {
  return line.search(/[^ \t]|$/);
}
