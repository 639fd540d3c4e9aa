/**
 * Requests to addresses that no trigger has, and which was probably meant.
 *
 * @module
 */

import type { Status } from "../../../../src/api/status_operations.ts";
import { Command } from "../../parts/command.tsx";
import { Link } from "../../parts/link.tsx";
import { Text } from "../../parts/text.tsx";
import { Ago } from "../../parts/time.tsx";
import { useResources } from "../../data/resources.ts";
import { findByPath, type Trigger, triggerScreen } from "../../data/triggers.ts";

/** The table; nothing when every request found its trigger. */
export function UnknownPaths({ paths }: { readonly paths: Status["unknown_paths"] }) {
  const isGuessed = paths.some(({ did_you_mean }) => did_you_mean !== null);
  const { items } = useResources<Trigger>(isGuessed ? { what: "triggers" } : undefined);
  if (paths.length === 0) return null;
  return (
    <section class="panel" aria-label="Requests to addresses that no trigger has">
      <h2>Requests to addresses that no trigger has</h2>
      <div class="scroll-x">
        <table class="wide">
          <thead>
            <tr>
              <th scope="col">Address</th>
              <th scope="col">Did you mean</th>
              <th scope="col" class="number">Times</th>
              <th scope="col" class="spare">Last</th>
            </tr>
          </thead>
          <tbody>
            {paths.map(({ method, path, count, last_at, did_you_mean }) => (
              <tr key={`${method} ${path}`}>
                <td class="mono">
                  <Text value={`${method} ${path}`} cell />
                </td>
                <td>
                  {did_you_mean === null
                    ? <span class="faint">—</span>
                    : <Meant path={did_you_mean} trigger={findByPath(items, did_you_mean)} />}
                </td>
                <td class="number">{count}</td>
                <td class="nowrap spare">
                  <Ago at={last_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Command line="svc get deliveries --unknown" />
    </section>
  );
}

function Meant(
  { path, trigger }: { readonly path: string; readonly trigger: Trigger | undefined },
) {
  if (trigger === undefined) return <code>{path}</code>;
  const { project = "", name } = trigger.metadata;
  return (
    <Link to={triggerScreen({ project, name })}>
      <code>{path}</code>
    </Link>
  );
}
