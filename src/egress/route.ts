/**
 * Where a request of a step goes, by the rules of its sandbox: through a tunnel, to a plain HTTP server,
 * to an API with a key, or nowhere. Pure.
 *
 * @module
 */

import { parseAuthority } from "../base/authority.ts";
import type { HostRule } from "../resources/host_rule.ts";
import type { Injection, NetworkRules } from "../resources/network.ts";
import { requestFraming, type RequestHead, valuesOf } from "./head.ts";
import { EGRESS_PORT, injectionAt } from "./inside.ts";

/** A host and its port, as a request named them. */
export interface Destination {
  /** Name in lower case, or an address in its one form. */
  readonly host: string;
  readonly isAddress: boolean;
  readonly port: number;
}

/** Where a request goes. */
export type Route =
  | { readonly to: "tunnel"; readonly destination: Destination }
  /** A tunnel to an injection: what comes through it is a request to that injection. */
  | { readonly to: "injection tunnel"; readonly index: number }
  | { readonly to: "server"; readonly destination: Destination; readonly target: string }
  | { readonly to: "injection"; readonly index: number; readonly target: string }
  | Refusal;

/** A request that goes nowhere. */
export interface Refusal {
  readonly to: "nowhere";
  /** 400: not understood; 403: not allowed; 421: this is no proxy for such a request. */
  readonly status: 400 | 403 | 421;
  /** What was asked for, if it was understood: a host with its port, or an API. */
  readonly what?: string;
  /** For 400 and 421: why, as the end of a sentence. */
  readonly why?: string;
  /** The path that an injection does not allow. */
  readonly path?: string;
}

/** Methods that go to an injection. TRACE is none: its answer is the request, with the key in it. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Methods that echo a request or mean a tunnel, whatever the server. */
const NEVER_PASSED = new Set(["TRACE", "TRACK", "CONNECT"]);

/** `HOST:PORT`, as rules and messages write it. */
export function written({ host, port }: Pick<Destination, "host" | "port">): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * The route of a request. `within` is the injection whose tunnel it came through: then it goes there or
 * nowhere.
 */
export function route(head: RequestHead, rules: NetworkRules, within?: number): Route {
  if (valuesOf(head, "host").length > 1) return misread("it has Host twice");
  if (head.method === "CONNECT") return routeTunnel(head, rules, within);
  if (head.target.includes("#")) return misread("its target has a fragment");
  const asked = askedFor(head);
  if (typeof asked === "string") return misread(asked);
  const { destination, target, isProxied } = asked;
  const index = injectionOf(destination, rules);
  if (within !== undefined && index !== within) return misdirected(destination);
  if (index !== undefined) return routeInjection(head.method, index, target, rules);
  if (!isProxied) return misdirected(destination);
  if (NEVER_PASSED.has(head.method)) return misread("its method is not passed on");
  return isAllowed(destination, rules.allow)
    ? { to: "server", destination, target }
    : { to: "nowhere", status: 403, what: written(destination) };
}

function routeTunnel(head: RequestHead, rules: NetworkRules, within?: number): Route {
  if (within !== undefined) return misread("it asks for a tunnel within a tunnel");
  const framing = requestFraming(head);
  if (framing.by !== "length" || framing.length > 0) return misread("CONNECT has no body");
  const destination = parseAuthority(head.target);
  if (destination === undefined) return misread("the target of CONNECT is not HOST:PORT");
  const index = injectionOf(destination, rules);
  if (index !== undefined) return { to: "injection tunnel", index };
  return isAllowed(destination, rules.allow)
    ? { to: "tunnel", destination }
    : { to: "nowhere", status: 403, what: written(destination) };
}

/** What a request that is no CONNECT asks for; a text says why that cannot be told. */
function askedFor(
  head: RequestHead,
): { destination: Destination; target: string; isProxied: boolean } | string {
  const [host] = valuesOf(head, "host");
  if (host === undefined && head.minor === 1) return "it has no Host";
  const [, scheme, authority, rest = ""] =
    /^([a-z][a-z0-9+.-]*):\/\/([^/?]*)(.*)$/is.exec(head.target) ?? [];
  if (scheme !== undefined && authority !== undefined) {
    if (scheme.toLowerCase() !== "http") {
      return "only http:// is passed on, everything else needs CONNECT";
    }
    const destination = parseAuthority(authority, 80);
    if (destination === undefined) return "its URL has no valid host";
    const target = rest.startsWith("/") ? rest : `/${rest}`;
    return { destination, target, isProxied: true };
  }
  if (!head.target.startsWith("/")) return "its target is neither a URL nor a path";
  const destination = host === undefined ? undefined : parseAuthority(host, 80);
  if (destination === undefined) return "its Host is no host";
  return { destination, target: head.target, isProxied: false };
}

function injectionOf({ host, port }: Destination, { inject }: NetworkRules): number | undefined {
  const index = port === EGRESS_PORT ? injectionAt(host) : undefined;
  return index !== undefined && index < inject.length ? index : undefined;
}

function routeInjection(
  method: string,
  index: number,
  target: string,
  { inject }: NetworkRules,
): Route {
  const injection = inject[index];
  if (injection === undefined) throw new Error("no such injection");
  const what = injection.origin;
  if (!METHODS.has(method)) return { ...misread("its method is not passed on"), what };
  const path = target.replace(/\?.*$/s, "");
  if (isLimited(injection) && !isUnambiguous(path)) {
    return { ...misread("servers could read its path in more than one way"), what };
  }
  return allowsPath(injection, path)
    ? { to: "injection", index, target }
    : { to: "nowhere", status: 403, what, path };
}

/** Whether the rules allow a host. An address is allowed only where it is written as one. */
export function isAllowed(
  { host, isAddress, port }: Destination,
  allow: readonly HostRule[],
): boolean {
  return allow.some((rule) => {
    if (!rule.ports.includes(port) || isAddress !== (rule.matches === "address")) return false;
    return rule.matches === "subdomains" ? host.endsWith(`.${rule.host}`) : host === rule.host;
  });
}

function isLimited({ base, paths }: Injection): boolean {
  return base !== "" || paths !== undefined;
}

/** Whether an injection reaches this path, which is unambiguous if the injection has limits. */
function allowsPath({ base, paths }: Injection, path: string): boolean {
  if (base !== "" && !isBelow(path, base) && path !== base) return false;
  return paths === undefined ||
    paths.some((allowed) =>
      allowed.endsWith("/*") ? isBelow(path, allowed.slice(0, -2)) : path === allowed
    );
}

function isBelow(path: string, above: string): boolean {
  return path.startsWith(`${above}/`) && path.length > above.length + 1;
}

/**
 * Whether every server reads a path alike: no segment of dots, no empty one but the last, no parameters
 * of segments, nothing encoded that separates segments, or could be decoded twice.
 */
function isUnambiguous(path: string): boolean {
  return /^(\/([A-Za-z0-9._~!$&'()*+,=:@-]|%[2-9A-Fa-f][0-9A-Fa-f])+)*\/?$/.test(path) &&
    !/%(2[5EeFf]|5[Cc]|3[Bb]|7[Ff])/.test(path) &&
    !/\/\.+(\/|$)/.test(path);
}

function misread(why: string): Refusal {
  return { to: "nowhere", status: 400, why };
}

function misdirected(destination: Destination): Refusal {
  return {
    to: "nowhere",
    status: 421,
    why: `nothing is served at ${written(destination)} here: use the proxy, or an injected address`,
  };
}
