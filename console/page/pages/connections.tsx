/**
 * Connections to platforms, and the messages of the outbox that go through them.
 *
 * @module
 */

import { destination, type Message } from "../data/messages.ts";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Facts } from "../parts/facts.tsx";
import { type FilterField, filtersOf, TIME_RANGE } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { List } from "../parts/list.tsx";
import { Problem } from "../parts/problem.tsx";
import type { Column } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import type { Connection } from "../data/connections.ts";
import { keyOf, useResources } from "../data/resources.ts";
import { href } from "../route.ts";

const FIELDS: readonly FilterField[] = [
  { name: "state", label: "State", choices: ["held", "failed", "pending", "sent", "dropped"] },
  TIME_RANGE,
];

const COLUMNS: readonly Column<Message>[] = [
  {
    header: "Created",
    whole: true,
    narrow: "time",
    cell: ({ created_at }) => <Ago at={created_at} bare />,
  },
  {
    header: "To",
    narrow: "title",
    cell: (message) => (
      <Link to={["outbox", message.id]}>
        <Text value={destination(message) || message.kind} cell />
      </Link>
    ),
  },
  { header: "Kind", cell: ({ kind }) => <Text value={kind} cell /> },
  { header: "State", whole: true, narrow: "lead", cell: ({ state }) => <Chip word={state} /> },
  { header: "Tries", whole: true, number: true, cell: ({ tries }) => tries },
  { header: "Why", narrow: "text", cell: ({ reason }) => <Text value={reason} cell /> },
];

/** The screen of Connections and of the messages of the outbox. */
export function ConnectionsPage() {
  const filters = filtersOf(FIELDS);
  const records = useRecords<Message>({ what: "outbox", ...filters.input });
  return (
    <>
      <h1>Connections</h1>
      <Cards />
      <List
        title="Outbox"
        level={2}
        records={records}
        fields={FIELDS}
        command={`svc get outbox --watch${filters.flags}`}
        empty="No message matches."
        label="Messages to other systems, newest first"
        columns={COLUMNS}
        id={({ id }) => id}
        to={({ id }) => href(["outbox", id])}
      />
    </>
  );
}

const PLATFORMS: Readonly<Record<string, string>> = {
  github: "GitHub",
  slack: "Slack",
  line: "LINE",
};

function Cards() {
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
  const { fault, login, token_expires_at, last_event_at, events_lost, events_repaired } = status;
  const isConnecting = status.connected_since === null;
  return (
    <li class="panel">
      <h2>
        <Link to={["resource", "connection", project, name]}>
          <Text value={name} cell />
        </Link>
      </h2>
      <p>
        {fault === null ? <Chip word={isConnecting ? "connecting" : "ok"} /> : (
          <Chip word="failed">
            <Text value={fault} />
          </Chip>
        )}
      </p>
      <Facts
        of={{
          "To": (
            <>
              {PLATFORMS[platform] ?? platform}{" "}
              <Text value={repository ?? organization ?? ""} cell />
            </>
          ),
          "As": login === null ? undefined : <Text value={login} cell />,
          "Last event": <Ago at={last_event_at} />,
          "Missed": events_repaired + events_lost === 0
            ? undefined
            : `${events_repaired} repaired, ${events_lost} lost`,
          "Token expires": token_expires_at?.slice(0, 10),
        }}
      />
    </li>
  );
}
