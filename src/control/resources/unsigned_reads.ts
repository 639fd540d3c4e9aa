/**
 * Warnings about values that an expression reads and the signature of its trigger does not cover:
 * anyone with one signed request can send it again with other values. A trigger gets such a warning
 * only if it has a signature that covers a value to read instead.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { schemeOf } from "../../intake/pipeline/signing.ts";
import { signingKeys } from "../../intake/pipeline/signing_keys.ts";
import { pluginsOf } from "../../plugins/phases.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { readsOf } from "../../resources/expressions.ts";
import type { PlacedRead } from "../../resources/read_manifests.ts";
import { displayName, keyOf, type Resource, type ResourceKey } from "../../resources/resource.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import { needsOf } from "../../resources/users.ts";
import {
  type Coverage,
  COVERS_NOTHING,
  coversPayload,
  isCovered,
  withoutQuery,
} from "../../signatures/coverage.ts";
import { coverageOf } from "../../signatures/signature_coverage.ts";

/** Most of these warnings for one apply. */
const MAX_REPORTED = 100;

/** Kinds whose expressions see the event of a task. */
const OF_TASKS: ReadonlySet<string> = new Set(["Workflow", "Workspace", "Agent", "StepTemplate"]);

/**
 * The warnings about what was applied; each value once at its place, however many triggers it is
 * read for.
 *
 * @param reads What the expressions of the input read.
 * @param applied The resources of the input.
 * @param proposed The catalog as it is with them.
 */
export function unsignedWarnings(
  reads: readonly PlacedRead[],
  applied: readonly ResourceKey[],
  proposed: Catalog,
): string[] {
  const isApplied = new Set(applied.map(keyOf));
  const readsByKey = Map.groupBy(reads, keyOf);
  const workflows = proposed.list("Workflow") as Resource<unknown>[];
  const warnings = new Map<string, string>();
  for (const trigger of proposed.list("Trigger") as Resource<TriggerSpec>[]) {
    // the events of all other sources are svc's own
    if (trigger.spec.event.source !== "webhook") continue;
    const own = isApplied.has(keyOf(trigger));
    const ofTasks = [trigger, ...usedByTasks(trigger, proposed)].map((one) => ({ one }));
    const waiting = workflows.filter(({ project }) => project === trigger.project)
      .map((one) => ({ one, waitsFor: trigger.name }));
    const seen = [...ofTasks, ...waiting].filter(({ one }) => own || isApplied.has(keyOf(one)));
    if (seen.length === 0) continue;
    const coverage = coverageOfTrigger(trigger, proposed);
    for (const { one: resource, waitsFor } of seen as readonly Seen[]) {
      for (const read of readsByKey.get(keyOf(resource)) ?? placedReads(resource, proposed)) {
        if (read.trigger !== waitsFor) continue;
        const key = `${read.place}${nameOf(read.path)}`;
        const warning = warningOf(read, coverage, trigger);
        if (warning !== undefined && !warnings.has(key)) warnings.set(key, read.place + warning);
      }
    }
  }
  const lines = [...warnings.values()];
  return lines.length <= MAX_REPORTED
    ? lines
    : [...lines.slice(0, MAX_REPORTED), `and ${lines.length - MAX_REPORTED} more like these`];
}

/** A resource with expressions over the events of a trigger. */
interface Seen {
  readonly one: Resource;
  /** The trigger, if its events are waited for there. */
  readonly waitsFor?: string;
}

/** The resources from which the tasks of a trigger are made. */
function usedByTasks(trigger: Resource<TriggerSpec>, proposed: Catalog): Resource[] {
  const found = new Map<string, Resource>();
  const open: Resource[] = [trigger];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const { key: { kind, project, name } } of needsOf(next, proposed.kinds)) {
      const used = OF_TASKS.has(kind) ? proposed.find(kind, project, name) : undefined;
      if (used === undefined || found.has(keyOf(used))) continue;
      found.set(keyOf(used), used);
      open.push(used);
    }
  }
  return [...found.values()];
}

/** The reads of a resource that is applied already: its lines are not known. */
function placedReads(resource: Resource, { kinds }: Catalog): PlacedRead[] {
  const { kind, project, name, spec } = resource;
  return readsOf(kinds.named(kind)?.expressions?.(spec) ?? []).map(({ at, path, trigger }) => {
    const place = `${displayName(resource)}: ${at.join(".")}: `;
    return { kind, project, name, path, field: String(at.at(-1)), place, ...defined({ trigger }) };
  });
}

/** The parts of a request to this trigger that its signature covers at most. */
function coverageOfTrigger({ project, spec }: Resource<TriggerSpec>, proposed: Catalog): Coverage {
  const { webhook = {} } = spec.event;
  const { secret, crdRef, publicUrl = "" } = webhook;
  if (secret === undefined) return COVERS_NOTHING;
  const crd = crdRef === undefined ? undefined : proposed.kinds.crd(crdRef);
  if (crd !== undefined && pluginsOf(crd.spec, "interceptor").length > 0) return COVERS_NOTHING;
  const store = proposed.find<SecretStoreSpec>("SecretStore", project, secret.fromRef);
  const { scheme, options } = schemeOf(webhook);
  const keys = store === undefined ? [] : signingKeys(store);
  const coverage = coverageOf(scheme, options, { keys });
  return publicUrl.includes("?") ? withoutQuery(coverage) : coverage;
}

function warningOf(
  { path, field }: PlacedRead,
  coverage: Coverage,
  trigger: Resource<TriggerSpec>,
): string | undefined {
  const [variable, ...fields] = path;
  const name = nameOf(path);
  const by = `${displayName(trigger)} covers ${covered(coverage)}`;
  if (variable === "signed") {
    const [part] = fields;
    if (part === undefined || isCovered(fields, coverage) !== false) return undefined;
    return `${name} is never there: the signature of ${by}`;
  }
  if (!coversPayload(coverage) || isCovered(path, coverage) !== false) return undefined;
  if (variable === "payload" && fields.length === 0) return undefined; // for what is signed of it
  return `${name} is not signed, the signature of ${by}: anyone with one signed request can ` +
    `send it again with another value. ${advice(path, field)}, or write ` +
    `unsigned.${name} if that does no harm`;
}

function advice([variable]: PlacedRead["path"], field: string): string {
  if (variable === "method") return "Leave it out, only POST starts a task";
  const decides = ["condition", "when", "if"].includes(field);
  if (variable === "remote") {
    return decides ? "Let allowFrom decide by the address" : "Leave it out";
  }
  if (field === "idempotencyKey") return "Leave idempotencyKey out, set dedup: bytes";
  if (variable.startsWith("payload")) return "Read a field that is signed";
  return decides ? "Decide by the payload" : "Take a field of the payload";
}

/** The covered parts, in words. */
function covered({ payload, headers, query, method }: Coverage): string {
  const parts = [
    ...payload === "all" ? ["payload"] : payload.map((name) => `payload.${name}`),
    ...headers === "all" ? ["headers"] : headers.map((name) => `headers["${name}"]`),
    ...query ? ["query"] : [],
    ...method ? ["method"] : [],
  ];
  return parts.join(", ") || "nothing that an expression reads";
}

/** A value as it is written in an expression, shortened to its first fields. */
function nameOf([variable, ...fields]: PlacedRead["path"]): string {
  const shown = variable === "signed" ? 2 : 1;
  return fields.slice(0, shown).reduce(
    (name, field) =>
      /^[A-Za-z_]\w*$/.test(field) && !name.endsWith("headers")
        ? `${name}.${field}`
        : `${name}["${field}"]`,
    variable as string,
  );
}
