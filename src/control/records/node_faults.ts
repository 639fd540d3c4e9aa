/**
 * Faults of the nodes that share a database, as one of them sees them.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import type { NodeRecord } from "../../store/node_records.ts";

/** Whether a node takes new tasks. */
export function takesTasks({ isAlive, isDrained }: NodeRecord): boolean {
  return isAlive && !isDrained;
}

/** A sentence for each fault of a node, or of several nodes together. */
export function faultsAmongNodes(nodes: readonly NodeRecord[]): readonly string[] {
  const living = nodes.filter(({ isAlive }) => isAlive);
  return [
    ...nodes.filter(({ isAlive }) => !isAlive).map(goneFault),
    ...living.filter(({ isDrained }) => isDrained).map(({ name }) =>
      `node ${name} is drained: it takes no new tasks until "svc node drain ${name} --undo"`
    ),
    ...living.some(takesTasks) ? [] : ["no node takes new tasks: they wait"],
    ...differences(living.filter(({ facts }) => facts.version !== "")),
  ];
}

/** The faults that the other nodes report of themselves. */
export function faultsOfOthers(nodes: readonly NodeRecord[]): readonly string[] {
  return nodes.filter(({ isAlive, isSelf }) => isAlive && !isSelf)
    .flatMap(({ name, facts }) => facts.faults.map((fault) => `node ${name}: ${fault}`));
}

function goneFault({ name, leaseUntil = 0 }: NodeRecord): string {
  return `node ${name} is gone: it has been silent since its lease ended at ` +
    `${rfc3339(leaseUntil)}, and the others take its tasks; start it, or "svc node forget ` +
    `${name}"`;
}

function differences(nodes: readonly NodeRecord[]): string[] {
  const versions = sharing(nodes, ({ facts }) => facts.version);
  const policies = sharing(nodes, ({ facts }) => facts.policy);
  return [
    ...versions.size < 2 ? [] : [
      `nodes run different versions of svc (${
        Array.from(versions, ([version, names]) => `${version} on ${names}`).join("; ")
      }): install the same one on all`,
    ],
    ...policies.size < 2 ? [] : [
      `plugin-policy.yaml is not the same on all nodes (${
        Array.from(policies, ([policy, names]) => policy === "" ? `none on ${names}` : names)
          .join("; ")
      }): one node runs plugins that another refuses`,
    ],
  ];
}

/** The names of nodes that have a value in common, by that value. */
function sharing(
  nodes: readonly NodeRecord[],
  what: (node: NodeRecord) => string,
): ReadonlyMap<string, string> {
  const names = Map.groupBy(nodes, what);
  return new Map(Array.from(names, ([of, all]) => [of, all.map(({ name }) => name).join(", ")]));
}
