/**
 * `svc get`: lists resources and records.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import type { GetInput, Listing } from "../../api/resource_operations.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { type Command, CONNECTION, type Context, defineCommand, OUTPUT } from "../command.ts";
import { count, duration, type OptionDefinition, type OptionValue } from "../option.ts";
import { DELIVERY_FILTERS, deliveryFilters } from "../delivery_filters.ts";
import type { Io } from "../io.ts";
import { interruptible } from "../interrupt.ts";
import { KIND_NAMES, PLURALS, RECORD_TYPE_NAMES } from "../listed_names.ts";
import { joinListings, type Selection, toSelection, withKinds } from "../listings.ts";
import { nothingFound } from "../nothing_found.ts";
import { type Format, printListing, printValue } from "../print.ts";
import { DELIVERY_OUTCOMES } from "../../store/delivery_records.ts";
import { MESSAGE_STATES } from "../../store/outbox_records.ts";
import { SOURCE_EVENT_STATES } from "../../store/source_event_records.ts";
import { isBudgets } from "../../resources/record_names.ts";
import { TASK_STATES } from "../../store/task_records.ts";
import type { ListedName } from "../suggest.ts";
import { WatchPrinter } from "../watch_printer.ts";

const AGO = duration((secs) => ({ since_secs: secs }));

/** A span of time back from now, or a time; the form of the text tells which. */
const SINCE: OptionValue<Pick<GetInput, "since" | "since_secs">> = {
  takes: AGO.takes,
  parse: (text) => /^\d{4}-/.test(text) ? { since: text } : AGO.parse(text),
};

const OPTIONS = [
  {
    flags: "-p, --project <name>",
    help: 'only this project (default: $SVC_PROJECT, else all; with a name, "default")',
    complete: "project",
  },
  { flags: "-l, --selector <labels>", help: "only resources with these labels: k=v,k2=v2" },
  { flags: "--trigger <name>", help: "only records of this trigger", complete: "trigger" },
  {
    flags: "--state <state>",
    help: "only tasks in this state: pending, running, waiting, succeeded, failed, cancelled; or " +
      "source-events: received, routed, ignored, needs_attention, failed …; or outbox: held, " +
      "pending, sent, failed, dropped",
    complete: [...new Set([...TASK_STATES, ...SOURCE_EVENT_STATES, ...MESSAGE_STATES])],
  },
  { flags: "--workflow <name>", help: "only tasks of this workflow", complete: "workflow" },
  {
    flags: "--outcome <outcome>",
    help:
      "only deliveries with this outcome: accepted, filtered, duplicate, skipped, rejected, failed …",
    complete: [...DELIVERY_OUTCOMES, "failed"],
  },
  {
    flags: "--unknown",
    help: "with deliveries: requests to paths without a trigger, since the daemon started",
  },
  {
    flags: "--since <time>",
    value: SINCE,
    help: "only records of the last 1h, 7d, …, or from a time on: 2026-01-31T08:00:00Z",
  },
  { flags: "--until <time>", help: "only records up to this time: 2026-01-31T08:00:00Z" },
  { flags: "--limit <n>", value: count(1), help: "at most this many (records: 50 unless given)" },
  { flags: "--before <id>", help: "only records older than this id: the next page" },
  { flags: "--after <id>", help: "only records newer than this id: the page before" },
  ...DELIVERY_FILTERS,
  {
    flags: "--delivery <delivery>",
    help: "only tasks of this delivery, retries included",
    complete: "delivery",
  },
  {
    flags: "--parent <task>",
    help: "only tasks that this task started, retries included",
    complete: "task",
  },
  { flags: "--retry-of <task>", help: "only tasks that retry this task", complete: "task" },
  { flags: "--session <id>", help: "only tasks with a step in this session of an agent" },
  {
    flags: "--task <task>",
    help: "only messages of the outbox about this task",
    complete: "task",
  },
  {
    flags: "--caller <name>",
    help: "only rows of the control-audit of this person, or of another caller: socket, 'token ci'",
  },
  { flags: "--thread <id>", help: "only source-events of this thread, by the platform's id" },
  {
    flags: "-w, --watch",
    help: "keep printing what is added or changed; json is one object per line",
  },
  OUTPUT,
  ...CONNECTION,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Lists resources or records, records newest first.\n\n" +
    `Resources:  ${namesOf(KIND_NAMES)}, and the kinds of your CustomResourceDefinitions; ` +
    '"all" means all of these.\n\n' +
    `Records:  ${namesOf(RECORD_TYPE_NAMES)}.\n\n` +
    "On a terminal, svc fits the table to its width: it leaves out the least important columns " +
    "and shortens ids to their end, which works as an id too. Elsewhere, and with -o wide, " +
    "nothing is shortened. --watch prints records oldest first, then what is added or changed, " +
    "until Ctrl-C.",
  arguments: [
    {
      name: "[kind]",
      help: "what to list, or several: triggers,workflows; or KIND/NAME",
      complete: PLURALS,
    },
    {
      name: "[name...]",
      help: "only these: names, or for records ids, parts of ids, or latest",
      complete: "name",
    },
  ],
  options: OPTIONS,
  examples: [
    "svc get task",
    "svc get task latest -o json",
    "svc get task -w --trigger github-push",
    "svc get tasks --state failed --since 1d",
    "svc get triggers,workflows -o wide",
    "svc get trigger github-push github-release",
    "svc get deliveries --trigger github-push --outcome rejected --since 1d",
    "svc get deliveries --reason signature --status 401 --since 7d",
    "svc get deliveries --unknown",
    "svc get control-audit --caller ada --since 7d",
    "svc get budgets",
  ],
  async run(context) {
    const { io } = context;
    const first = context.argument(0);
    if (first === "") {
      io.err(whatThereIs());
      return new AppError("usage", "").exitCode;
    }
    const selected = toSelection(first, context.arguments(1));
    const format = context.options.output;
    if (context.options.watch) {
      if (selected.some(({ what }) => isBudgets(what))) {
        throw new AppError("usage", "Budgets cannot be watched: leave out --watch");
      }
      if (context.options.unknown) {
        throw new AppError("usage", "--unknown cannot be watched: leave out --watch");
      }
      return await watch(toInput(onlyOne(selected), context), format, context);
    }
    using client = context.client();
    const inputs = (await withoutAll(selected, client)).map((one) => toInput(one, context));
    const listings: Listing[] = [];
    for (const input of inputs) listings.push(await listAll(input, client));
    await print({ inputs, listings }, format, io);
    return 0;
  },
});

function namesOf(listed: readonly ListedName[]): string {
  return listed.map(({ plural, names: [, , ...short] }) =>
    short.length === 0 ? plural : `${plural} (${short.join(", ")})`
  ).join(", ");
}

/** The answer to `svc get` without arguments. */
function whatThereIs(): string {
  const lines = (listed: readonly ListedName[]) =>
    listed.map(({ plural, names: [, , ...short] }) =>
      `  ${`${plural.padEnd(28)}${short.join(", ")}`.trimEnd()}\n`
    ).join("");
  return `Usage: svc get KIND [NAME...]\n\nResources:\n${lines(KIND_NAMES)}\n` +
    `Records:\n${lines(RECORD_TYPE_NAMES)}\nMore: svc help get\n`;
}

function onlyOne(selected: readonly Selection[]): Selection {
  const [first, second] = selected;
  if (first !== undefined && second === undefined && first.what !== "all") return first;
  throw new AppError("usage", "--watch watches one kind or one name: start it once for each");
}

/** Replaces "all" by the kinds of resources for which it stands. */
async function withoutAll(
  selected: readonly Selection[],
  client: Client,
): Promise<readonly Selection[]> {
  const all = selected.find(({ what }) => what.toLowerCase() === "all");
  if (all === undefined) return selected;
  if (all.name !== "") throw new AppError("usage", '"all" takes no name: name the kind');
  const { items } = await client.call("get", { what: "customresourcedefinitions" });
  const defined = items.map(({ spec }) => (spec as { plural: string }).plural);
  return [...KIND_NAMES.map(({ plural }) => plural), ...defined]
    .map((what) => ({ what, name: "" }));
}

async function print(
  { inputs, listings }: { inputs: readonly GetInput[]; listings: readonly Listing[] },
  format: Format,
  io: Io,
): Promise<void> {
  const [input] = inputs;
  const joined = joinListings(listings);
  if (format === "json" || format === "yaml") {
    const one = inputs.length === 1 && input?.name !== undefined;
    return await printValue(one ? joined.items[0] : joined.items, format, io);
  }
  if (format === "name") return await printListing(joined, format, io);
  if (joined.rows.length === 0) {
    return io.err(inputs.map((each) => `${nothingFound(each)}\n`).join(""));
  }
  const kinds = [...new Set(inputs.map(({ what }) => what))];
  const tables = kinds.map((kind) =>
    joinListings(listings.filter((_, at) => inputs[at]?.what === kind))
  ).filter(({ rows }) => rows.length > 0);
  for (const [at, table] of tables.entries()) {
    if (at > 0) io.out("\n");
    await printListing(kinds.length > 1 ? withKinds(table) : table, format, io);
  }
  if (listings.length === 1) hintAtMore(listings[0], io);
}

/** Records of a list where no limit is given. */
const DEFAULT_LIMIT = 50;

/** Reads a whole list. A search that ended before it had found enough continues where it ended. */
async function listAll(input: GetInput, client: Client): Promise<Listing> {
  const { limit = DEFAULT_LIMIT } = input;
  let listing = await client.call("get", input);
  for (;;) {
    const { more_before: before, more_after: after, rows } = listing;
    if ((before ?? after) === undefined || rows.length >= limit) return listing;
    const on = before === undefined ? defined({ after }) : { before };
    const more = await client.call("get", { ...input, ...on, limit: limit - rows.length });
    const joined = joinListings(before === undefined ? [more, listing] : [listing, more]);
    listing = {
      ...joined,
      ...defined({ more_before: more.more_before, more_after: more.more_after }),
    };
  }
}

const TEXTS = [
  "trigger",
  "state",
  "workflow",
  "outcome",
  "before",
  "after",
  "until",
  "selector",
  "delivery",
  "parent",
  "session",
  "thread",
  "task",
  "caller",
] as const;

function toInput({ what, name }: Selection, context: Context<typeof OPTIONS>): GetInput {
  const texts = TEXTS.map((option) => [option, context.options[option]] as const);
  const others = {
    ...context.options.since,
    limit: context.options.limit,
    ...deliveryFilters(context),
    retry_of: context.options.retryOf,
  };
  const given = [...texts, ...Object.entries(others)].filter(([, value]) => value !== undefined);
  return {
    what,
    ...(name === "" ? {} : { name }),
    ...context.project(),
    ...(context.options.unknown ? { unknown: true } : {}),
    ...Object.fromEntries(given),
  };
}

function watch(input: GetInput, format: Format, context: Context<typeof OPTIONS>): Promise<number> {
  const printer = new WatchPrinter(context.io, format);
  return interruptible(context.io, async (signal) => {
    using client = context.client();
    const lines = client.stream("get.watch", input, signal);
    for await (const line of lines) await printer.print(line);
    throw new AppError("unreachable", "The daemon is stopping: watch again when it runs");
  });
}

/** Prints on a terminal how to see more of the list. */
function hintAtMore(listing: Listing | undefined, io: Io): void {
  if (!io.outIsTerminal) return;
  const { more_before: last, more_after: first } = listing ?? {};
  if (listing?.is_cut === true) io.err("There are more: add a higher --limit\n");
  if (last !== undefined) io.err(`There may be more: add --before ${last}\n`);
  if (first !== undefined) io.err(`There may be newer ones: add --after ${first}\n`);
}

/**
 * `KIND/NAME` or `KIND NAME`.
 *
 * @throws {AppError} `usage` when a name is given twice.
 */
export function splitKindAndName(first: string, second: string): { what: string; name: string } {
  const at = first.indexOf("/");
  if (at === -1) return { what: first, name: second };
  if (second !== "") throw new AppError("usage", `Give the name only once: ${first} or KIND NAME`);
  return { what: first.slice(0, at), name: first.slice(at + 1) };
}
