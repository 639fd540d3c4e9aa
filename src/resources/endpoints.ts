/**
 * The endpoints at which webhook triggers take requests, and which triggers may share one. A request
 * is checked and read once for all triggers of its endpoint, so these have to agree on how. Pure.
 *
 * @module
 */

import { sameJson } from "../base/json.ts";
import { meantScheme } from "../platforms/schemes.ts";
import type { WebhookSpec } from "./event_webhook.ts";

/** The fields of a trigger that its endpoint depends on. */
export interface EndpointTrigger {
  readonly project: string;
  readonly name: string;
  readonly spec: {
    readonly event: { readonly source: string; readonly webhook?: WebhookSpec | undefined };
  };
}

/**
 * The subject of each field of `spec.event.webhook`: the check of the sender (`sender`), the reading
 * of the body (`body`), or the trigger's own handling of an event (`own`). A new field needs one.
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
  own: "own",
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

/** The values of a webhook's `sender` fields, in a fixed order. */
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
 * Triggers of one endpoint, sorted so that those with a named scheme come first: the settings of the
 * first trigger check the requests of all, and `auto` accepts more, `sha256=<hex>` beside the form of
 * the platform.
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

/** Why the endpoints of two triggers of a project contradict each other; `undefined` if they do not. */
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

/** The first field whose values make the two check or read requests differently. */
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
 * Why the triggers of one endpoint cannot take requests; `undefined` if they can. `named` is the
 * trigger with the name of the endpoint, whatever its own endpoint is.
 */
export function faultAt(
  [first, ...others]: readonly EndpointTrigger[],
  named: EndpointTrigger | undefined,
): string | undefined {
  if (first === undefined) return undefined;
  return (named === undefined ? others : [...others, named])
    .map((other) => endpointFault(first, other)).find((fault) => fault !== undefined);
}

/** A trigger of an apply, and the place of its endpoint in the input. */
export interface PlacedEndpoint {
  readonly project: string;
  readonly name: string;
  /** Beginning of an error: `FILE:LINE:COLUMN: path.to.field: `. */
  readonly place: string;
}

/**
 * The faults of the endpoints of `applied` triggers among `triggers`, all that exist after the apply.
 * Only the first fault of each trigger, because one mistake is a fault with every trigger of that
 * endpoint. Faults between other triggers do not concern this apply.
 */
export function endpointErrors(
  applied: readonly PlacedEndpoint[],
  triggers: readonly EndpointTrigger[],
): string[] {
  if (applied.length === 0) return [];
  const groups = byEndpoint(triggers);
  const named = new Map(triggers.map((trigger) => [endpointKey(trigger), trigger]));
  const errors = new Map<string, string>();
  for (const { project, name, place } of applied) {
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
      .find((message) => message !== undefined);
    if (fault !== undefined && !errors.has(fault)) errors.set(fault, `${place}${fault}`);
  }
  return [...errors.values()];
}
