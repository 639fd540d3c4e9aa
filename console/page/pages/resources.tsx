/**
 * Resources as they were applied, kind by kind. They are changed with `svc apply` and `svc edit`.
 *
 * @module
 */

import { KIND_NAMES } from "../../../src/resources/kind_names.ts";
import { type FilterField, filtersOf } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { List } from "../parts/list.tsx";
import type { Column } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { keyOf, type Resource, useResources } from "../data/resources.ts";
import { href, query } from "../route.ts";

const FIELDS: readonly FilterField[] = [
  { name: "project", label: "Project" },
  { name: "selector", label: "Labels (k=v)" },
];

type Applied = Resource<unknown, { readonly generation: number; readonly updated_at: string }>;

const COLUMNS: readonly Column<Applied>[] = [
  {
    header: "Name",
    narrow: "title",
    cell: (resource) => (
      <Link to={addressOf(resource)}>
        <Text value={resource.metadata.name} cell />
      </Link>
    ),
  },
  {
    header: "Project",
    narrow: "more",
    cell: ({ metadata }) => <Text value={metadata.project ?? "all"} cell />,
  },
  {
    header: "Changed",
    whole: true,
    narrow: "time",
    cell: ({ status }) => <Ago at={status.updated_at} bare />,
  },
  { header: "Generation", whole: true, number: true, cell: ({ status }) => status.generation },
  {
    header: "Labels",
    narrow: "text",
    cell: ({ metadata: { labels = {} } }) => (
      <Text value={Object.entries(labels).map((one) => one.join("=")).join(", ")} cell />
    ),
  },
];

/** The screen of the resources of a kind. */
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
      {plural !== undefined && <Listed key={kind} plural={plural} filters={filters} />}
    </>
  );
}

function Listed({ plural, filters }: {
  readonly plural: string;
  readonly filters: ReturnType<typeof filtersOf>;
}) {
  const resources = useResources<Applied>({ what: plural, ...filters.input });
  return (
    <List
      records={resources}
      fields={FIELDS}
      command={`svc get ${plural}${filters.flags}`}
      empty="None has been applied."
      label={plural}
      columns={COLUMNS}
      id={keyOf}
      to={(resource) => href(addressOf(resource))}
    />
  );
}

function addressOf({ kind, metadata: { name, project } }: Applied): readonly string[] {
  return ["resource", kind.toLowerCase(), ...(project === undefined ? [] : [project]), name];
}
