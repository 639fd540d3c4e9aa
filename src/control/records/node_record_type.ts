/**
 * Nodes as a type of record: the daemons that share the storage, by their names.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import type { Column } from "../../resources/kind.ts";
import type { NodeRecord } from "../../store/node_records.ts";
import type { RecordType } from "./record_type.ts";

/** The type `node`; its names stand in the place of ids. */
export const NODES: RecordType<NodeRecord, "node"> = {
  name: "node",
  list: async (store, { limit }) => (await store.listNodes()).slice(0, limit),
  find: async (store, given) =>
    (await store.listNodes()).filter(({ name, id }) => name === given || id === given),
  id: (node) => node.name,
  view: nodeView,
  columns: nodeColumns,
  passing: ["lease_until"],
};

/** The state of a node. A drained node finishes the tasks that it runs, and takes no others. */
function stateOf(
  { isAlive, isDrained, running }: NodeRecord,
): "ready" | "draining" | "drained" | "gone" {
  if (!isAlive) return "gone";
  if (!isDrained) return "ready";
  return running > 0 ? "draining" : "drained";
}

function nodeView(node: NodeRecord): Record<string, unknown> {
  const time = (at: number | undefined) => at === undefined ? null : rfc3339(at);
  return {
    id: node.id,
    name: node.name,
    state: stateOf(node),
    self: node.isSelf,
    drained: node.isDrained,
    running: node.running,
    version: node.facts.version,
    faults: node.facts.faults,
    started_at: time(node.startedAt),
    lease_until: time(node.leaseUntil),
  };
}

function nodeColumns(now: number): Column<NodeRecord>[] {
  return [
    { header: "NAME", fit: "name", cell: ({ name }) => name },
    { header: "STATE", cell: stateOf },
    { header: "LEASE", cell: ({ leaseUntil }) => leaseText(leaseUntil, now) },
    { header: "RUNNING", cell: ({ running }) => String(running) },
    { header: "VERSION", secondary: true, cell: ({ facts }) => facts.version },
    {
      header: "STARTED",
      fit: "text",
      cell: ({ startedAt }) => startedAt === undefined ? "" : rfc3339(startedAt),
    },
  ];
}

/** The rest of a lease; empty for a node without one, which shares its database with no other. */
function leaseText(until: number | undefined, now: number): string {
  if (until === undefined) return "none";
  return until > now ? shortDuration(until - now) : `over for ${shortDuration(now - until)}`;
}
