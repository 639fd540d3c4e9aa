/**
 * The audits: of plugins, with the verdict on the chain of rows, and of the control plane.
 *
 * @module
 */

import type { AuditRecord, ControlAuditRecord } from "../../../src/api/records.ts";
import { shortDuration } from "../../../src/base/duration.ts";
import { useAnswer } from "../data/answer.ts";
import { By } from "../parts/by.tsx";
import { Button } from "../parts/button.tsx";
import { Chip, wordOf } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Facts } from "../parts/facts.tsx";
import { type FilterField, filtersOf, TIME_RANGE } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { List } from "../parts/list.tsx";
import { Problem } from "../parts/problem.tsx";
import type { Column } from "../parts/table.tsx";
import { Text, TextBlock } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { Ago } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import { href } from "../route.ts";
import { useSignal } from "@preact/signals";

const PLUGIN_FIELDS: readonly FilterField[] = [
  { name: "trigger", label: "Trigger" },
  {
    name: "outcome",
    label: "Result",
    choices: [
      "ok",
      "rejected",
      "failed",
      "timeout",
      "interrupted",
      "running",
      "allowed",
      "denied",
      "audit_warning",
    ],
  },
  TIME_RANGE,
];
const CONTROL_FIELDS: readonly FilterField[] = [{ name: "caller", label: "By" }, TIME_RANGE];

/** The two audits: the part of the address after `audit`, and the name. */
type Which = "plugins" | "control";

/** The screen of the audits; `rest` are the parts of the address after `audit`. */
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

/** The audit of plugins. */
const DONE: Readonly<Record<string, string>> = { apply: "applied", execute: "run" };

const PLUGIN_COLUMNS: readonly Column<AuditRecord>[] = [
  {
    header: "When",
    whole: true,
    narrow: "time",
    cell: ({ created_at }) => <Ago at={created_at} bare />,
  },
  {
    header: "Plugin",
    narrow: "title",
    cell: ({ id, crd_kind, plugin_name }) => (
      <Link to={["audit", "plugins", id]}>
        <Text value={`${crd_kind}/${plugin_name}`} cell />
      </Link>
    ),
  },
  { header: "Action", whole: true, narrow: "more", cell: ({ action }) => DONE[action] ?? action },
  { header: "Result", whole: true, narrow: "lead", cell: ({ result }) => <Chip word={result} /> },
  { header: "Trigger", cell: ({ trigger }) => <Text value={trigger ?? ""} cell /> },
  {
    header: "Took",
    whole: true,
    number: true,
    cell: ({ duration_ms }) => duration_ms === null ? "" : shortDuration(duration_ms),
  },
  { header: "Command", narrow: "text", cell: ({ command }) => <Text value={command} cell /> },
];

function PluginRows() {
  const filters = filtersOf(PLUGIN_FIELDS);
  const records = useRecords<AuditRecord>({ what: "audits", ...filters.input });
  return (
    <>
      <Chain />
      <List
        records={records}
        fields={PLUGIN_FIELDS}
        command={`svc get audits${filters.flags}`}
        empty="No plugin run matches."
        label="Runs of plugins, newest first"
        columns={PLUGIN_COLUMNS}
        id={({ id }) => id}
        to={({ id }) => href(["audit", "plugins", id])}
      />
    </>
  );
}

/** The verdict on the chain of rows, made on a click because it reads every row. */
function Chain() {
  const times = useSignal(0);
  const { value, error, loading } = useAnswer(
    "audit.verify",
    times.value === 0 ? undefined : {},
    times.value,
  );
  const isWhole = value?.faults.length === 0;
  return (
    <section aria-label="The chain of rows">
      <div class="buttons">
        <Button act={() => void times.value++} busy={loading}>
          {loading ? "Checking every row…" : "Check the chain"}
        </Button>
        <Command line="svc audit verify" />
      </div>
      <div role="status">
        {value !== undefined && (
          <div class={isWhole ? "verdict good" : "verdict bad"}>
            {isWhole
              ? `${value.rows} rows: nothing but the daemon has changed, removed or added any.`
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
  {
    header: "When",
    whole: true,
    narrow: "time",
    cell: ({ created_at }) => <Ago at={created_at} bare />,
  },
  {
    header: "Operation",
    narrow: "title",
    cell: ({ id, operation }) => (
      <Link to={["audit", "control", id]}>
        <Text value={operation} cell />
      </Link>
    ),
  },
  { header: "On", narrow: "more", cell: ({ target }) => <Text value={target} cell /> },
  { header: "Result", whole: true, narrow: "lead", cell: ({ result }) => <Chip word={result} /> },
  { header: "Role", whole: true, cell: ({ role }) => wordOf(role) },
  {
    header: "By",
    narrow: "text",
    cell: ({ caller, client }) => (
      <By called={client === null ? caller : `${caller} (${client})`} person={caller} />
    ),
  },
];

function ControlRows() {
  const filters = filtersOf(CONTROL_FIELDS);
  const records = useRecords<ControlAuditRecord>({ what: "control-audits", ...filters.input });
  return (
    <List
      records={records}
      fields={CONTROL_FIELDS}
      command={`svc get control-audits${filters.flags}`}
      empty={"No row matches. This audit holds logins and changes of Persons, and of everybody " +
        "secrets that were shown, admin-only operations, and refusals."}
      label="Control-plane operations, newest first"
      columns={CONTROL_COLUMNS}
      id={({ id }) => id}
      to={({ id }) => href(["audit", "control", id])}
    />
  );
}

/** The fields of a row that are shown as blocks. */
const BLOCKS = ["command", "stderr"];
/** The fields of a row whose values are words of the daemon. */
const WORDS = ["role", "plugin_type", "policy_mode"];

/** The action of a row as a sentence without its full stop. */
function rowTitle(which: Which, row: Readonly<Record<string, unknown>>): string {
  const of = (name: string) => String(row[name] ?? "");
  if (which === "control") {
    return row["operation"] === undefined
      ? "Row of the control plane's audit"
      : `${of("operation")}${row["target"] ? ` on ${of("target")}` : ""}, by ${of("caller")}`;
  }
  return row["plugin_name"] === undefined
    ? "Row of the plugins' audit"
    : `${of("crd_kind")}/${of("plugin_name")} was ${DONE[of("action")] ?? of("action")}`;
}

function shownFact(name: string, value: string) {
  if (name === "delivery_id") return <Link to={["delivery", value]}>{value}</Link>;
  return <Text value={WORDS.includes(name) ? wordOf(value) : value} />;
}

function RowPage({ which, id }: { readonly which: Which; readonly id: string }) {
  const what = which === "control" ? "control-audit" : "audit";
  const { value, error } = useAnswer("describe", { what, name: id, reveal: false });
  const facts = Object.entries(value ?? {}).filter(([, one]) => one !== null && one !== "");
  return (
    <>
      <Title text={rowTitle(which, value ?? {})} back={["audit", "Audit"]}>
        {typeof value?.["result"] === "string" && <Chip word={value["result"]} />}
        <code>{id}</code>
      </Title>
      {error !== undefined && <Problem error={error} />}
      <Facts
        of={Object.fromEntries(
          facts.filter(([name]) => ![...BLOCKS, "id", "result"].includes(name))
            .map(([name, one]) => [name.replaceAll("_", " "), shownFact(name, String(one))]),
        )}
      />
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
