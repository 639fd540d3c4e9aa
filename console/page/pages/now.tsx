/**
 * The first screen: how it goes now, and what went wrong since yesterday.
 *
 * @module
 */

import type { DeliveryRecord, TaskRecord } from "../../../src/api/records.ts";
import type { Status } from "../../../src/api/status_operations.ts";
import { shortDuration } from "../../../src/base/duration.ts";
import { sizeText } from "../../../src/base/size.ts";
import { Charts } from "../charts/charts.tsx";
import { Command } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { Tiles } from "../parts/tiles.tsx";
import { type Records, useRecords } from "../data/records.ts";
import { status } from "../data/status.ts";
import { type Trouble, Troubles, troublesOf } from "./now/troubles.tsx";
import { UnknownPaths } from "./now/unknown_paths.tsx";

/** How far back what went wrong is listed. */
const SINCE_SECS = 86_400;

/** The screen. */
export function NowPage() {
  const tasks = useRecords<TaskRecord>({ what: "tasks", state: "failed", since_secs: SINCE_SECS });
  const refused = useRecords<DeliveryRecord>({
    what: "deliveries",
    outcome: "rejected",
    since_secs: SINCE_SECS,
  });
  const state = status.value;
  return (
    <>
      <h1>Now</h1>
      {state === undefined ? <p class="empty">Asking the daemon …</p> : <Health state={state} />}
      {state !== undefined && <Nodes state={state} />}
      {state?.counts["triggers"] === 0 && <FirstSteps />}
      {state !== undefined && <Figures state={state} />}
      <div class="columns">
        <Section
          title="Failed tasks since yesterday"
          none="No task has failed."
          records={tasks}
          troubles={troublesOf(tasks.items, taskTrouble)}
          all={{ to: ["tasks"], filters: { state: "failed", since_secs: String(SINCE_SECS) } }}
        />
        <Section
          title="Refused deliveries since yesterday"
          none="No delivery was refused."
          records={refused}
          troubles={troublesOf(refused.items, deliveryTrouble)}
          all={{
            to: ["deliveries"],
            filters: { outcome: "rejected", since_secs: String(SINCE_SECS) },
          }}
        />
      </div>
      <Charts />
      {state !== undefined && <UnknownPaths paths={state.unknown_paths} />}
      <Command line="svc status" />
    </>
  );
}

function Section({ title, none, records, troubles, all }: {
  readonly title: string;
  readonly none: string;
  readonly records: Records<{ readonly id: string }>;
  readonly troubles: readonly Trouble[];
  readonly all: {
    readonly to: readonly string[];
    readonly filters: Readonly<Record<string, string>>;
  };
}) {
  const { items, loading, error, more } = records;
  const count = `${items.length}${more === undefined ? "" : "+"}`;
  return (
    <section class="panel" aria-label={title}>
      <h2>
        {title}
        {items.length > 0 && <span class="count">{count}</span>}
      </h2>
      {error !== undefined && <Problem error={error} />}
      {!loading && error === undefined && items.length === 0 && (
        <p class="fine">
          <span aria-hidden="true">✓</span> {none}
        </p>
      )}
      <Troubles troubles={troubles} />
      {items.length > 0 && <Link to={all.to} filters={all.filters}>All of them</Link>}
    </section>
  );
}

function taskTrouble(
  { id, project, trigger, workflow, reason, created_at, finished_at }: TaskRecord,
) {
  return {
    what: workflow,
    of: trigger === workflow ? "" : `from ${trigger}`,
    why: reason,
    to: ["task", id],
    at: finished_at ?? created_at,
    key: [project, workflow, trigger, reason].join("\n"),
  };
}

/** Numbers and lengths of time in a reason: with others it is the same trouble. */
const NUMBERS = /\d+(?:\.\d+)?(?:(?:ms|[smhdw])\b|[smhd]\d+[smhd]\b)?/g;

function deliveryTrouble({ id, project, trigger, reason, received_at }: DeliveryRecord) {
  return {
    what: trigger === "" ? "no trigger" : trigger,
    of: "",
    why: reason,
    to: ["delivery", id],
    at: received_at,
    key: [project, trigger, reason.replace(NUMBERS, "#")].join("\n"),
  };
}

function Figures({ state: { rates, queue, outbox, settings } }: { readonly state: Status }) {
  const of = (kind: "deliveries" | "tasks", word: string) =>
    rates[kind][word] ?? { last_minute: 0, last_five_minutes: 0 };
  const accepted = of("deliveries", "accepted");
  const refused = of("deliveries", "rejected");
  const failed = of("tasks", "failed");
  const ended = Object.values(rates.tasks).reduce((sum, one) => sum + one.last_five_minutes, 0);
  const workers = settings["workers"]?.value;
  const oldest = queue.oldest_ready_secs;
  const waiting = [
    ...(queue.held > 0 ? [`${queue.held} for their time or a limit`] : []),
    ...(oldest === null ? [] : [`oldest ${shortDuration(oldest * 1000)}`]),
  ];
  return (
    <Tiles
      tiles={[
        {
          label: "Accepted",
          value: accepted.last_five_minutes,
          note: `in 5 min · last minute ${accepted.last_minute}`,
        },
        {
          label: "Refused",
          value: refused.last_five_minutes,
          note: `in 5 min · last minute ${refused.last_minute}`,
          ...(refused.last_five_minutes > 0 ? { tone: "bad" } : {}),
        },
        {
          label: "Running",
          value: queue.running,
          note: typeof workers === "number" ? `of ${workers} at once` : "",
          ...(queue.running > 0 ? { tone: "busy" } : {}),
        },
        {
          label: "Waiting",
          value: queue.pending,
          note: waiting.join(", ") || "nothing waits",
          ...(queue.pending > 0 ? { tone: "waiting" } : {}),
        },
        {
          label: "Tasks ended",
          value: ended,
          note: `in 5 min · ${failed.last_five_minutes} failed`,
          ...(failed.last_five_minutes > 0 ? { tone: "bad" } : {}),
        },
        ...(outbox.pending + outbox.failed === 0 ? [] : [{
          label: "Messages",
          value: outbox.failed > 0 ? outbox.failed : outbox.pending,
          note: outbox.failed > 0
            ? `given up · ${outbox.pending} wait to be sent`
            : "wait to be sent",
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
        ? <span class="badge good">✓ nothing is degraded</span>
        : <span class="badge bad">✗ degraded: what is said above</span>}
      <span class="faint">
        svc {version}, up {shortDuration(uptime_secs * 1000)}, database{" "}
        {sizeText(database.bytes + database.wal_bytes)}
      </span>
    </p>
  );
}

/** The daemons that share the database, where there are several. */
function Nodes({ state: { nodes, settings } }: { readonly state: Status }) {
  if (nodes === null) return null;
  const { name, names, gone, drained } = nodes;
  const state = (one: string) => [
    ...one === name ? ["this one"] : [],
    ...gone.includes(one) ? ["gone"] : [],
    ...drained.includes(one) ? ["drained"] : [],
  ];
  const named = names.map((one) => {
    const said = state(one);
    return said.length === 0 ? one : `${one} (${said.join(", ")})`;
  });
  return (
    <p class="fine">
      Nodes: {named.join(", ")}; each holds its tasks by a lease of{" "}
      {String(settings["lease"]?.value)}
    </p>
  );
}

function FirstSteps() {
  return (
    <section class="panel" aria-label="First steps">
      <h2>No trigger is applied yet</h2>
      <p>Connect a repository, or look at what can be installed:</p>
      <Command line="svc connect github --help" />
      <Command line="svc integration list" />
    </section>
  );
}
