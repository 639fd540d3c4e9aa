/**
 * Suggests a command for a command line that names none. Pure.
 *
 * @module
 */

import { editsTo } from "../base/similar_names.ts";

/** The command for a word of another program. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  add: "apply",
  config: "help daemon",
  create: "apply",
  diagnose: "doctor",
  diff: "apply --dry-run",
  events: "get deliveries",
  health: "status",
  history: "get tasks",
  info: "status",
  inspect: "describe",
  kill: "task cancel",
  list: "get",
  log: "task logs",
  login: "token create",
  ls: "get tasks",
  man: "docs",
  manual: "docs",
  ps: "get tasks",
  remove: "delete",
  restart: "daemon",
  retry: "task retry",
  rm: "delete",
  run: "trigger fire",
  serve: "daemon",
  show: "describe",
  start: "daemon",
  tail: "task logs",
  test: "trigger test",
  top: "stats",
  validate: "apply --dry-run",
};

/**
 * Verbs that other programs write after a kind or record (`svc task list`), with the command that
 * svc writes before it.
 */
const BEHIND: Readonly<Record<string, "get" | "describe" | "delete">> = {
  delete: "delete",
  describe: "describe",
  get: "describe",
  inspect: "describe",
  list: "get",
  ls: "get",
  remove: "delete",
  rm: "delete",
  show: "describe",
};

/** Commands for such words that have a verb of their own. */
const OWN: Readonly<Record<string, string>> = {
  "delete node": "node forget",
  "delete token": "token revoke",
  "task kill": "task cancel",
  "task rerun": "task retry",
  "task stop": "task cancel",
  "trigger run": "trigger fire",
  "trigger start": "trigger fire",
};

/** The plural of a kind or a type of record, and all names that `svc get` takes for it. */
export interface ListedName {
  readonly plural: string;
  readonly names: readonly string[];
}

/**
 * The command, without `svc`, that unknown words probably mean: misspelt words, its second word
 * alone or first, or a name that `svc get` lists. `undefined` when no command is close, or several
 * are.
 */
export function suggestCommand(
  typed: readonly string[],
  { commands, listed }: { commands: readonly string[]; listed: readonly ListedName[] },
): string | undefined {
  const [first = "", second = ""] = typed;
  if (isGroup(first, commands) && !commands.includes(`${first} ${second}`)) {
    const meant = turnedRound(first, second, listed);
    if (meant !== undefined) return meant;
  }
  const misspelt = closest(commands.map((words) => [words, edits(words.split(" "), typed)]));
  if (misspelt !== undefined) return misspelt;
  if (isGroup(first, commands)) return undefined; // its second word is the unknown one
  const isForeign = Object.hasOwn(ELSEWHERE, first);
  const named = isForeign ? undefined : closest(
    listed.flatMap(({ plural, names }) =>
      names.map((name): Proposal => [`get ${plural}`, editsTo(name, first)])
    ),
  );
  if (named !== undefined) return named;
  const turned = commands.map((words): Proposal => {
    const [group = "", verb] = words.split(" ");
    return [words, verb === undefined ? undefined : edits([verb, group], [first, second])];
  });
  const alone = commands.filter((words) => words.split(" ")[1] === first);
  const byVerb = closest(turned) ?? (alone.length === 1 ? alone[0] : undefined);
  if (byVerb !== undefined) return byVerb;
  return isForeign ? ELSEWHERE[first] : begun(first, { commands, listed });
}

/** Suggests `describe task` for `task show`, because svc writes the verb first. */
function turnedRound(
  group: string,
  verb: string,
  listed: readonly ListedName[],
): string | undefined {
  const ours = BEHIND[verb];
  const kind = listed.find(({ names }) => names.includes(group));
  const turned = ours === undefined || kind === undefined
    ? `${group} ${verb}`
    : `${ours} ${ours === "get" ? kind.plural : kind.names[1] ?? group}`;
  return OWN[turned] ?? (ours === undefined || kind === undefined ? undefined : turned);
}

/**
 * Completes a beginning of three letters or more to a command of one word, or to a name that `svc
 * get` lists.
 */
function begun(
  word: string,
  { commands, listed }: { commands: readonly string[]; listed: readonly ListedName[] },
): string | undefined {
  if (word.length < 3) return undefined;
  const single = commands.find((words) => !words.includes(" ") && words.startsWith(word));
  const plural = listed.find((one) => one.plural.startsWith(word))?.plural;
  return single ?? (plural === undefined ? undefined : `get ${plural}`);
}

/** Whether `word` begins commands of two words. */
export function isGroup(word: string, commands: readonly string[]): boolean {
  return commands.some((words) => words.startsWith(`${word} `));
}

/** A proposal and its distance; `undefined` when it is too far. */
type Proposal = readonly [what: string, edits: number | undefined];

function closest(scored: readonly Proposal[]): string | undefined {
  const near = scored.flatMap(([what, edits]) => edits === undefined ? [] : [{ what, edits }]);
  const best = near.toSorted((a, b) => a.edits - b.edits)[0];
  return best?.what;
}

/**
 * The number of letters in which `typed` differs from `words`; `undefined` if it is too different.
 */
function edits(words: readonly string[], typed: readonly string[]): number | undefined {
  const each = words.map((word, at) => editsTo(word, typed[at] ?? ""));
  const total = each.reduce<number>((sum, one) => sum + (one ?? Infinity), 0);
  return Number.isFinite(total) ? total : undefined;
}
