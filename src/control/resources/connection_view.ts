/**
 * The state of Connections in `svc get` and `svc describe`: columns and `status`.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import { endpointsOf, signingStoresAt } from "../../connections/endpoints.ts";
import type { SocketState, SocketStates } from "../../connections/slack/socket_mode.ts";
import type { KeyUses } from "../../intake/pipeline/key_uses.ts";
import type { Catalog } from "../../resources/catalog.ts";
import {
  connection as kind,
  type ConnectionSpec,
  repairEverySecs,
} from "../../resources/connection.ts";
import type { Column } from "../../resources/kind.ts";
import type { Resource } from "../../resources/resource.ts";
import type { ConnectionState } from "../../store/connection_records.ts";
import type { ConnectionStore } from "../../store/connection_store.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";
import { nothingKnown } from "../../store/rules/connection_news.ts";

/** The Connections of a daemon, and their recorded states. */
export interface ConnectionViewHost {
  readonly catalog: Catalog;
  readonly keyUses: KeyUses;
  readonly store: ConnectionStore & KeyUseStore;
  /** The sockets of Connections that use Socket Mode, open or not. */
  readonly sockets: SocketStates;
}

/** The recorded state of a Connection, and its socket. */
export interface KnownConnection extends ConnectionState {
  /** Absent for a Connection without Socket Mode. */
  readonly socket?: SocketState;
}

/** By Connection; resources of other kinds are not in it. */
export type KnownConnections = ReadonlyMap<Resource, KnownConnection>;

/** A token that ends within this time is reported. */
const TOKEN_ENDS_SOON_MS = 7 * 24 * 3600 * 1000;

/** Reads the states of those of the resources that are Connections. */
export async function knownConnections(
  resources: readonly Resource[],
  host: ConnectionViewHost,
): Promise<KnownConnections> {
  const connections = resources.filter((one) => one.kind === kind.kind);
  if (connections.length === 0) return new Map();
  await host.keyUses.flush();
  const states = await host.store.listConnectionStates();
  const known = connections.map(async (resource) => {
    const { project, name, createdAt } = resource;
    const state = states.find((one) =>
      one.project === project && one.name === name && one.createdAt === createdAt
    ) ?? nothingKnown({ project, name, createdAt });
    const requestAt = await lastRequestAt(resource as Resource<ConnectionSpec>, host);
    const socket = host.sockets.stateOf(resource);
    const lastEventAt = Math.max(state.lastEventAt ?? 0, requestAt, socket?.lastEventAt ?? 0);
    const known = lastEventAt === 0 ? state : { ...state, lastEventAt };
    return [resource, socket === undefined ? known : { ...known, socket }] as const;
  });
  return new Map(await Promise.all(known));
}

/**
 * When a secret of the Connection, which at a forge has its name, last verified an event; 0 for
 * never.
 */
async function lastRequestAt(
  { name, project, spec }: Resource<ConnectionSpec>,
  { catalog, store }: ConnectionViewHost,
): Promise<number> {
  const stores = endpointsOf(spec).flatMap((endpoint) =>
    signingStoresAt({ project, endpoint }, catalog)
  );
  const uses = await Promise.all([...new Set(stores)].map((one) => store.listKeyUse(project, one)));
  const own = uses.flat().filter(({ key }) => spec.github === undefined || key === name);
  return Math.max(0, ...own.map(({ lastAt }) => lastAt));
}

/** The columns of Connections beside those of their kind; none for other kinds. */
export function connectionColumns(
  what: string,
  known: KnownConnections,
  now: number,
): readonly Column<Resource>[] {
  if (what !== kind.kind) return [];
  const age = (at: number | undefined) =>
    at === undefined ? "-" : `${shortDuration(Math.max(0, now - at))} ago`;
  const cell =
    (show: (state: KnownConnection, resource: Resource) => string) => (resource: Resource) => {
      const state = known.get(resource);
      return state === undefined ? "" : show(state, resource);
    };
  return [
    { header: "LAST-EVENT", cell: cell(({ lastEventAt }) => age(lastEventAt)) },
    { header: "LAST-REPAIR", wide: true, cell: cell((state, one) => repairText(state, one, age)) },
    { header: "GAPS", cell: cell(gapsText) },
    {
      header: "TOKEN-ENDS",
      wide: true,
      cell: cell(({ tokenEndsAt }) => tokenEndsAt === undefined ? "-" : endText(tokenEndsAt, now)),
    },
    { header: "STATUS", fit: "text", cell: cell((state) => statusText(state, now)) },
  ];
}

function repairText(
  { repairedAt }: ConnectionState,
  resource: Resource,
  age: (at: number | undefined) => string,
): string {
  return repairEverySecs(resource.spec as ConnectionSpec) === undefined ? "off" : age(repairedAt);
}

function gapsText({ repaired, lost }: ConnectionState): string {
  const parts = [
    ...(lost > 0 ? [`${lost} lost`] : []),
    ...(repaired > 0 ? [`${repaired} repaired`] : []),
  ];
  return parts.length === 0 ? "none" : parts.join(", ");
}

function endText(at: number, now: number): string {
  return at > now ? `in ${shortDuration(at - now)}` : `${shortDuration(now - at)} ago`;
}

/**
 * The state of a Connection in a few words: its fault, a token that expires soon, `connecting` or
 * `ok`.
 */
export function statusText({ fault, tokenEndsAt, socket }: KnownConnection, now: number): string {
  const wrong = socket === undefined ? fault : socket.problem;
  if (wrong !== undefined) return wrong;
  if (socket !== undefined && socket.connectedSince === undefined) return "connecting";
  if (tokenEndsAt === undefined || tokenEndsAt - now > TOKEN_ENDS_SOON_MS) return "ok";
  return tokenEndsAt > now
    ? `the token expires ${endText(tokenEndsAt, now)}`
    : "the token has expired";
}

/** The `status` of a Connection; empty for other kinds. */
export function connectionStatus(
  resource: Resource,
  known: KnownConnections,
): Record<string, unknown> {
  const state = known.get(resource);
  if (state === undefined) return {};
  const time = (at: number | undefined) => at === undefined ? null : rfc3339(at);
  return {
    login: state.login ?? null,
    user_id: state.userId ?? null,
    token_expires_at: time(state.tokenEndsAt),
    last_event_at: time(state.lastEventAt),
    last_repair_at: time(state.repairedAt),
    events_repaired: state.repaired,
    events_lost: state.lost,
    gaps: state.gaps.map(({ from, to, repaired, lost, reason }) => (
      { from: rfc3339(from), to: rfc3339(to), repaired, lost, reason }
    )),
    ...(state.socket === undefined ? {} : { connected_since: time(state.socket.connectedSince) }),
    fault: state.fault ?? null,
    fault_since: time(state.faultSince),
  };
}
