/**
 * `svc stats`.
 *
 * @module
 */

import type { MinuteValues, Stats } from "../../api/status_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { shortDuration } from "../../base/duration.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, PROJECT } from "../command.ts";
import { count } from "../option.ts";
import { jsonText } from "../json_text.ts";
import { formatTable } from "../table.ts";

/** Number of minutes if the command line gives none. */
const DEFAULT_MINUTES = 60;

export const command: Command = defineCommand({
  help: "Shows what happened minute by minute (UTC) in the last hour, at most in the last day. " +
    "Minutes in which nothing happened are left out; the last one is not over yet. Of the time " +
    "before the daemon started, it counts the deliveries and tasks that are stored.\n\n" +
    "ACCEPTED, FILTERED, …: deliveries by outcome. P50, P95, P99: 50, 95 and 99 of 100 " +
    "deliveries were answered within this time. START95: 95 of 100 tasks started within this " +
    "time after their delivery arrived. ENDED: tasks that ended. RUNNING, PENDING: the most " +
    "tasks that ran, and that waited, at once.",
  options: [
    {
      flags: "--minutes <n>",
      value: count(1, 1440),
      help: `how many, up to 1440 (default: ${DEFAULT_MINUTES})`,
    },
    { flags: "--trigger <name>", help: "only this trigger", complete: "trigger" },
    PROJECT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc stats",
    "svc stats --trigger github-push --minutes 1440 -o json",
  ],
  async run(context) {
    const { io } = context;
    const trigger = context.options.trigger;
    using client = context.client();
    const stats = await client.call("stats", {
      minutes: context.options.minutes ?? DEFAULT_MINUTES,
      ...context.project(),
      ...defined({ trigger }),
    });
    if (context.options.output === "json") return io.out(jsonText(stats));
    io.out(await table(stats, io.columns));
    if (stats.counted_since === null) {
      io.err("Too many triggers: this one is counted only with all others, in svc stats\n");
    } else io.err(`counted since ${stats.counted_since}\n`);
  },
});

/** One column of numbers, and how its minutes are shown. */
interface Column {
  readonly header: string;
  readonly values: MinuteValues;
  readonly show?: (value: number) => string;
}

/** Columns that are left out first on a narrow terminal. */
const SECONDARY = new Set(["P50", "P99", "RUNNING"]);

/** A duration such as `19ms`, `1.4s` or `3m12s`. */
function span(ms: number): string {
  return ms < 1000 || ms >= 60_000 ? shortDuration(ms) : `${(ms / 1000).toFixed(1)}s`;
}

async function table(stats: Stats, room: number | undefined): Promise<string> {
  const { deliveries, answer_ms: answer, start_ms: start, tasks, queue } = stats;
  const columns: Column[] = [
    ...Object.entries(deliveries).filter(([, values]) => values.some((n) => n > 0))
      .map(([outcome, values]) => ({ header: outcome.toUpperCase(), values })),
    ...[["P50", answer.p50], ["P95", answer.p95], ["P99", answer.p99], ["START95", start.p95]]
      .map(([header, values]) => ({ header, values, show: span }) as Column),
    ...(tasks === undefined ? [] : [{ header: "ENDED", values: sums(Object.values(tasks)) }]),
    ...(queue === undefined ? [] : [
      { header: "RUNNING", values: queue.running },
      { header: "PENDING", values: queue.pending },
    ]),
  ];
  const count = answer.p50.length;
  const rows = Array.from({ length: count }, (_, at) => at)
    .filter((at) => columns.some(({ values }) => (values[at] ?? 0) > 0))
    .map((at) => [
      timeOf(stats, at),
      ...columns.map(({ values, show = String }) => {
        const value = values[at] ?? null;
        return value === null ? "-" : show(value);
      }),
    ]);
  if (rows.length === 0) return `Nothing happened in the last ${count} minutes\n`;
  const headers = ["MINUTE", ...columns.map(({ header }) => header)];
  return await formatTable(
    headers.map((header) => ({ header, wide: false, secondary: SECONDARY.has(header) })),
    rows,
    room,
  );
}

/** Sums of several columns, minute by minute. */
function sums(columns: readonly (readonly number[])[]): number[] {
  return (columns[0] ?? []).map((_, at) => columns.reduce((sum, one) => sum + (one[at] ?? 0), 0));
}

/** The hour and minute of a value, UTC. */
function timeOf({ from, step_secs }: Stats, at: number): string {
  return `${rfc3339(Date.parse(from) + at * step_secs * 1000).slice(11, 16)}Z`;
}
