/**
 * `svc connection repair`: goes through the log of a Connection's forge now.
 *
 * @module
 */

import type { MissedEvent as Shown, Repaired } from "../../api/connection_operations.ts";
import type { Input } from "../../api/operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type MissedEvent, tryText } from "../../connections/hooks/missed_events.ts";
import {
  connection as kind,
  type ConnectionSpec,
  forgeNameOf,
  hooksOf,
} from "../../resources/connection.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import { findResource } from "../resources/queries.ts";
import type { ConnectHost } from "./connect_forge.ts";
import { type ConnectionWork, stepsOf } from "./lines.ts";

/**
 * Has the forge send again what its log shows as missed.
 *
 * @throws {AppError} `not_found`; `refused` for a Connection that has no webhooks at a forge.
 */
export async function* repair(
  input: Input<"connection.repair">,
  { catalog, clock, forgeLogs }: ConnectHost,
  signal: AbortSignal,
): ConnectionWork<Repaired> {
  const { project = DEFAULT_PROJECT, name, since_secs: since, dry_run: dryRun } = input;
  const found = findResource(kind, { project, name }, catalog) as Resource<ConnectionSpec>;
  if (hooksOf(found.spec).length === 0) {
    const forge = forgeNameOf(found.spec) ?? "github";
    const message = `Connection "${name}" has no webhooks: svc connect ${forge} creates them`;
    throw new AppError("refused", message);
  }
  const done = yield* stepsOf((onStep) =>
    forgeLogs.run(found, {
      dryRun,
      onStep,
      signal,
      ...(since === undefined ? {} : { since: clock.now() - since * 1000 }),
    })
  );
  const { missed, repaired, lost, fault } = done;
  const resultOf = ({ guid }: MissedEvent): Shown["result"] => {
    if (repaired.some((one) => one.guid === guid)) return "repaired";
    return lost.some((one) => one.guid === guid) ? "lost" : "missing";
  };
  return {
    name,
    project,
    dry_run: dryRun,
    missed: missed.map((one) => ({
      guid: one.guid,
      event: one.event,
      action: one.action,
      first_tried_at: rfc3339(one.at),
      status: tryText(one.last),
      result: resultOf(one),
    })),
    repaired: repaired.length,
    lost: lost.length,
    fault: fault ?? null,
  };
}
