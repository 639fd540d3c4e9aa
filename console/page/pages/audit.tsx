/**
 * The audits: what plugins ran, with the verdict on its chain, and what was done over the control
 * plane.
 *
 * @module
 */

import type { AuditRecord, ControlAuditRecord } from "../../../src/api/records.ts";
import { shortDuration } from "../../../src/base/duration.ts";
import { useAnswer } from "../data/answer.ts";
import { Badge } from "../parts/badge.tsx";
import { Command } from "../parts/command.tsx";
import { type FilterField, Filters, filtersOf } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Rows } from "../parts/rows.tsx";
import { Text, TextBlock } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import { href } from "../route.ts";
import { useSignal } from "@preact/signals";

const SINCE: FilterField = {
  name: "since_secs",
  label: "Since",
  choices: ["3600", "86400", "604800"],
};
const PLUGIN_FIELDS: readonly FilterField[] = [
  { name: "trigger", label: "Trigger" },
  {
    name: "outcome",
    label: "Result",
    choices: [
      ...["ok", "rejected", "failed", "timeout", "interrupted", "running"],
      ...["allowed", "denied", "audit_warning"],
    ],
  },
  SINCE,
];
const CONTROL_FIELDS: readonly FilterField[] = [SINCE];

/** The two audits: their first part of the address after `audit`, and their name. */
type Which = "plugins" | "control";

/** The screen; `rest` is what follows `audit` in the address. */
export function AuditPage({ rest: [which = "plugins", id] }: { readonly rest: readonly string[] }) {
  const shown: Which = which === "control" ? "control" : "plugins";
  if (id !== undefined) return <RowPage key={id} which={shown} id={id} />;
  return (
    <>
      <h1>Audit</h1>
      <nav class="tabs" aria-label="Audits">
        <Link to={["audit"]} current={shown === "plugins"}>Plugins</Link>
        <Link to={["audit", "control"]} current={shown === "control"}>Control plane</Link>
      </nav>
      {shown === "plugins" ? <PluginRows /> : <ControlRows />}
    </>
  );
}

const PLUGIN_COLUMNS: readonly Column<AuditRecord>[] = [
  { header: "When", width: "6rem", cell: ({ created_at }) => <Ago at={created_at} /> },
  { header: "Result", width: "8.5rem", cell: ({ result }) => <Badge word={result} /> },
  {
    header: "Plugin",
    width: "minmax(8rem, 1.5fr)",
    cell: ({ id, crd_kind, plugin_name }) => (
      <Link to={["audit", "plugins", id]}>
        <Text value={`${crd_kind}/${plugin_name}`} cell />
      </Link>
    ),
  },
  { header: "Action", width: "5rem", cell: ({ action }) => action, spare: true },
  {
    header: "Trigger",
    width: "minmax(6rem, 1fr)",
    cell: ({ trigger }) => <Text value={trigger ?? ""} cell />,
    spare: true,
  },
  {
    header: "Took",
    width: "5rem",
    cell: ({ duration_ms }) => duration_ms === null ? "" : shortDuration(duration_ms),
    spare: true,
  },
  {
    header: "Command",
    width: "minmax(8rem, 2fr)",
    cell: ({ command }) => <Text value={command} cell />,
    spare: true,
  },
];

function PluginRows() {
  const filters = filtersOf(PLUGIN_FIELDS);
  const { items, loading, error, more } = useRecords<AuditRecord>({
    what: "audits",
    ...filters.input,
  });
  return (
    <>
      <Chain />
      <Filters fields={PLUGIN_FIELDS} />
      {error !== undefined && <Problem error={error} />}
      {!loading && items.length === 0 && error === undefined && (
        <p class="empty">No plugin has been applied or run that matches.</p>
      )}
      <Rows
        label="Runs of plugins, newest first"
        items={items}
        columns={PLUGIN_COLUMNS}
        id={({ id }) => id}
        to={({ id }) => href(["audit", "plugins", id])}
        more={more}
      />
      <Command line={`svc get audits${filters.flags}`} />
    </>
  );
}

/** The verdict on the chain of rows; looking at every row costs something, so it is asked for. */
function Chain() {
  const times = useSignal(0);
  const { value, error, loading } = useAnswer(
    "audit.verify",
    times.value === 0 ? undefined : {},
    times.value,
  );
  const isWhole = value?.faults.length === 0;
  return (
    <section class="chain" aria-label="The chain of rows">
      <p class="buttons">
        <button type="button" onClick={() => times.value++} disabled={loading}>
          {loading && times.value > 0 ? "Checking every row…" : "Check the chain"}
        </button>
        <Command line="svc audit verify" />
      </p>
      <div role="status">
        {value !== undefined && (
          <div class={isWhole ? "verdict good" : "verdict bad"}>
            {isWhole
              ? `${value.rows} rows: none was changed, removed or added by anything but the daemon.`
              : `${value.faults.length} faults in ${value.rows} rows:`}
            {!isWhole && (
              <ul>
                {value.faults.map((one) => (
                  <li key={one}>
                    <Text value={one} />
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
      </div>
      {error !== undefined && <Problem error={error} />}
    </section>
  );
}

const CONTROL_COLUMNS: readonly Column<ControlAuditRecord>[] = [
  { header: "When", width: "6rem", cell: ({ created_at }) => <Ago at={created_at} /> },
  { header: "Result", width: "6.5rem", cell: ({ result }) => <Badge word={result} /> },
  {
    header: "Operation",
    width: "minmax(8rem, 1fr)",
    cell: ({ id, operation }) => (
      <Link to={["audit", "control", id]}>
        <Text value={operation} cell />
      </Link>
    ),
  },
  {
    header: "On",
    width: "minmax(6rem, 2fr)",
    cell: ({ target }) => <Text value={target} cell />,
    spare: true,
  },
  {
    header: "By",
    width: "minmax(6rem, 1fr)",
    cell: ({ caller, client }) => (
      <Text value={client === null ? caller : `${caller} (${client})`} cell />
    ),
    spare: true,
  },
  { header: "Role", width: "6rem", cell: ({ role }) => role, spare: true },
];

function ControlRows() {
  const filters = filtersOf(CONTROL_FIELDS);
  const { items, loading, error, more } = useRecords<ControlAuditRecord>({
    what: "control-audits",
    ...filters.input,
  });
  return (
    <>
      <Filters fields={CONTROL_FIELDS} />
      {error !== undefined && <Problem error={error} />}
      {!loading && items.length === 0 && error === undefined && (
        <p class="empty">
          Nothing that matches: secrets that were shown, what only an admin may, what a bulk
          operation changed, and refusals are kept here.
        </p>
      )}
      <Rows
        label="What was done over the control plane, newest first"
        items={items}
        columns={CONTROL_COLUMNS}
        id={({ id }) => id}
        to={({ id }) => href(["audit", "control", id])}
        more={more}
      />
      <Command line={`svc get control-audits${filters.flags}`} />
    </>
  );
}

/** What of a row stands in a block of its own. */
const BLOCKS = ["command", "stderr"];

function RowPage({ which, id }: { readonly which: Which; readonly id: string }) {
  const what = which === "control" ? "control-audit" : "audit";
  const { value, error } = useAnswer("describe", { what, name: id, reveal: false });
  const facts = Object.entries(value ?? {}).filter(([, one]) => one !== null && one !== "");
  return (
    <>
      <h1>{which === "control" ? "Row of the control plane's audit" : "Run of a plugin"}</h1>
      {error !== undefined && <Problem error={error} />}
      <dl class="facts">
        {facts.filter(([name]) => !BLOCKS.includes(name)).map(([name, one]) => (
          <div key={name} class="fact">
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>
              {name === "result"
                ? <Badge word={String(one)} />
                : name === "delivery_id"
                ? <Link to={["delivery", String(one)]}>{String(one)}</Link>
                : <Text value={String(one)} />}
            </dd>
          </div>
        ))}
      </dl>
      {facts.filter(([name]) => BLOCKS.includes(name)).map(([name, one]) => (
        <section key={name}>
          <h2>{name === "stderr" ? "Standard error" : "Command"}</h2>
          <TextBlock value={String(one)} label={name} />
        </section>
      ))}
      <Command line={`svc describe ${what} ${id}`} />
    </>
  );
}
