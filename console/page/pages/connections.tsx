/**
 * Connections to platforms, and the messages of the outbox that go through them.
 *
 * @module
 */

import { destination, type Message } from "../data/messages.ts";
import { Badge } from "../parts/badge.tsx";
import { Command } from "../parts/command.tsx";
import { type FilterField, Filters, filtersOf } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Rows } from "../parts/rows.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import { keyOf, type Resource, useResources } from "../data/resources.ts";
import { href } from "../route.ts";

const FIELDS: readonly FilterField[] = [
  { name: "state", label: "State", choices: ["failed", "pending", "sent", "dropped"] },
  { name: "since_secs", label: "Since", choices: ["3600", "86400", "604800"] },
];

const COLUMNS: readonly Column<Message>[] = [
  { header: "Since", width: "6rem", cell: ({ created_at }) => <Ago at={created_at} /> },
  { header: "State", width: "7rem", cell: ({ state }) => <Badge word={state} /> },
  {
    header: "To",
    width: "minmax(8rem, 1.5fr)",
    cell: (message) => (
      <Link to={["outbox", message.id]}>
        <Text value={destination(message) || message.kind} cell />
      </Link>
    ),
  },
  { header: "Kind", width: "9rem", cell: ({ kind }) => kind, spare: true },
  { header: "Tries", width: "3.5rem", cell: ({ tries }) => tries, spare: true },
  {
    header: "Why",
    width: "minmax(8rem, 2fr)",
    cell: ({ reason }) => <Text value={reason} cell />,
    spare: true,
  },
];

/** The screen. */
export function ConnectionsPage() {
  const filters = filtersOf(FIELDS);
  const { items, loading, error, more } = useRecords<Message>({
    what: "outbox",
    ...filters.input,
  });
  return (
    <>
      <h1>Connections</h1>
      <Known />
      <h2>Outbox</h2>
      <Filters fields={FIELDS} />
      {error !== undefined && <Problem error={error} />}
      {!loading && items.length === 0 && error === undefined && (
        <p class="empty">No message to another system that matches.</p>
      )}
      <Rows
        label="Messages to other systems, newest first"
        items={items}
        columns={COLUMNS}
        id={({ id }) => id}
        to={({ id }) => href(["outbox", id])}
        more={more}
      />
      <Command line={`svc get outbox --watch${filters.flags}`} />
    </>
  );
}

/** A Connection, as far as it is shown here. */
type Connection = Resource<
  Readonly<Record<string, { readonly repository?: string; readonly organization?: string }>>,
  {
    readonly login: string | null;
    readonly token_ends_at: string | null;
    readonly last_event_at: string | null;
    readonly events_lost: number;
    readonly events_repaired: number;
    readonly connected_since?: string | null;
    readonly fault: string | null;
  }
>;

const PLATFORMS: Readonly<Record<string, string>> = {
  github: "GitHub",
  slack: "Slack",
  line: "LINE",
};

function Known() {
  const { items, loading, error } = useResources<Connection>({ what: "connections" });
  if (error !== undefined) return <Problem error={error} />;
  if (!loading && items.length === 0) {
    return (
      <p class="empty">
        Nothing is connected. <code>svc connect github OWNER/REPO</code> connects a repository,{" "}
        <code>svc connect slack</code> a workspace.
      </p>
    );
  }
  return (
    <>
      <ul class="cards">
        {items.map((one) => <Card key={keyOf(one)} connection={one} />)}
      </ul>
      <Command line="svc get connections -o wide" />
    </>
  );
}

function Card({ connection: { metadata, spec, status } }: { readonly connection: Connection }) {
  const { name, project = "" } = metadata;
  const [platform = "", { repository, organization } = {}] =
    Object.entries(spec).find(([block]) => block in PLATFORMS) ?? [];
  const { fault, login, token_ends_at, last_event_at, events_lost, events_repaired } = status;
  const isConnecting = status.connected_since === null;
  return (
    <li class="panel">
      <h2>
        <Link to={["resource", "connection", project, name]}>
          <Text value={name} cell />
        </Link>
      </h2>
      <p>
        {fault === null
          ? <Badge word={isConnecting ? "connecting" : "ok"} />
          : (
            <span class="badge bad">
              <span aria-hidden="true">✗</span> <Text value={fault} />
            </span>
          )}
      </p>
      <dl class="facts">
        <dt>To</dt>
        <dd>
          {PLATFORMS[platform] ?? platform} <Text value={repository ?? organization ?? ""} cell />
        </dd>
        {login !== null && (
          <>
            <dt>As</dt>
            <dd>
              <Text value={login} cell />
            </dd>
          </>
        )}
        <dt>Last event</dt>
        <dd>
          <Ago at={last_event_at} />
        </dd>
        {events_repaired + events_lost > 0 && (
          <>
            <dt>Missed</dt>
            <dd>{events_repaired} repaired, {events_lost} lost</dd>
          </>
        )}
        {token_ends_at !== null && (
          <>
            <dt>Token ends</dt>
            <dd>{token_ends_at.slice(0, 10)}</dd>
          </>
        )}
      </dl>
    </li>
  );
}
