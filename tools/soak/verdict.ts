/**
 * The invariants of a soak, checked on records, ledgers and the machine once the daemon is idle.
 *
 * @module
 */

import { decodeTime } from "ulid";
import { KEPT_SUFFIX } from "../../src/tasks/workspace/kept_commits.ts";
import type { Journal } from "./journal.ts";
import {
  countStarts,
  findEnds,
  findInterleaved,
  findMeetings,
  type LedgerLine,
  tryName,
} from "./ledger.ts";
import { findMarkedProcesses, namesIn } from "../../tests/helpers/leftovers.ts";
import { REFUSED } from "./operators.ts";
import type { Records, TaskRow } from "./records.ts";
import { ALONE_TRIGGERS, REPOSITORY, type Site } from "./site.ts";

/** States in which a task may be at the end. */
const TERMINAL = ["succeeded", "failed", "cancelled"];
/** How often a task may be interrupted by crashes. */
const MOST_RESTARTS = 3;

/** Reasons of tasks that did not get a directory of their own, or did not get rid of it. */
const NO_DIRECTORY = /^Workspace .* cannot be used|^The directory .* is gone|removed/;

/** The ends of the daemons, `at` in milliseconds since the epoch. */
export type Deaths = readonly { readonly at: number }[];

/** Every accepted request has its task, and no other request has one (D1, D4). */
export function judgePromises({ tasks, deliveries }: Records, journal: Journal): void {
  journal.none(
    "answered as accepted, and its delivery or task is not there",
    journal.promised.filter(({ delivery, tasks: promised }) =>
      deliveries.get(delivery)?.outcome !== "accepted" || promised.some((id) => !tasks.has(id))
    ),
  );
  journal.none(
    "retried, and the task is not there",
    journal.retries.filter((id) => !tasks.has(id)),
  );
  const started = [...tasks.values()].map(({ delivery_id }) => deliveries.get(delivery_id))
    .filter((delivery) => delivery !== undefined);
  journal.none(
    "answered otherwise than accepted, and there is a task",
    started.filter(({ mark, again }) => again === "" && journal.withoutTask.has(mark)),
  );
  journal.none(
    "not accepted, and there is a task",
    started.filter(({ outcome }) => outcome !== "accepted"),
  );
  journal.none("events that were run twice", findRunTwice({ tasks, deliveries }));
}

/**
 * The events that were accepted again although the earlier task had not failed. The earlier one is that
 * whose task was made first: a delivery that had to wait for its node is decided after one that came
 * later to another node.
 */
function findRunTwice({ tasks, deliveries }: Pick<Records, "tasks" | "deliveries">): unknown[] {
  const events = Map.groupBy(
    [...deliveries.values()].filter(({ outcome, again, sent_as: id }) =>
      outcome === "accepted" && again === "" && id !== ""
    ),
    ({ trigger, sent_as: id }) => `${trigger} ${id}`,
  );
  return [...events.values()].flatMap((unordered) => {
    const several = unordered.toSorted((a, b) => a.task_id < b.task_id ? -1 : 1);
    return several.slice(0, -1).flatMap((delivery, index) => {
      const task = tasks.get(delivery.task_id);
      const next = several[index + 1];
      const isTwice = task === undefined || task.state === "succeeded" ||
        task.finished_at === null || next === undefined ||
        task.finished_at > decodeTime(next.task_id) + CLOCK_MS;
      return isTwice ? [{ delivery, task, next }] : [];
    });
  });
}

/** Tolerance for the order of the end of a task and the making of the next one. */
const CLOCK_MS = 2000;

/** Every task has ended, after no more interruptions than are allowed (D2). */
export function judgeTasks({ tasks }: Records, journal: Journal): void {
  const all = [...tasks.values()];
  journal.none(
    "tasks that have not ended",
    all.filter(({ state, finished_at: at }) => !TERMINAL.includes(state) || at === null),
  );
  journal.none(
    "tasks interrupted too often",
    all.filter(({ restarts }) => restarts > MOST_RESTARTS + 1),
  );
  journal.none(
    "given up too early",
    all.filter(({ reason, restarts }) => reason === "interrupted" && restarts < MOST_RESTARTS),
  );
  journal.none(
    "directories that could not be made or removed",
    all.filter(({ reason }) => NO_DIRECTORY.test(reason)),
  );
  journal.none(
    "failed inside",
    all.filter(({ reason }) => reason.startsWith("internal error")),
  );
}

/**
 * The ledger of steps matches the records: each step ran alone, and again only after an
 * interruption.
 */
export function judgeSteps(
  { tasks, steps }: Pick<Records, "tasks" | "steps">,
  lines: readonly LedgerLine[],
  { deaths, journal }: { deaths: Deaths; journal: Journal },
): void {
  journal.none("steps that met their twin, or their group", findMeetings(lines));
  journal.none("groups whose tasks overlap", findInterleaved(lines, ALONE_TRIGGERS));
  journal.none("lines of tasks that nobody knows", lines.filter(({ task }) => !tasks.has(task)));
  const tooOften = [...countStarts(lines)].filter(([name, starts]) => {
    const task = tasks.get(name.split(" ")[0] ?? "");
    if (task === undefined) return starts > 1;
    // Another daemon may start the step long after the death of the daemon that ran it.
    return starts > 1 + Math.max(task.restarts, interruptionsOf(task, deaths));
  });
  journal.none("steps that ran again though nothing interrupted them", tooOften);
  const ends = findEnds(lines);
  const known = steps.filter(({ task_id: id, state }) =>
    state === "succeeded" && tasks.get(id)?.retry_of === null
  );
  journal.none(
    "steps that succeeded without having run to their end",
    known.filter(({ task_id: task, id, attempt }) =>
      !ends.has(tryName(task, id, attempt)) && id !== "agent"
    ),
  );
}

/** How often the daemon ended while a task was under way. */
function interruptionsOf({ started_at: from, finished_at: to }: TaskRow, deaths: Deaths): number {
  return deaths.filter(({ at }) => at >= (from ?? Infinity) - 1000 && at <= (to ?? Infinity))
    .length;
}

/** Every run of a plugin has one row, and every row is finished (D3). */
export function judgeAudit({ audit }: Records, runs: readonly string[], journal: Journal): void {
  const rows = new Map(audit.map((row) => [row.id, row]));
  journal.none("plugins that ran without a row", runs.filter((id) => !rows.has(id)));
  journal.none(
    "plugins that ran twice on one row",
    [...Map.groupBy(runs, (id) => id)].filter(([, times]) => times.length > 1),
  );
  journal.none(
    "rows of plugins that were never finished",
    audit.filter(({ result, finished_at: at, action }) =>
      result === "running" || (action === "execute" && at === null)
    ),
  );
  const ran = new Set(runs);
  journal.none(
    "rows that say ok, of plugins that never ran",
    audit.filter(({ id, result, action }) =>
      action === "execute" && result === "ok" && !ran.has(id)
    ),
  );
}

/** An apply is stored as a whole or not (D5). */
export function judgeApplies({ resources }: Records, journal: Journal): void {
  journal.none(
    "resources of an apply that was refused",
    resources.filter(({ name }) => name.startsWith(REFUSED)),
  );
  const pair = resources.filter(({ name }) => name === "pair-a" || name === "pair-b");
  const revisions = new Set(pair.map(({ spec }) => JSON.parse(spec)["env"]["REV"]));
  if (revisions.size > 1 || pair.length === 1) journal.none("halves of an apply", pair);
}

/** Events of other sources than webhooks: each started a task once, and none is lost. */
export function judgeSources(records: Records, journal: Journal): void {
  const { tasks, sourceEvents, minutes } = records;
  const events = new Map(sourceEvents.map((event) => [event.external_event_id, event]));
  journal.none(
    "events that were promised to Slack, and are not there",
    [...journal.chat].filter(([external, id]) => events.get(external)?.id !== id),
  );
  journal.none(
    "events of Slack that were not routed",
    sourceEvents.filter(({ state, task_id: task }) =>
      state !== "ignored" && (state !== "routed" || !tasks.has(task))
    ),
  );
  const roots = sourceEvents.filter((event) => event.top_level === 1 && event.state === "routed");
  journal.none(
    "threads that share a task",
    [...Map.groupBy(roots, ({ task_id: id }) => id)].filter(([, several]) => several.length > 1),
  );
  journal.none(
    "minutes for which the cron trigger fired twice",
    [...Map.groupBy(minutes, (at) => at)].filter(([, several]) => several.length > 1),
  );
  const times = minutes.map((at) => Date.parse(at)).toSorted((a, b) => a - b);
  journal.none(
    "minutes that the cron trigger missed",
    times.filter((at, index) => index > 0 && at - (times[index - 1] ?? 0) > 60_000),
  );
  const followers = Map.groupBy(
    [...tasks.values()].filter(({ trigger, retry_of: of }) => trigger === "after" && of === null),
    ({ parent_id: id }) => id ?? "",
  );
  journal.none(
    "tasks that were not followed by exactly one",
    [...tasks.values()].filter(({ workflow, state, id }) =>
      workflow === "wide" && state !== "cancelled" && followers.get(id)?.length !== 1
    ),
  );
}

/** No unneeded file is left; the daemon still runs, and is idle. */
export async function judgeFiles(
  records: Records,
  { site, journal }: { site: Site; journal: Journal },
): Promise<void> {
  const { base, directories } = site;
  for (const { path } of directories) await judgeWorktrees(path, records, journal);
  const namesOf = async (name: string) => {
    const of = await Promise.all(directories.map(({ path }) => namesIn(path, name)));
    return of.flat();
  };
  journal.none("left in run/", await namesOf("run"));
  const found = [...await namesOf("scripts"), ...await namesIn(base, "floor")];
  journal.none("made by text from outside", found.filter((name) => name.startsWith("PWN")));
}

/**
 * Every worktree in a data directory is the recorded directory of a task, and has a note beside it. No
 * task makes a commit, so no note outlives its worktree. There may be what
 * a later round or start removes: what a task left that another node has taken over, or one that was
 * given up.
 */
export async function judgeWorktrees(
  dataDir: string,
  { tasks, filesToRemove }: Pick<Records, "tasks" | "filesToRemove">,
  journal: Journal,
): Promise<void> {
  const isToStay = (name: string) => {
    const id = name.replace(KEPT_SUFFIX, "");
    return !filesToRemove.has(id) && tasks.get(id)?.reason !== "interrupted";
  };
  const files = (await namesIn(dataDir, "worktrees")).filter(isToStay);
  const trees = files.filter((name) => !name.endsWith(KEPT_SUFFIX));
  const noted = files.filter((name) => name.endsWith(KEPT_SUFFIX))
    .map((name) => name.slice(0, -KEPT_SUFFIX.length));
  const none = (what: string, ids: readonly string[]) =>
    journal.none(`${what} in ${dataDir}`, ids.map((id) => tasks.get(id) ?? id));
  const recorded = [...tasks.values()].map(({ directory }) => `${directory ?? ""}/`);
  none(
    "worktrees that no task records",
    trees.filter((id) => !recorded.some((one) => one.startsWith(`${dataDir}/worktrees/${id}/`))),
  );
  none(
    "worktrees of tasks that succeeded",
    trees.filter((id) => tasks.get(id)?.state === "succeeded"),
  );
  none("notes without a worktree", noted.filter((id) => !trees.includes(id)));
  none("worktrees without a note", trees.filter((id) => !noted.includes(id)));
  const known = (await namesIn(dataDir, REPOSITORY, ".git/worktrees")).filter(isToStay);
  none("worktrees that only git knows", known.filter((id) => !trees.includes(id)));
}

/** No process of a task or plugin is left; no task is pending or running. */
export async function judgeProcesses({ directories }: Site, journal: Journal): Promise<void> {
  for (const { path } of directories) {
    journal.none("processes that are left", await findMarkedProcesses(path));
  }
}
