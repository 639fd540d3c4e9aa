/**
 * `svc db usage`.
 *
 * @module
 */

import type { Usage } from "../../api/upkeep_operations.ts";
import { sizeText } from "../../base/size.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { doDatabaseWork } from "../database_work.ts";
import { interruptible } from "../interrupt.ts";
import { jsonText } from "../json_text.ts";
import { formatTable } from "../table.ts";

export const command: Command = defineCommand({
  help: "Shows what uses the disk: the database with its log, the directories of the data " +
    "directory, old databases and backups in it, and how much of the database each trigger " +
    "uses: bodies of deliveries, tasks, logs. Works without a daemon, and while one runs (role " +
    "operator), which keeps serving. With a shared PostgreSQL, the directories are those of " +
    "this machine.",
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc db usage", "svc db usage -o json"],
  run(context) {
    return interruptible(context.io, async (signal) => {
      const usage = await doDatabaseWork(
        {
          operation: "db.usage",
          input: {},
          async *onFiles(dirs) {
            const { usageLines } = await import("../../upkeep/lines.ts");
            yield* usageLines({ env: context.io.env, alone: true }, dirs, signal);
          },
        },
        context,
        signal,
      );
      if (context.options.output === "json") return context.io.out(jsonText(usage));
      context.io.out(await usageText(usage, context.io.columns));
    });
  },
});

/** Most triggers that are shown; `-o json` has all. */
const MAX_TRIGGERS = 20;

const column = (header: string) => ({ header, wide: false });
const PLACES = [{ ...column("WHAT"), fit: "name" as const }, column("SIZE"), {
  ...column("NOTE"),
  fit: "text" as const,
}];
const TRIGGERS = [
  { ...column("PROJECT"), fit: "name" as const },
  { ...column("TRIGGER"), fit: "name" as const },
  ...["TOTAL", "DELIVERIES", "BODIES", "TASKS", "DATA", "LOGS"].map(column),
];

async function usageText(usage: Usage, room: number | undefined): Promise<string> {
  const { database, total_bytes, disk_free_bytes, kept_commits, triggers } = usage;
  const places = [
    ...placesOf(usage),
    ["total", sizeText(total_bytes), usage.data_dir],
    ...(disk_free_bytes === null ? [] : [["left", sizeText(disk_free_bytes), "on its disk"]]),
  ];
  const kept = kept_commits.map(({ repository, refs }) =>
    `Commits of tasks are kept in ${repository}, under ${refs} ${refs === 1 ? "ref" : "refs"}\n`
  );
  const shown = triggers.slice(0, MAX_TRIGGERS);
  const oneProject = new Set(triggers.map(({ project }) => project)).size <= 1;
  const rows = shown.map((one) => [
    ...(oneProject ? [] : [one.project]),
    one.trigger || "(none)",
    sizeText(one.bytes),
    String(one.deliveries),
    sizeText(one.body_bytes),
    String(one.tasks),
    sizeText(one.delivery_bytes + one.task_bytes + one.event_bytes),
    sizeText(one.log_bytes),
  ]);
  const columns = oneProject ? TRIGGERS.slice(1) : TRIGGERS;
  const more = triggers.length - shown.length;
  return [
    await formatTable(PLACES, places, room),
    ...(database.unused_bytes === 0 ? [] : [
      `${sizeText(database.unused_bytes)} of the database are unused: svc db vacuum returns them\n`,
    ]),
    ...kept,
    ...(rows.length === 0 ? [] : ["\n", await formatTable(columns, rows, room)]),
    ...(more > 0 ? [`and ${more} more: see -o json\n`] : []),
  ].join("");
}

/** Explains the parts of the data directory whose names do not explain themselves. */
const NOTES: { readonly [Kind in Usage["entries"][number]["kind"]]?: string } = {
  logs: "output of steps",
  worktrees: "directories of tasks",
  copies: "directories of tasks",
  sessions: "home directories of agents",
  old_database: "kept by a restore, a migration or a move",
  backup: "a backup",
};

function placesOf({ database, entries }: Usage): string[][] {
  const { file, shared, bytes, wal_bytes } = database;
  const log = wal_bytes > 0 ? `its log ${sizeText(wal_bytes)}` : "";
  return [
    ["database", sizeText(bytes + wal_bytes), shared ? file : log],
    ...entries.filter((one) => one.files > 0).map((one) => [
      one.name,
      sizeText(one.bytes),
      NOTES[one.kind] ?? "",
    ]),
  ];
}
