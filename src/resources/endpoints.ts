/**
 * The endpoints that webhook triggers take requests at, and which triggers may share one: a request
 * is checked and read once for all of them, so they have to agree on how. Pure.
 *
 * @module
 */

import { sameJson } from "../base/json.ts";
import { meantScheme } from "../platforms/schemes.ts";
import type { WebhookSpec } from "./event_webhook.ts";

/** A trigger, as far as its endpoint goes. */
export interface EndpointTrigger {
  readonly project: string;
  readonly name: string;
  /** Its `spec`, of which only the source and that block matter. */
  readonly spec: {
    readonly event: { readonly source: string; readonly webhook?: WebhookSpec | undefined };
  };
}

/**
 * What each field of `spec.event.webhook` is about: who may send (`sender`), how a body is read
 * (`body`), or what the trigger itself does with an event (`own`). A new field has to be one of them.
 */
const ABOUT: { readonly [Field in keyof Required<WebhookSpec>]: "sender" | "body" | "own" } = {
  secret: "sender",
  scheme: "sender",
  signatureHeader: "sender",
  hmac: "sender",
  toleranceSecs: "sender",
  crdRef: "sender",
  allowUnsigned: "sender",
  allowFrom: "sender",
  publicUrl: "sender",
  body: "body",
  endpoint: "own",
  connection: "own",
  from: "own",
  dedup: "own",
  idempotencyKey: "own",
  recordRejected: "own",
  rateLimit: "own",
  debounce: "own",
  slack: "own",
};

const FIELDS = Object.keys(ABOUT) as readonly (keyof WebhookSpec)[];
const SHARED = FIELDS.filter((field) => ABOUT[field] !== "own");
const OF_SENDER = FIELDS.filter((field) => ABOUT[field] === "sender");

/** Everything in a webhook's settings that decides who may send, in a fixed order. */
export function senderSettings(webhook: WebhookSpec): readonly unknown[] {
  return OF_SENDER.map((field) => webhook[field]);
}

/** The endpoint of a trigger; `undefined` where its source is not `webhook`. */
export function endpointOf(
  { name, spec }: Pick<EndpointTrigger, "name" | "spec">,
): string | undefined {
  const { source, webhook } = spec.event;
  return source === "webhook" ? webhook?.endpoint ?? name : undefined;
}

/**
 * Triggers of one endpoint with those first that name their scheme: the first one's settings check the
 * requests of all, and `auto` takes `sha256=<hex>` beside the form of the platform.
 */
export function strictestFirst<Trigger extends EndpointTrigger>(
  triggers: readonly Trigger[],
): readonly Trigger[] {
  const isAuto = ({ spec: { event: { webhook } } }: Trigger) =>
    (webhook?.scheme ?? "auto") === "auto";
  return [...triggers.filter((one) => !isAuto(one)), ...triggers.filter(isAuto)];
}

/** The name of an endpoint within all projects, for maps. */
export function endpointKey({ project, name }: { project: string; name: string }): string {
  return `${project}\n${name}`;
}

/** Triggers by their endpoint ({@linkcode endpointKey}), in the order given. */
export function byEndpoint<Trigger extends EndpointTrigger>(
  triggers: readonly Trigger[],
): ReadonlyMap<string, readonly Trigger[]> {
  const groups = new Map<string, Trigger[]>();
  for (const trigger of triggers) {
    const name = endpointOf(trigger);
    if (name === undefined) continue;
    const key = endpointKey({ project: trigger.project, name });
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [trigger]);
    else group.push(trigger);
  }
  return groups;
}

/** Why two triggers of a project cannot have the endpoints they have; `undefined` where they can. */
export function endpointFault(one: EndpointTrigger, other: EndpointTrigger): string | undefined {
  const [endpoint, second] = [endpointOf(one), endpointOf(other)];
  if (endpoint === undefined || second === undefined) return undefined;
  if (endpoint !== second) return takenName(one, other) ?? takenName(other, one);
  const [a = {}, b = {}] = [one.spec.event.webhook, other.spec.event.webhook];
  const field = differingField(a, b);
  if (field === undefined) return undefined;
  return `Triggers "${one.name}" and "${other.name}" share the endpoint "${endpoint}" and differ ` +
    `in "${field}": a request there is checked and read once, in one way, so write the same in ` +
    "both, or give one of them another endpoint";
}

/** The first field by which requests would be checked or read in another way, however it is written. */
function differingField(a: WebhookSpec, b: WebhookSpec): keyof WebhookSpec | undefined {
  const [one, other] = [a, b].map(({ scheme, signatureHeader }) =>
    meantScheme(scheme, signatureHeader)
  );
  const isSameScheme = sameJson(one, other);
  return SHARED.find((name) =>
    !sameJson(a[name], b[name]) && !(isSameScheme && SCHEME_FIELDS.has(name))
  );
}

/** The fields that together say how a request is signed. */
const SCHEME_FIELDS: ReadonlySet<keyof WebhookSpec> = new Set(["scheme", "signatureHeader"]);

function takenName(one: EndpointTrigger, { name, spec }: EndpointTrigger): string | undefined {
  if (endpointOf(one) !== name) return undefined;
  return `Trigger "${one.name}" has the endpoint "${name}", and that is the name of Trigger ` +
    `"${name}", which has the endpoint "${endpointOf({ name, spec })}": the address of a ` +
    "trigger's own name fires that trigger, so choose another endpoint";
}

/**
 * Why the triggers at one endpoint cannot take requests there; `named` is the trigger whose name that
 * is, whatever its own endpoint. `undefined` where they can.
 */
export function faultAt(
  [first, ...others]: readonly EndpointTrigger[],
  named: EndpointTrigger | undefined,
): string | undefined {
  if (first === undefined) return undefined;
  return (named === undefined ? others : [...others, named])
    .map((other) => endpointFault(first, other)).find((fault) => fault !== undefined);
}

/** A trigger of an input, and where its endpoint stands in it. */
export interface StatedEndpoint {
  readonly project: string;
  readonly name: string;
  /** Beginning of an error: `FILE:LINE:COLUMN: path.to.field: `. */
  readonly place: string;
}

/**
 * What is wrong with the endpoints of `stated` triggers among all that there would be then: the first
 * fault of each, for one mistake is one with every trigger there. Faults among others are no matter of who applies something else.
 */
export function endpointErrors(
  stated: readonly StatedEndpoint[],
  triggers: readonly EndpointTrigger[],
): string[] {
  if (stated.length === 0) return [];
  const groups = byEndpoint(triggers);
  const named = new Map(triggers.map((trigger) => [endpointKey(trigger), trigger]));
  const errors = new Map<string, string>();
  for (const { project, name, place } of stated) {
    const own = named.get(endpointKey({ project, name }));
    const endpoint = own === undefined ? undefined : endpointOf(own);
    if (own === undefined || endpoint === undefined) continue;
    const others = [
      ...groups.get(endpointKey({ project, name: endpoint })) ?? [],
      named.get(endpointKey({ project, name: endpoint })) ?? own,
      ...groups.get(endpointKey({ project, name })) ?? [],
    ];
    const fault = others
      .map((other) => other.name < name ? endpointFault(other, own) : endpointFault(own, other))
      .find((found) => found !== undefined);
    if (fault !== undefined && !errors.has(fault)) errors.set(fault, `${place}${fault}`);
  }
  return [...errors.values()];
}
