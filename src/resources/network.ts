/**
 * `network` of a sandbox: which hosts a step reaches, and which APIs it reaches with a key that the
 * daemon adds. Its schema, its checks, and the parsed form that `egress/` serves.
 *
 * @module
 */

import Type from "typebox";
import { parseAuthority } from "../base/authority.ts";
import { isLocalIp, isNoHost } from "../base/ip_address.ts";
import { FromSecret, VARIABLE_NAME } from "./env.ts";
import { explainHost, type HostRule, isLocalName, localName, parseHostRule } from "./host_rule.ts";
import type { Reference } from "./kind.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

const CLOSED = { additionalProperties: false };

/** Most entries of `allow`, and of `inject`: each of the latter has a loopback address of its own. */
const [MAX_ALLOWED, MAX_INJECTED] = [200, 50];

const HeaderValue = Type.Union([
  Type.String(),
  Type.Object({ prefix: Type.Optional(Type.String()), ...FromSecret.properties }, CLOSED),
], {
  title: 'text, or {fromSecret: {store: NAME, key: KEY}}, with prefix: "Bearer " where needed',
});

const Injection = Type.Object({
  url: Type.String({ title: "the base URL of an API, such as https://api.example.com" }),
  env: Type.String({ title: "the variable that gets the base URL inside, such as API_BASE_URL" }),
  headers: Type.Optional(Type.Record(Type.String(), HeaderValue, {
    title: "a mapping of header names to values",
  })),
  paths: Type.Optional(Type.Array(Type.String(), {
    minItems: 1,
    maxItems: 100,
    title: "a list of paths, such as /v1/messages, or /v1/models/* for all below",
  })),
}, CLOSED);

const Rules = Type.Object({
  allow: Type.Optional(Type.Array(Type.String(), {
    maxItems: MAX_ALLOWED,
    title: `a list of hosts (at most ${MAX_ALLOWED}), such as github.com or *.github.com`,
  })),
  inject: Type.Optional(Type.Array(Injection, { maxItems: MAX_INJECTED })),
}, CLOSED);

const WORDS = ["none", "all"] as const;

/** `network` as written by the user. */
export type Network = typeof WORDS[number] | Type.Static<typeof Rules>;
/** A header that the daemon adds: a text, or a secret behind a prefix. */
export type HeaderValue = Type.Static<typeof HeaderValue>;

/**
 * Schema of `network`. A text and a mapping are checked by keywords of one schema, not by a union: of a
 * value that fits no member of a union, the validator could not say which field of it is wrong.
 */
export const Network = Type.Unsafe<Network>({
  ...Rules,
  type: ["string", "object"],
  pattern: `^(${WORDS.join("|")})$`,
  title: "none, all, or {allow: [HOST, …], inject: [{url, env, headers}, …]}",
});

/** One entry of `inject`, parsed. Its place in the list tells its address inside the sandbox. */
export interface Injection {
  /** Whether the way to the API is encrypted; only to local addresses it may not be. */
  readonly secure: boolean;
  /** Name in lower case, or an address as `canonicalIp` has it. */
  readonly host: string;
  readonly isAddress: boolean;
  readonly port: number;
  /** Scheme, host and port, for people: `https://api.anthropic.com`. */
  readonly origin: string;
  /** Path of the base URL, without a slash at its end: empty, or `/api/v1`. Nothing beside it is reached. */
  readonly base: string;
  readonly env: string;
  /** The headers that the daemon sets, by their names in lower case. */
  readonly headers: Readonly<Record<string, HeaderValue>>;
  /** Whole paths of the API, of which `*` stands for everything below; all when absent. */
  readonly paths?: readonly string[];
}

/** `network` of a sandbox with rules, parsed. */
export interface NetworkRules {
  readonly allow: readonly HostRule[];
  readonly inject: readonly Injection[];
}

/** The checks of a `network` at path `at` that a schema cannot express. */
export function checkNetwork(network: Network | undefined, at: FieldPath): Finding[] {
  if (typeof network !== "object") return [];
  const { allow = [], inject = [] } = network;
  if (allow.length === 0 && inject.length === 0) {
    return [errorAt(at, 'This reaches nothing: write "network: none", or name hosts in "allow"')];
  }
  const variables = inject.map(({ env }) => env);
  return [
    ...allow.flatMap((entry, index) => {
      const rule = parseHostRule(entry);
      return typeof rule === "string" ? [errorAt([...at, "allow", index], rule)] : [];
    }),
    ...inject.flatMap((entry, index) => {
      const path = [...at, "inject", index];
      const first = variables.indexOf(entry.env);
      return [
        ...checkUrl(entry.url, [...path, "url"]),
        ...checkVariable(entry.env, [...path, "env"]),
        ...first === index ? [] : [
          errorAt([...path, "env"], `"${entry.env}" is the variable of inject.${first} too`),
        ],
        ...checkHeaders(entry.headers ?? {}, [...path, "headers"]),
        ...checkPaths(entry, [...path, "paths"]),
      ];
    }),
  ];
}

function checkUrl(text: string, at: FieldPath): Finding[] {
  const url = parseBaseUrl(text);
  return typeof url === "string" ? [errorAt(at, url)] : [];
}

type BaseUrl = Omit<Injection, "env" | "headers" | "paths">;

/** The parts of a base URL; a text says what is wrong with it. */
function parseBaseUrl(text: string): BaseUrl | string {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\/[^/]/i.test(text)) {
    return "This is no base URL of an API, such as https://api.example.com";
  }
  if (url.username !== "" || url.password !== "") {
    return "A base URL has no user: put the key into a header";
  }
  if (/[?#]/.test(text)) return "A base URL has neither a query nor a fragment";
  const [, authority = "", path = ""] = /^https?:\/\/([^/]*)(.*)$/is.exec(text) ?? [];
  const secure = url.protocol === "https:";
  const found = parseAuthority(authority, secure ? 443 : 80);
  // The runtime's parser is lenient: what it had to correct could mean something else elsewhere.
  if (found === undefined) return explainHost(authority);
  const { host, isAddress, port } = found;
  if (!isAddress && isLocalName(host)) return localName(host, port);
  if (isAddress && isNoHost(host)) return "No host has this address";
  if (!secure && !(isAddress && isLocalIp(host))) {
    return "Write https://: a key would go over the network unencrypted. Only a local address, " +
      "such as http://127.0.0.1:11434, may do without";
  }
  const base = path.replace(/\/$/, "");
  if (base !== "" && !isPlainPath(base)) {
    return "The path of a base URL is written without %, //, ; and dots as a segment";
  }
  return { secure, host, isAddress, port, origin: url.origin, base };
}

/** Variables that svc sets where a network has rules. */
const PROXY_VARIABLES = new Set(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]);

function checkVariable(name: string, at: FieldPath): Finding[] {
  if (!VARIABLE_NAME.test(name)) {
    return [errorAt(at, `"${name}" is not a name of an environment variable`)];
  }
  if (name.startsWith("SVC_") || PROXY_VARIABLES.has(name.toUpperCase())) {
    return [errorAt(at, `svc sets ${name} itself: this is the variable that the agent reads`)];
  }
  return [];
}

/** Headers of a connection, not of a request, and those that the forwarder has to set. */
const OWN_HEADERS = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

/** Whether a text can be the value of a header. */
export function fitsHeader(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value) && value.trim() === value;
}

function checkHeaders(headers: Readonly<Record<string, HeaderValue>>, at: FieldPath): Finding[] {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return Object.entries(headers).flatMap(([name, value], index) => {
    const path = [...at, name];
    const lower = name.toLowerCase();
    if (!HEADER_NAME.test(name)) return [errorAt(path, "This is not a name of a header")];
    if (OWN_HEADERS.has(lower)) return [errorAt(path, `svc sets "${lower}" itself, remove it`)];
    if (names.indexOf(lower) !== index) {
      return [errorAt(path, "The names of headers ignore case: this one is here twice")];
    }
    // A prefix may end in a blank: the secret follows it.
    const text = typeof value === "string" ? value : `${value.prefix ?? ""}x`;
    return fitsHeader(text)
      ? []
      : [errorAt(path, "A header holds one line of text, without blanks around it")];
  });
}

function checkPaths(
  { url, paths = [] }: { url: string; paths?: string[] },
  at: FieldPath,
): Finding[] {
  const parsed = parseBaseUrl(url);
  const base = typeof parsed === "string" ? "" : parsed.base;
  return paths.flatMap((path, index) => {
    const where = [...at, index];
    const plain = path.endsWith("/*") ? path.slice(0, -2) : path;
    if (plain.includes("*")) {
      return [errorAt(where, 'A "*" stands only at the end, for everything below: /v1/models/*')];
    }
    if (/[?#]/.test(path)) {
      return [errorAt(where, "A path has no query: requests match with any query")];
    }
    if (!isPlainPath(plain) && !(plain === "" && path === "/*")) {
      return [errorAt(
        where,
        "A path starts with / and is written without %, //, ; and dots as a segment",
      )];
    }
    if (base !== "" && plain !== base && !plain.startsWith(`${base}/`)) {
      return [
        errorAt(where, `A path is the whole one, so it starts with that of the URL: ${base}`),
      ];
    }
    return [];
  });
}

/**
 * Whether a path means the same to every server: no segment that is empty or made of dots, nothing
 * encoded, no parameters of segments, no backslash.
 */
export function isPlainPath(path: string): boolean {
  return /^(\/[A-Za-z0-9._~!$&'()+,=:@-]+)+$/.test(path) && !/\/\.+(\/|$)/.test(path);
}

/** The SecretStores that a `network` at path `at` refers to. */
export function networkReferences(network: Network | undefined, at: FieldPath): Reference[] {
  if (typeof network !== "object") return [];
  return (network.inject ?? []).flatMap(({ headers = {} }, index) =>
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === "string" ? [] : [{
        kind: "SecretStore",
        name: value.fromSecret.store,
        secretKey: value.fromSecret.key,
        path: [...at, "inject", index, "headers", name, "fromSecret", "store"],
        consequence: "tasks that need it fail",
      }]
    )
  );
}

/** The rules of a `network` that has passed {@linkcode checkNetwork}; the words as they are. */
export function parseNetwork(network: Network): typeof WORDS[number] | NetworkRules {
  if (typeof network === "string") return network;
  const { allow = [], inject = [] } = network;
  return {
    allow: allow.map((entry) => required(parseHostRule(entry))),
    inject: inject.map(({ url, env, headers = {}, paths }) => ({
      ...required(parseBaseUrl(url)),
      env,
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      ...paths === undefined ? {} : { paths },
    })),
  };
}

/** A stored resource has passed its checks: what cannot be parsed is a bug, and nothing is allowed. */
function required<Value extends object>(parsed: Value | string): Value {
  if (typeof parsed === "string") throw new Error(`A stored network is wrong: ${parsed}`);
  return parsed;
}
