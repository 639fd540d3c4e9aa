/**
 * SecretStores: their keys, when each key last matched a signature, and which keys can be removed.
 * No answer to this page has a value in it.
 *
 * @module
 */

import { keyUseText, type KeyUseView } from "../../../src/api/key_use.ts";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Title } from "../parts/title.tsx";
import { Ago, now } from "../parts/time.tsx";
import { keyOf, type Resource, useDescribed, useResources } from "../data/resources.ts";
import { named } from "../data/triggers.ts";

/** A SecretStore with masked values. */
type Store = Resource<{ readonly data: Readonly<Record<string, string>> }, {
  readonly generation: number;
  readonly used_by?: readonly string[];
  /** The resources whose plugins may read the store. Their manifests do not name the store. */
  readonly readable_by?: readonly string[];
  readonly keys?: Readonly<Record<string, KeyUseView>>;
}>;

/** Most stores that the list shows with their keys. */
const MAX_SHOWN = 30;

/** The screen of all stores. */
export function SecretsPage() {
  const { items, loading, error } = useResources<Store>({ what: "secretstores" });
  return (
    <>
      <h1>Secrets</h1>
      <p class="faint">
        The keys of each SecretStore and their use. The console never shows a value: set values in
        the terminal, which hides what you type.
      </p>
      {error !== undefined && <Problem error={error} />}
      {!loading && error === undefined && items.length === 0 && (
        <>
          <p class="empty">There is no SecretStore.</p>
          <Command line="svc secret set STORE KEY" />
        </>
      )}
      {items.slice(0, MAX_SHOWN).map(({ metadata: { project = "", name }, status }) => (
        <StorePanel
          key={`${project}/${name}`}
          project={project}
          name={name}
          known={status.generation}
        />
      ))}
      {items.length > MAX_SHOWN && (
        <ul>
          {items.slice(MAX_SHOWN).map((one) => (
            <li key={keyOf(one)}>
              <Link to={["secret", one.metadata.project ?? "", one.metadata.name]}>
                {keyOf(one)}
              </Link>
            </li>
          ))}
        </ul>
      )}
      <Command line="svc get secretstores" />
    </>
  );
}

/** The screen of one store. */
export function SecretPage({ project, name }: { readonly project: string; readonly name: string }) {
  return (
    <>
      <Title text={name} back={["secrets", "Secrets"]}>
        <span>project {project}</span>
      </Title>
      <StorePanel project={project} name={name} alone />
    </>
  );
}

function StorePanel({ project, name, known, alone = false }: {
  readonly project: string;
  readonly name: string;
  /** The state of the store as the list has it; absent on the screen of a single store. */
  readonly known?: number;
  /** Whether the heading of the screen is the name of the store. */
  readonly alone?: boolean;
}) {
  const { value, error } = useDescribed<Store>({ what: "secretstore", project, name }, known);
  return (
    <section class="panel" aria-label={`SecretStore ${name}`}>
      {!alone && (
        <h2>
          <Link to={["secret", project, name]}>{name}</Link>
          {project !== "default" && <span class="count">{project}</span>}
        </h2>
      )}
      {error !== undefined && <Problem error={error} />}
      {value === undefined ? error === undefined && <p class="empty">…</p> : (
        <>
          <Keys store={value} />
          <p>
            Used by{" "}
            <Users
              project={project}
              users={value.status.used_by ?? []}
              readers={value.status.readable_by ?? []}
            />
          </p>
          <Command line={`svc secret set ${named(value)} KEY`} />
        </>
      )}
    </section>
  );
}

function Keys({ store: { metadata, spec, status } }: { readonly store: Store }) {
  const uses = status.keys ?? {};
  const columns: readonly Column<string>[] = [
    { header: "Key", whole: true, heads: true, cell: (key) => <span class="mono">{key}</span> },
    {
      header: "Last matched",
      whole: true,
      cell: (key) => {
        const at = uses[key]?.last_matched_at;
        return at ? <Ago at={at} /> : <span class="faint">never</span>;
      },
    },
    {
      header: "Matches",
      whole: true,
      number: true,
      narrow: "gone",
      cell: (key) => uses[key]?.matched ?? 0,
    },
    {
      header: "Triggers",
      narrow: "gone",
      cell: (key) => (
        <Users
          project={metadata.project ?? ""}
          users={(uses[key]?.triggers ?? []).map((trigger) => `trigger/${trigger}`)}
        />
      ),
    },
    {
      header: "Can be removed?",
      cell: (key) => <Removable use={uses[key]} command={removal(metadata, key)} />,
    },
  ];
  return (
    <Table
      items={Object.keys(spec.data)}
      columns={columns}
      id={(key) => key}
      label={`Keys of ${metadata.name}`}
      look="keys-of-store"
    />
  );
}

/** The command that removes a key. */
function removal({ project = "", name }: Store["metadata"], key: string): string {
  const where = project === "default" ? "" : ` -p ${project}`;
  return `svc tool secret-rotate ${name} --remove ${key}${where}`;
}

/** The last use of a key. A match of an earlier value says nothing about the current value. */
function useOf(use: KeyUseView | undefined): string {
  if (use === undefined || use.last_matched_at === null) return "no signature has matched it yet";
  return use.last_matched_value === "current" ? "in use" : keyUseText(use, now.value);
}

function Removable(
  { use, command }: { readonly use: KeyUseView | undefined; readonly command: string },
) {
  if (use?.note === undefined) {
    return (
      <span class="faint">
        {useOf(use)}
      </span>
    );
  }
  return (
    <>
      <Chip word="unneeded">{use.note}</Chip>
      <Command line={command} />
    </>
  );
}

/** The users of a store: links to triggers, and the names of the others. */
function Users(
  { project, users, readers = [] }: {
    readonly project: string;
    readonly users: readonly string[];
    /** The resources whose plugins may read the store. */
    readonly readers?: readonly string[];
  },
) {
  if (users.length === 0 && readers.length > 0) {
    const who = readers.map((one) => `plugins of ${one}`).join(", ");
    return <span class="faint">{`no resource refers to it; ${who} may read it`}</span>;
  }
  if (users.length === 0) return <span class="faint">nothing</span>;
  return (
    <>
      {users.map((user, at) => {
        const [kind = "", name = ""] = user.split("/");
        return (
          <span key={user}>
            {at > 0 && ", "}
            {kind === "trigger" ? <Link to={["trigger", project, name]}>{name}</Link> : user}
          </span>
        );
      })}
    </>
  );
}
