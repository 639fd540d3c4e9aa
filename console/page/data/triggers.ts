/**
 * Triggers as the daemon answers them, and facts derived from them.
 *
 * @module
 */

import type { Resource } from "./resources.ts";
import { status } from "./status.ts";

/** A Trigger as the page reads it: the shown parts of `spec` and `status`. */
export type Trigger = Resource<TriggerSpec, TriggerStatus>;

/** The part of a trigger's `spec` that the page shows. */
export interface TriggerSpec {
  readonly event: {
    readonly source: string;
    readonly webhook?: {
      readonly endpoint?: string;
      readonly connection?: string;
      readonly secret?: { readonly fromRef: string };
      readonly signatureHeader?: string;
      readonly scheme?: string;
      readonly crdRef?: string;
      readonly allowUnsigned?: boolean;
      readonly publicUrl?: string;
    };
    readonly cron?: { readonly schedule: string; readonly timezone?: string };
    readonly filesystem?: { readonly paths: readonly string[] };
    readonly task?: { readonly workflow?: string; readonly states?: readonly string[] };
    readonly filter?: { readonly condition: string };
  };
  readonly suspend?: boolean;
  readonly action: { readonly workflow: string; readonly workspace: string };
}

/** The part of a trigger's `status` that the page shows. */
export interface TriggerStatus {
  /** The next time of a schedule, RFC 3339; `null` if there is none. */
  readonly next_fire_at: string | null;
  /** Several next times of a schedule. */
  readonly next_fires?: readonly string[];
  /** Faults in resources that the trigger refers to; only `describe` answers them. */
  readonly missing?: readonly string[];
}

/** The project of a resource whose manifest names none. */
export const DEFAULT_PROJECT = "default";

/** The parts of the address of a trigger's screen. */
export function triggerScreen(
  { project, name }: { readonly project: string; readonly name: string },
): readonly string[] {
  return ["trigger", project, name];
}

/** The name of a trigger in a command, without the default project. */
export function named({ metadata: { project = "", name } }: Resource<unknown, unknown>): string {
  return project === DEFAULT_PROJECT ? name : `${name} -p ${project}`;
}

/** The source of a trigger's events, in a few words. */
export function sourceOf({ spec: { event } }: Trigger): string {
  const { source, webhook, cron, task, filesystem } = event;
  if (cron !== undefined) return `cron ${cron.schedule}`;
  if (task !== undefined) return `task ${task.workflow ?? "of any workflow"}`;
  if (filesystem !== undefined) return `files ${filesystem.paths.join(", ")}`;
  const scheme = webhook?.scheme ?? "auto";
  return scheme === "auto" ? source : `${source} ${scheme}`;
}

/** The path of a trigger's endpoint; `undefined` if the trigger takes no requests. */
export function pathOf(trigger: Trigger): string | undefined {
  const { metadata: { project = "", name }, spec: { event } } = trigger;
  if (event.source !== "webhook") return undefined;
  const place = event.webhook?.endpoint ?? name;
  return `/webhook/${project === DEFAULT_PROJECT ? "" : `${project}/`}${place}`;
}

/**
 * The address for a trigger's requests, as far as the daemon knows it; `undefined` if it takes
 * none.
 */
export function addressOf(trigger: Trigger): string | undefined {
  const path = pathOf(trigger);
  if (path === undefined) return undefined;
  return trigger.spec.event.webhook?.publicUrl ?? `${status.value?.webhook_url ?? ""}${path}`;
}

/** How a trigger authenticates its requests, in a few words. */
export function signatureOf({ spec: { event: { webhook = {} } } }: Trigger): string {
  if (webhook.allowUnsigned === true) return "none: anyone may send";
  const words = [webhook.scheme, webhook.signatureHeader, webhook.crdRef];
  const said = words.filter((word) => word !== undefined).join(", ");
  if (said !== "") return said;
  return webhook.secret === undefined ? "not configured: every request is rejected" : "auto";
}

/** The trigger among these that takes requests at a path. */
export function findByPath(triggers: readonly Trigger[], path: string): Trigger | undefined {
  return triggers.find((trigger) => pathOf(trigger) === path);
}

/** The newest record of each trigger; `records` are newest first. */
export function newestByTrigger<
  Item extends { readonly project: string; readonly trigger: string },
>(
  records: readonly Item[],
): ReadonlyMap<string, Item> {
  const found = new Map<string, Item>();
  for (const record of records) {
    const key = `${record.project}/${record.trigger}`;
    if (!found.has(key)) found.set(key, record);
  }
  return found;
}
