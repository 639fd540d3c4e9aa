/**
 * Says how busy an Agent is, and until when it is limited.
 *
 * @module
 */

import { rfc3339, type WallClock } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import { agent as kind, type AgentSpec } from "../../resources/agent.ts";
import type { Column } from "../../resources/kind.ts";
import type { Resource } from "../../resources/resource.ts";
import type { AgentUse } from "../../store/turn_records.ts";
import type { TurnStore } from "../../store/turn_store.ts";

/** The use of each Agent that has turns or a limit. */
export type AgentUses = ReadonlyMap<Resource, AgentUse>;

/** Reads how busy the Agents among these resources are. */
export async function agentUses(
  resources: readonly Resource[],
  { store, clock }: { readonly store: Pick<TurnStore, "listAgentUse">; readonly clock: WallClock },
): Promise<AgentUses> {
  const found = new Map<Resource, AgentUse>();
  const agents = resources.filter((resource) => resource.kind === kind.kind);
  for (const [project, some] of Map.groupBy(agents, (agent) => agent.project)) {
    const uses = await store.listAgentUse(project, clock.now());
    for (const agent of some) {
      const use = uses.find((one) => one.agent === agent.name);
      if (use !== undefined) found.set(agent, use);
    }
  }
  return found;
}

/** The columns of a list of Agents; none of other kinds. */
export function agentColumns(
  what: string,
  uses: AgentUses,
  now: number,
): readonly Column<Resource>[] {
  if (what !== kind.kind) return [];
  const limited = (resource: Resource) => {
    const until = uses.get(resource)?.limit?.until;
    return until === undefined ? "" : `for ${shortDuration(until - now)}`;
  };
  return [
    { header: "IN-USE", cell: (resource) => inUse(resource, uses.get(resource)) },
    { header: "LIMITED", cell: limited },
  ];
}

/** Such as `2`, or `3 of 3, 5 wait`. */
function inUse(resource: Resource, use: AgentUse | undefined): string {
  const { maxParallel } = resource.spec as AgentSpec;
  const { held, waiting } = use ?? { held: 0, waiting: 0 };
  const seats = maxParallel === undefined ? "" : ` of ${maxParallel}`;
  return `${held}${seats}${waiting === 0 ? "" : `, ${waiting} wait`}`;
}

/** The `status` of an Agent; empty for other kinds. */
export function agentStatus(resource: Resource, uses: AgentUses): Record<string, unknown> {
  if (resource.kind !== kind.kind) return {};
  const { held, waiting, limit } = uses.get(resource) ?? { held: 0, waiting: 0 };
  return {
    in_use: held,
    waiting,
    ...(limit === undefined
      ? {}
      : { limited_until: rfc3339(limit.until), limit_reason: limit.reason }),
  };
}
