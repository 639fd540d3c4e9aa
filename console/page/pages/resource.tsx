/**
 * A resource as it was applied: its manifest, its users, and the missing resources that it needs.
 *
 * @module
 */

import { stringify } from "yaml";
import { Command } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { Text, TextBlock } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { Ago } from "../parts/time.tsx";
import { type Resource, useDescribed } from "../data/resources.ts";
import { query, setQuery } from "../route.ts";

/** Kinds with a screen of their own; the keys are the kinds in lower case. */
const SCREENS: Readonly<Record<string, readonly [screen: string, label: string]>> = {
  trigger: ["trigger", "What it does: outcomes, next times, suspend, fire"],
  secretstore: ["secret", "Its keys, and which was used last"],
};

type Described = Resource<unknown, {
  readonly generation: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** The users of the resource, each as `kind/name`. */
  readonly used_by?: readonly string[];
  /**
   * Of a SecretStore: the resources whose plugins may read it. Their manifests do not name the
   * store.
   */
  readonly readable_by?: readonly string[];
  /** A sentence for each resource that it needs and that does not exist. */
  readonly missing?: readonly string[];
}>;

/** The screen of a resource; `project` is empty for global kinds. */
export function ResourcePage(
  { kind, project, name }: {
    readonly kind: string;
    readonly project: string;
    readonly name: string;
  },
) {
  const { value, error } = useDescribed<Described>({ what: kind, project, name });
  const line = `svc describe ${kind} ${name}${project === "" ? "" : ` --project ${project}`}`;
  return (
    <>
      <Title text={`${value?.kind ?? kind} ${name}`} back={["resources", "Resources"]} />
      {error !== undefined && <Problem error={error} />}
      {value !== undefined && <Shown resource={value} />}
      <Command line={/^[\w./ -]+$/.test(line) ? line : "svc describe KIND NAME"} />
    </>
  );
}

function Shown({ resource }: { readonly resource: Described }) {
  const { kind, metadata: { project, name }, status } = resource;
  const { missing = [], used_by = [], readable_by = [] } = status;
  const within = project === undefined ? [] : [project];
  const screen = SCREENS[kind.toLowerCase()];
  return (
    <>
      <p class="faint">
        {project === undefined ? "In every project" : (
          <>
            Project <Text value={project} cell />
          </>
        )}, applied <Ago at={status.created_at} />
        {status.generation > 1 && (
          <>
            , changed {status.generation - 1} times, last <Ago at={status.updated_at} />
          </>
        )}
      </p>
      {screen !== undefined && (
        <p>
          <Link to={[screen[0], ...within, name]}>{screen[1]}</Link>
        </p>
      )}
      {missing.length > 0 && (
        <section class="verdict bad" aria-label="Missing">
          <strong>It needs things that do not exist:</strong>
          <ul>
            {missing.map((one) => (
              <li key={one}>
                <Text value={one} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <h2>Used by</h2>
      {readable_by.length > 0 && (
        <p>
          <Text value={`Plugins of ${readable_by.join(", ")} may read it.`} />
        </p>
      )}
      {used_by.length === 0 ? <p class="empty">No resource refers to it.</p> : (
        <ul class="plain">
          {used_by.map((user) => {
            const [userKind = "", userName = ""] = user.split("/");
            return (
              <li key={user}>
                <Link to={["resource", userKind, ...within, userName]}>
                  <Text value={user} cell />
                </Link>
              </li>
            );
          })}
        </ul>
      )}
      <Manifest resource={resource} />
    </>
  );
}

/** The manifest as YAML or JSON; the address says which. */
function Manifest({ resource }: { readonly resource: Described }) {
  const { kind, metadata, spec } = resource;
  const manifest = { kind, metadata, spec };
  const isJson = query.value.get("as") === "json";
  return (
    <section>
      <h2>Manifest</h2>
      <p class="buttons" role="group" aria-label="Form">
        <button type="button" aria-pressed={!isJson} onClick={() => setQuery({ as: "" })}>
          YAML
        </button>
        <button type="button" aria-pressed={isJson} onClick={() => setQuery({ as: "json" })}>
          JSON
        </button>
      </p>
      <TextBlock
        label="Manifest"
        value={isJson ? JSON.stringify(manifest, undefined, 2) : stringify(manifest)}
      />
    </section>
  );
}
