/**
 * A trigger: its facts, its deliveries and charts, and its actions.
 *
 * @module
 */

import type { DeliveryRecord } from "../../../src/api/records.ts";
import { call } from "../data/api.ts";
import { Charts, useFigures } from "../charts/charts.tsx";
import { Action } from "../parts/action.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { CopyButton } from "../parts/copy_button.tsx";
import { Facts } from "../parts/facts.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { ShortId } from "../parts/short_id.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Text, TextBlock } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import { useDescribed } from "../data/resources.ts";
import { addressOf, named, signatureOf, sourceOf, type Trigger } from "../data/triggers.ts";
import { TryForm } from "./trigger/try_form.tsx";

/** Number of deliveries below the trigger. */
const SHOWN = 10;

/** The screen of a trigger, named by project and name. */
export function TriggerPage(
  { project, name }: { readonly project: string; readonly name: string },
) {
  const { value, error } = useDescribed<Trigger>({ what: "trigger", project, name });
  const { items, loading } = useRecords<DeliveryRecord>({
    what: "deliveries",
    project,
    trigger: name,
    limit: SHOWN,
  });
  const figures = useFigures({ project, trigger: name });
  const filters = { trigger: name, project };
  return (
    <>
      <Title text={name} back={["triggers", "Triggers"]}>
        {value?.spec.suspend === true && <Chip word="suspended" />}
        <span>project {project}</span>
        {value !== undefined && <Suspend trigger={value} />}
      </Title>
      {error !== undefined && <Problem error={error} />}
      {value !== undefined && (
        <>
          <Facts of={factsOf(value, items[0])} look="panel" />
          <Charts of={{ project, trigger: name }} figures={figures} />
          <section class="panel" aria-label="Last deliveries">
            <h2>Last deliveries</h2>
            {!loading && items.length === 0 && <p class="empty">No delivery yet.</p>}
            {items.length > 0 && (
              <Table
                items={items.slice(0, SHOWN)}
                columns={DELIVERY_COLUMNS}
                id={({ id }) => id}
              />
            )}
            <p class="links">
              {items.length > 0 && (
                <Link to={["deliveries"]} filters={filters}>All its deliveries</Link>
              )}
              <Link to={["tasks"]} filters={filters}>All its tasks</Link>
            </p>
          </section>
          <section class="panel" aria-label="Try it">
            <h2>Try it</h2>
            <TryForm trigger={value} last={items[0]?.id} />
          </section>
          <p>
            <Link to={["resource", "trigger", project, name]}>Applied manifest</Link>
          </p>
          <Command line={`svc describe trigger ${named(value)}`} />
        </>
      )}
    </>
  );
}

function factsOf(trigger: Trigger, last: DeliveryRecord | undefined) {
  const { metadata: { project = "", name, description = "" }, spec, status } = trigger;
  const { webhook, filter, cron } = spec.event;
  const store = webhook?.secret?.fromRef;
  const address = addressOf(trigger);
  const next = status.next_fires ?? (status.next_fire_at === null ? [] : [status.next_fire_at]);
  const missing = status.missing ?? [];
  return {
    "About": description === "" ? undefined : <Text value={description} />,
    "Last delivery": last && (
      <>
        <Chip word={last.outcome} />{" "}
        <Link to={["delivery", last.id]}>
          <Ago at={last.received_at} />
        </Link>{" "}
        <Text value={last.reason} cell />
      </>
    ),
    "Source": sourceOf(trigger),
    "Address": address && (
      <span class="copied">
        <code>{address}</code> <CopyButton text={address} what="the address" />
      </span>
    ),
    "Signature": webhook && signatureOf(trigger),
    "Secrets": store && <Link to={["secret", project, store]}>{store}</Link>,
    "Connection": webhook?.connection,
    "Starts": spec.action === undefined ? "nothing: steps only wait for its events" : (
      <>
        workflow{" "}
        <Link to={["resource", "workflow", project, spec.action.workflow]}>
          {spec.action.workflow}
        </Link>{" "}
        in workspace{" "}
        <Link to={["resource", "workspace", project, spec.action.workspace]}>
          {spec.action.workspace}
        </Link>
      </>
    ),
    "Next times": next.length === 0 ? undefined : (
      <ol class="times">
        {next.map((at) => (
          <li key={at}>
            <Next at={at} timezone={cron?.timezone ?? "UTC"} />
          </li>
        ))}
      </ol>
    ),
    "Filter": (
      <>
        {filter === undefined
          ? <p>none: every event passes</p>
          : <TextBlock value={filter.condition} label="The filter's condition" />}
        <Link to={["filter", project, name]}>Try a filter on past deliveries</Link>
      </>
    ),
    "Faults": missing.length === 0 ? undefined : missing.map((fault) => <p key={fault}>{fault}</p>),
  };
}

const SHORT = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/**
 * A time of a schedule: in the time zone of the schedule, where a mistake is visible, and in local
 * time.
 */
function Next({ at, timezone }: { readonly at: string; readonly timezone: string }) {
  const ms = Date.parse(at);
  const said = (timeZone?: string) =>
    new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short", timeZone })
      .format(ms);
  const [there, here] = [said(timezone), said()];
  return (
    <>
      <time dateTime={at} title={here}>{there}</time>{" "}
      <span class="faint">
        {timezone}, <Until at={at} />
        {here !== there && `, here ${SHORT.format(ms)}`}
      </span>
    </>
  );
}

const DELIVERY_COLUMNS: readonly Column<DeliveryRecord>[] = [
  {
    header: "Arrived",
    whole: true,
    cell: ({ id, received_at }) => (
      <Link to={["delivery", id]}>
        <Ago at={received_at} bare />
      </Link>
    ),
  },
  { header: "Outcome", whole: true, cell: ({ outcome }) => <Chip word={outcome} /> },
  {
    header: "Task",
    whole: true,
    narrow: "gone",
    cell: ({ task_id }) =>
      task_id === null ? "" : (
        <Link to={["task", task_id]}>
          <ShortId id={task_id} />
        </Link>
      ),
  },
  { header: "Why", cell: ({ reason }) => <Text value={reason} cell /> },
];

function Suspend({ trigger }: { readonly trigger: Trigger }) {
  const { metadata: { project = "", name }, spec: { suspend = false } } = trigger;
  const target = { name, project };
  return suspend
    ? (
      <Action
        label="Resume"
        question={`Events of ${name} start tasks again. Events that were skipped still start nothing.`}
        command={`svc trigger resume ${named(trigger)}`}
        act={async () => {
          await call("trigger.resume", target);
          return "It is resumed";
        }}
      />
    )
    : (
      <Action
        label="Suspend"
        question={`Events of ${name} are recorded but start nothing until you resume it.`}
        command={`svc trigger suspend ${named(trigger)}`}
        act={async () => {
          await call("trigger.suspend", target);
          return "It is suspended";
        }}
      />
    );
}
