/**
 * Suggests a command for a command line that names none. Pure.
 *
 * @module
 */

import { editsTo } from "../base/similar_names.ts";

/** Words of other programs for what a command of ours does. */
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

/** What a command takes behind a kind or record (`svc task list`), and ours before it. */
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

/** Where what is meant has a verb of its own. */
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
 * The command that was meant by words that are none, without `svc`: letters wrong in any of its
 * words, its second word alone or first, or a name of what `svc get` lists. `undefined` when
 * nothing comes close, or several things do.
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
  if (isGroup(first, commands)) return undefined; // its second word is what is unknown
  const isForeign = Object.hasOwn(ELSEWHERE, first);
  const named = isForeign ? undefined : closest(
    listed.flatMap(({ plural, names }) =>
      names.map((name): Scored => [`get ${plural}`, editsTo(name, first)])
    ),
  );
  if (named !== undefined) return named;
  const turned = commands.map((words): Scored => {
    const [group = "", verb] = words.split(" ");
    return [words, verb === undefined ? undefined : edits([verb, group], [first, second])];
  });
  const alone = commands.filter((words) => words.split(" ")[1] === first);
  const byVerb = closest(turned) ?? (alone.length === 1 ? alone[0] : undefined);
  if (byVerb !== undefined) return byVerb;
  return isForeign ? ELSEWHERE[first] : begun(first, { commands, listed });
}

/** `describe task` for `task show`: the verb stands first here. */
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

/** What begins with three letters or more: a command of one word, else what `svc get` lists. */
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
type Scored = readonly [what: string, edits: number | undefined];

function closest(scored: readonly Scored[]): string | undefined {
  const near = scored.flatMap(([what, edits]) => edits === undefined ? [] : [{ what, edits }]);
  const best = near.toSorted((a, b) => a.edits - b.edits)[0];
  return best?.what;
}

/** How many letters `typed` is away from `words`; `undefined` when it is not meant. */
function edits(words: readonly string[], typed: readonly string[]): number | undefined {
  const each = words.map((word, at) => editsTo(word, typed[at] ?? ""));
  const total = each.reduce<number>((sum, one) => sum + (one ?? Infinity), 0);
  return Number.isFinite(total) ? total : undefined;
}
