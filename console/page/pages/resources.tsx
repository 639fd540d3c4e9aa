/**
 * Resources as they were applied, kind by kind. They are changed with `svc apply` and `svc edit`.
 *
 * @module
 */

import { KIND_NAMES } from "../../../src/resources/kind_names.ts";
import { Command } from "../parts/command.tsx";
import { type FilterField, Filters, filtersOf } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Rows } from "../parts/rows.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { keyOf, type Resource, useResources } from "../data/resources.ts";
import { href, query } from "../route.ts";

const FIELDS: readonly FilterField[] = [
  { name: "project", label: "Project" },
  { name: "selector", label: "Labels (k=v)" },
];

/** A resource of whatever kind. */
type Applied = Resource<unknown, { readonly generation: number; readonly updated_at: string }>;

const COLUMNS: readonly Column<Applied>[] = [
  {
    header: "Name",
    width: "minmax(8rem, 2fr)",
    cell: (resource) => (
      <Link to={addressOf(resource)}>
        <Text value={resource.metadata.name} cell />
      </Link>
    ),
  },
  {
    header: "Project",
    width: "minmax(5rem, 1fr)",
    cell: ({ metadata }) => <Text value={metadata.project ?? "all"} cell />,
  },
  {
    header: "Labels",
    width: "minmax(6rem, 2fr)",
    cell: ({ metadata: { labels = {} } }) => (
      <Text value={Object.entries(labels).map((one) => one.join("=")).join(", ")} cell />
    ),
    spare: true,
  },
  { header: "Changed", width: "7rem", cell: ({ status }) => <Ago at={status.updated_at} /> },
  { header: "Times", width: "3.5rem", cell: ({ status }) => status.generation, spare: true },
];

/** The screen. */
export function ResourcesPage() {
  const kind = query.value.get("kind") ?? "Workflow";
  const filters = filtersOf(FIELDS);
  const own = useResources<Resource<{ readonly kind: string; readonly plural: string }>>({
    what: "customresourcedefinitions",
  });
  const kinds = [
    ...Object.entries(KIND_NAMES).map(([name, { plural }]) => ({ name, plural })),
    ...own.items.map(({ spec: { kind, plural } }) => ({ name: kind, plural })),
  ];
  const plural = kinds.find(({ name }) => name === kind)?.plural;
  return (
    <>
      <h1>Resources</h1>
      <nav class="tabs" aria-label="Kinds">
        {kinds.map(({ name }) => (
          <Link key={name} to={["resources"]} filters={{ kind: name }} current={name === kind}>
            {name}
          </Link>
        ))}
      </nav>
      <Filters fields={FIELDS} />
      {plural !== undefined && <Listed key={kind} plural={plural} filters={filters} />}
    </>
  );
}

function Listed({ plural, filters }: {
  readonly plural: string;
  readonly filters: ReturnType<typeof filtersOf>;
}) {
  const { items, loading, error } = useResources<Applied>({ what: plural, ...filters.input });
  return (
    <>
      {error !== undefined && <Problem error={error} />}
      {!loading && items.length === 0 && error === undefined && (
        <p class="empty">None has been applied.</p>
      )}
      <Rows
        label={plural}
        items={items}
        columns={COLUMNS}
        id={keyOf}
        to={(resource) => href(addressOf(resource))}
      />
      <Command line={`svc get ${plural}${filters.flags}`} />
    </>
  );
}

function addressOf({ kind, metadata: { name, project } }: Applied): readonly string[] {
  return ["resource", kind.toLowerCase(), ...(project === undefined ? [] : [project]), name];
}
