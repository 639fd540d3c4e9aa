/**
 * All triggers: the source of events, the outcome of the last delivery, and the next time.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { DeliveryRecord } from "../../../src/api/records.ts";
import { call } from "../data/api.ts";
import { Chip } from "../parts/chip.tsx";
import { Link } from "../parts/link.tsx";
import { List } from "../parts/list.tsx";
import type { Column } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import { keyOf, useResources } from "../data/resources.ts";
import { href, query } from "../route.ts";
import { newestByTrigger, sourceOf, type Trigger, triggerScreen } from "../data/triggers.ts";

/** Number of the newest deliveries that are searched for the last one of each trigger. */
const NEWEST = 200;
/** Most triggers whose last delivery is read one by one. */
const MAX_ASKED = 100;

/** The screen of all triggers. */
export function TriggersPage() {
  const { items, loading, error } = useResources<Trigger>({ what: "triggers" });
  const wanted = (query.value.get("q") ?? "").toLowerCase();
  const shown = items.filter((one) =>
    `${keyOf(one)} ${sourceOf(one)}`.toLowerCase().includes(wanted)
  );
  const last = useLastDeliveries(items);
  const hours = useLastHours(items);
  const columns: readonly Column<Trigger>[] = [
    {
      header: "Trigger",
      narrow: "title",
      cell: ({ metadata: { project = "", name } }) => (
        <Link to={triggerScreen({ project, name })}>{name}</Link>
      ),
    },
    {
      header: "Last",
      whole: true,
      narrow: "lead",
      cell: (one) => <Last delivery={last.get(keyOf(one))} />,
    },
    {
      header: "When",
      whole: true,
      narrow: "time",
      cell: (one) => <When delivery={last.get(keyOf(one))} />,
    },
    {
      header: "Last hour",
      whole: true,
      narrow: "more",
      cell: (one) => <LastHour counts={hours.get(keyOf(one))} />,
    },
    { header: "Next", whole: true, narrow: "more", cell: nextOf },
    { header: "Starts", cell: ({ spec }) => spec.action.workflow },
    { header: "Project", cell: ({ metadata }) => metadata.project },
    { header: "Source", narrow: "text", cell: (one) => <Text value={sourceOf(one)} cell /> },
  ];
  return (
    <List
      title="Triggers"
      records={{ items: shown, loading, error }}
      fields={[{ name: "q", label: "Name" }]}
      command="svc get triggers"
      empty={items.length === 0 ? "No triggers yet." : "No trigger has that name."}
      label="Triggers, by project and name"
      columns={columns}
      id={keyOf}
      to={({ metadata: { project = "", name } }) => href(triggerScreen({ project, name }))}
    />
  );
}

function Last({ delivery }: { readonly delivery: DeliveryRecord | null | undefined }) {
  if (delivery === undefined) return <span class="faint">…</span>;
  if (delivery === null) return <span class="faint">none yet</span>;
  return <Chip word={delivery.outcome} />;
}

function When({ delivery }: { readonly delivery: DeliveryRecord | null | undefined }) {
  return delivery ? <Ago at={delivery.received_at} bare /> : null;
}

/** The deliveries of the last hour; `undefined` if unknown, or not counted for each trigger. */
interface Hour {
  readonly all: number;
  readonly rejected: number;
}

function LastHour({ counts }: { readonly counts: Hour | undefined }) {
  if (counts === undefined) return null;
  return (
    <>
      {counts.all}
      {counts.rejected > 0 && (
        <>
          , <Chip word="rejected">{counts.rejected} rejected</Chip>
        </>
      )}
    </>
  );
}

/** Interval of reading the counts of the last hour. */
const AGAIN_MS = 60_000;

/** The deliveries of each trigger in the last hour, read one by one. */
function useLastHours(triggers: readonly Trigger[]): ReadonlyMap<string, Hour> {
  const found = useSignal<ReadonlyMap<string, Hour>>(new Map());
  useEffect(() => {
    const own = new AbortController();
    const ask = async () => {
      for (const one of triggers.slice(0, MAX_ASKED)) {
        const { project = "", name } = one.metadata;
        const stats = await call("stats", { trigger: name, project }, own.signal)
          .catch(() => undefined);
        if (own.signal.aborted || stats === undefined) return;
        if (stats.counted_since === null) continue;
        const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
        const all = sum(Object.values(stats.deliveries).map(sum));
        const rejected = sum(stats.deliveries["rejected"] ?? []);
        found.value = new Map([...found.peek(), [keyOf(one), { all, rejected }]]);
      }
    };
    void ask();
    const timer = setInterval(() => {
      if (!document.hidden) void ask();
    }, AGAIN_MS);
    return () => {
      own.abort();
      clearInterval(timer);
    };
  }, [triggers.map(keyOf).join()]);
  return found.value;
}

function nextOf({ spec, status }: Trigger) {
  if (spec.suspend === true) return <Chip word="suspended" />;
  return status.next_fire_at === null ? "" : <Until at={status.next_fire_at} />;
}

/**
 * The last delivery of each trigger: from the newest of all deliveries, which are kept up to date,
 * or else read one by one. `null` if the trigger has none.
 */
function useLastDeliveries(
  triggers: readonly Trigger[],
): { readonly get: (key: string) => DeliveryRecord | null | undefined } {
  const { items, loading } = useRecords<DeliveryRecord>({ what: "deliveries", limit: NEWEST });
  const asked = useSignal<ReadonlyMap<string, DeliveryRecord | null>>(new Map());
  const newest = newestByTrigger(items);
  const missing = triggers.filter((one) => !newest.has(keyOf(one))).slice(0, MAX_ASKED);
  useEffect(() => {
    if (loading) return;
    let over = false;
    void (async () => {
      for (const one of missing) {
        if (asked.peek().has(keyOf(one))) continue;
        const { project = "", name } = one.metadata;
        const query = { what: "deliveries", project, trigger: name, limit: 1 };
        const found = await call("get", query).catch(() => undefined);
        if (over || found === undefined) return;
        const [delivery = null] = found.items as unknown as readonly DeliveryRecord[];
        asked.value = new Map([...asked.peek(), [keyOf(one), delivery]]);
      }
    })();
    return () => {
      over = true;
    };
  }, [loading, missing.map(keyOf).join()]);
  return { get: (key) => newest.get(key) ?? asked.value.get(key) };
}
