/**
 * The first screen: the problems that need a person, then figures and charts of the load, and what waits.
 *
 * @module
 */

import { nodesText } from "../../../src/api/node_states.ts";
import type { Stats, Status } from "../../../src/api/status_operations.ts";
import { shortDuration } from "../../../src/base/duration.ts";
import { sizeText } from "../../../src/base/size.ts";
import { Charts, useFigures } from "../charts/charts.tsx";
import { Sparkline } from "../charts/sparkline.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Tiles } from "../parts/tiles.tsx";
import { status } from "../data/status.ts";
import { Budgets } from "./now/budgets.tsx";
import { Needs } from "./now/needs.tsx";
import { Waiting } from "./now/waiting.tsx";

/** The screen of problems, figures and charts. */
export function NowPage() {
  const state = status.value;
  const figures = useFigures();
  return (
    <>
      <div class="title">
        <h1>Now</h1>
        {state !== undefined && <Health state={state} />}
      </div>
      {state === undefined && <p class="empty">Asking the daemon …</p>}
      {state?.counts["triggers"] === 0 && <FirstSteps />}
      <Needs paths={state?.unknown_paths ?? []} />
      {state !== undefined && <Figures state={state} stats={figures.shown?.stats} />}
      <Waiting />
      <Budgets />
      <Charts figures={figures} />
      {state !== undefined && <Nodes state={state} />}
      <Command line="svc status" />
    </>
  );
}

function Figures({ state: { rates, queue, outbox, settings }, stats }: {
  readonly state: Status;
  /** Absent until the first answer. */
  readonly stats: Stats | undefined;
}) {
  const trend = (values: readonly (number | null)[] | undefined, sums = false) =>
    values === undefined ? {} : { trend: <Sparkline values={values} sums={sums} /> };
  const of = (kind: "deliveries" | "tasks", word: string) =>
    rates[kind][word] ?? { last_minute: 0, last_five_minutes: 0 };
  const accepted = of("deliveries", "accepted");
  const rejected = of("deliveries", "rejected");
  const failed = of("tasks", "failed");
  const ended = Object.values(rates.tasks).reduce((sum, one) => sum + one.last_five_minutes, 0);
  const workers = settings["workers"]?.value;
  const oldest = queue.oldest_ready_secs;
  const pending = [
    ...(queue.queued > 0 ? [`${queue.queued} queued`] : []),
    ...(queue.delayed > 0 ? [`${queue.delayed} delayed`] : []),
    ...(queue.waiting > 0 ? [`${queue.waiting} waiting`] : []),
    ...(oldest === null ? [] : [`oldest ${shortDuration(oldest * 1000)}`]),
  ];
  return (
    <Tiles
      tiles={[
        {
          label: "Accepted",
          value: accepted.last_five_minutes,
          note: `in 5 min · last minute ${accepted.last_minute}`,
          ...trend(stats?.deliveries["accepted"], true),
        },
        {
          label: "Rejected",
          value: rejected.last_five_minutes,
          note: `in 5 min · last minute ${rejected.last_minute}`,
          ...trend(stats?.deliveries["rejected"], true),
          ...(rejected.last_five_minutes > 0 ? { tone: "bad" } : {}),
        },
        {
          label: "Running",
          value: queue.running,
          note: typeof workers === "number" ? `of ${workers} at once` : "",
          ...trend(stats?.queue?.running),
          ...(queue.running > 0 ? { tone: "busy" } : {}),
        },
        {
          label: "Pending",
          value: queue.pending,
          note: pending.join(", ") || "no task is pending",
          ...trend(stats?.queue?.pending),
          ...(queue.pending > 0 ? { tone: "pending" } : {}),
        },
        {
          label: "Tasks that failed",
          value: failed.last_five_minutes,
          note: `in 5 min · of ${ended} that ended`,
          ...trend(stats?.tasks?.["failed"], true),
          ...(failed.last_five_minutes > 0 ? { tone: "bad" } : {}),
        },
        ...(outbox.pending + outbox.failed === 0 ? [] : [{
          label: outbox.failed > 0 ? "Answers not sent" : "Answers on their way",
          value: outbox.failed > 0 ? outbox.failed : outbox.pending,
          note: outbox.failed > 0 ? `given up · ${outbox.pending} wait` : "wait to be sent",
          ...(outbox.failed > 0 ? { tone: "bad" as const } : {}),
        }]),
      ]}
    />
  );
}

function Health(
  { state: { degraded, version, uptime_secs, database } }: { readonly state: Status },
) {
  return (
    <p class="health">
      {degraded.length === 0
        ? <Chip word="ok">nothing is degraded</Chip>
        : <Chip word="failed">degraded: see above</Chip>}
      <span class="faint">
        svc {version}, up {shortDuration(uptime_secs * 1000)}, database{" "}
        {sizeText(database.bytes + database.wal_bytes)}
      </span>
    </p>
  );
}

/** The daemons that share the database; shown if there are several. */
function Nodes({ state: { nodes, settings } }: { readonly state: Status }) {
  if (nodes === null) return null;
  return (
    <p class={nodes.gone.length === 0 ? "fine" : undefined}>
      Nodes: {nodesText(nodes)}; this is {nodes.name}. Each holds its tasks by a lease of{" "}
      {String(settings["lease"]?.value)}.
    </p>
  );
}

function FirstSteps() {
  return (
    <section class="panel" aria-label="First steps">
      <h2>No triggers yet</h2>
      <p>Connect a repository, or list the packages you can install:</p>
      <Command line="svc connect github --help" />
      <Command line="svc integration list" />
    </section>
  );
}
