/**
 * Webhooks of the fake GitHub: creation, pings, the log of deliveries, redeliveries, and the signed
 * events that it posts.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { type FakeState, page, problem, type Route, type RouteRequest } from "./github.ts";

export interface FakeHook {
  readonly id: number;
  /** `repos/OWNER/NAME`, `orgs/NAME`, or `app/SLUG`. */
  readonly of: string;
  readonly name: string;
  active: boolean;
  events: readonly string[];
  config: { url: string; content_type: string; secret?: string; insecure_ssl: string };
}

/** One attempt to deliver an event, as the log shows it. */
export interface FakeTry {
  readonly id: string;
  readonly hook: number;
  readonly guid: string;
  readonly delivered_at: string;
  readonly redelivery: boolean;
  /** 0 if the server could not be reached. */
  readonly status_code: number;
  readonly status: string;
  readonly event: string;
  readonly action: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The body that was sent. */
  readonly payload: string;
  readonly answer: string;
}

/** An event to send. */
export interface FakeEvent {
  readonly event: string;
  /** Text of its JSON. */
  readonly payload: string;
  readonly guid?: string;
  /** Whether the event is only logged, as a failed connection. */
  readonly lost?: boolean;
}

/** The result of {@linkcode hookRoutes}. */
export type HookRoutes = ReturnType<typeof hookRoutes>;

/** The routes of webhooks, and functions for tests. */
export function hookRoutes(state: FakeState) {
  const hooks = new Map<number, FakeHook>();
  const tries: FakeTry[] = []; // newest last
  const busy = new Set<Promise<FakeTry>>();
  const deliver = (hook: FakeHook, given: FakeEvent, redelivery = false): Promise<FakeTry> => {
    const trying: Promise<FakeTry> = attempt(hook, given, redelivery)
      .finally(() => busy.delete(trying));
    busy.add(trying);
    return trying;
  };
  const attempt = async (
    hook: FakeHook,
    given: FakeEvent,
    redelivery: boolean,
  ): Promise<FakeTry> => {
    const { event, payload, guid = crypto.randomUUID() } = given;
    const headers = headersOf(hook, { event, payload, guid });
    const answer = given.lost === true || !hook.active
      ? { status: 0, text: "" }
      : await post(hook.config.url, headers, payload);
    const action: unknown = JSON.parse(payload)?.action;
    const made: FakeTry = {
      // Larger than a double can hold, as the ids of GitHub are.
      id: `90071992547${String(state.nextId()).padStart(8, "0")}`,
      hook: hook.id,
      guid,
      delivered_at: state.now(),
      redelivery,
      status_code: answer.status,
      status: answer.status === 0
        ? "failed to connect to host"
        : answer.status < 300
        ? "OK"
        : "Invalid HTTP Response",
      event,
      action: typeof action === "string" ? action : null,
      headers,
      payload,
      answer: answer.text,
    };
    tries.push(made);
    return made;
  };
  return {
    hooks,
    tries,
    deliver,
    /** Whether the App of a webhook is installed on a repository. */
    isInstalled: undefined as ((hook: FakeHook, repository: string) => boolean) | undefined,
    /** Resolves when nothing is being sent. */
    async rest(): Promise<void> {
      while (busy.size > 0) await Promise.all(busy);
    },
    /** Sends an event to each active webhook of a repository that wants it. */
    async send(repository: string, event: FakeEvent): Promise<FakeTry[]> {
      const wanting = [...hooks.values()].filter((hook) =>
        ([`repos/${repository}`, `orgs/${repository.split("/")[0]}`].includes(hook.of) ||
          hook.of.startsWith("app/") && this.isInstalled?.(hook, repository) === true) &&
        hook.active &&
        (hook.events.includes("*") || hook.events.includes(event.event))
      );
      const guid = event.guid ?? crypto.randomUUID();
      return await Promise.all(wanting.map((hook) => deliver(hook, { ...event, guid })));
    },
    routes: routesOf({ state, hooks, tries, deliver }),
  };
}

function headersOf(
  hook: FakeHook,
  { event, payload, guid }: Required<Pick<FakeEvent, "event" | "payload" | "guid">>,
): Record<string, string> {
  const { secret } = hook.config;
  const signature = secret === undefined ? {} : {
    "X-Hub-Signature-256": `sha256=${createHmac("sha256", secret).update(payload).digest("hex")}`,
  };
  return {
    "Accept": "*/*",
    "Content-Type": "application/json",
    "User-Agent": "GitHub-Hookshot/fake",
    "X-GitHub-Delivery": guid,
    "X-GitHub-Event": event,
    "X-GitHub-Hook-ID": `${hook.id}`,
    ...signature,
  };
}

async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual" });
    return { status: response.status, text: await response.text() };
  } catch {
    return { status: 0, text: "" };
  }
}

interface Parts {
  readonly state: FakeState;
  readonly hooks: Map<number, FakeHook>;
  readonly tries: FakeTry[];
  readonly deliver: (hook: FakeHook, event: FakeEvent, redelivery?: boolean) => Promise<FakeTry>;
}

const OF = "(repos/[^/]+/[^/]+|orgs/[^/]+)";
const ALL = new RegExp(`^/${OF}/hooks$`);
const ONE = new RegExp(`^/${OF}/hooks/([0-9]+)$`);
const PINGS = new RegExp(`^/${OF}/hooks/([0-9]+)/pings$`);
const LOG = new RegExp(`^/${OF}/hooks/([0-9]+)/deliveries$`);
const LOGGED = new RegExp(`^/${OF}/hooks/([0-9]+)/deliveries/([0-9]+)$`);
const ATTEMPTS = new RegExp(`^/${OF}/hooks/([0-9]+)/deliveries/([0-9]+)/attempts$`);
const READ = "repository_hooks=read";
const WRITE = "repository_hooks=write";

function routesOf({ state, hooks, tries, deliver }: Parts): readonly Route[] {
  const isThere = (of: string) =>
    of.startsWith("orgs/") || state.repositories.has(of.slice("repos/".length));
  /** Gives a route the webhook of its path; 404 if there is none. */
  const withHook =
    (answer: (hook: FakeHook, request: RouteRequest) => Response | Promise<Response>) =>
    (request: RouteRequest) => {
      const [of, id] = request.match;
      const hook = hooks.get(Number(id));
      return hook === undefined || hook.of !== of
        ? problem(404, "Not Found")
        : answer(hook, request);
    };
  const ping = (hook: FakeHook) =>
    deliver(hook, {
      event: "ping",
      payload: JSON.stringify({ zen: "Keep it logically awesome.", hook_id: hook.id }),
    });
  return [
    {
      method: "GET",
      path: ALL,
      needs: READ,
      answer: (request) => {
        const [of = ""] = request.match;
        if (!isThere(of)) return problem(404, "Not Found");
        const found = [...hooks.values()].filter((hook) => hook.of === of).map(shown);
        return page(found, request, `/${of}/hooks`);
      },
    },
    {
      method: "POST",
      path: ALL,
      needs: WRITE,
      answer({ match: [of = ""], body }) {
        if (!isThere(of)) return problem(404, "Not Found");
        const config = body["config"] as FakeHook["config"];
        const events = (body["events"] ?? ["push"]) as string[];
        const same = [...hooks.values()].find((hook) =>
          hook.of === of && hook.config.url === config.url &&
          hook.events.some((event) => events.includes(event))
        );
        if (same !== undefined) {
          const error = {
            resource: "Hook",
            code: "custom",
            message: "Hook already exists on this repository",
          };
          return problem(422, "Validation Failed", {}, [error]);
        }
        const active = body["active"] !== false;
        const hook: FakeHook = { id: state.nextId(), of, name: "web", active, events, config };
        hooks.set(hook.id, hook);
        ping(hook); // GitHub sends a ping, too
        return Response.json(shown(hook), { status: 201 });
      },
    },
    {
      method: "GET",
      path: ONE,
      needs: READ,
      answer: withHook((hook) => Response.json(shown(hook))),
    },
    {
      method: "PATCH",
      path: ONE,
      needs: WRITE,
      answer: withHook((hook, { body }) => {
        if (body["config"] !== undefined) hook.config = body["config"] as FakeHook["config"];
        if (body["events"] !== undefined) hook.events = body["events"] as string[];
        if (body["active"] !== undefined) hook.active = body["active"] === true;
        return Response.json(shown(hook));
      }),
    },
    {
      method: "DELETE",
      path: ONE,
      needs: WRITE,
      answer: withHook((hook) => {
        hooks.delete(hook.id);
        return new Response(null, { status: 204 });
      }),
    },
    {
      method: "POST",
      path: PINGS,
      needs: READ,
      answer: withHook((hook) => {
        ping(hook);
        return new Response(null, { status: 204 });
      }),
    },
    {
      method: "GET",
      path: LOG,
      needs: READ,
      answer: withHook((hook, request) => {
        const found = tries.filter((one) => one.hook === hook.id).reverse();
        const etag = `W/"${found.length}-${found[0]?.id}"`;
        if (request.headers.get("if-none-match") === etag) {
          return new Response(null, { status: 304 });
        }
        const answer = page(found.map(summary), request, `/${hook.of}/hooks/${hook.id}/deliveries`);
        if (!request.query.has("cursor")) answer.headers.set("etag", etag);
        return raw(answer);
      }),
    },
    {
      method: "GET",
      path: LOGGED,
      needs: READ,
      answer: withHook((_hook, { match: [, , id] }) => {
        const found = tries.find((one) => one.id === id);
        return found === undefined ? problem(404, "Not Found") : logged(found);
      }),
    },
    {
      method: "POST",
      path: ATTEMPTS,
      needs: WRITE,
      answer: withHook((hook, { match: [, , id] }) => {
        const found = tries.find((one) => one.id === id);
        if (found === undefined) return problem(404, "Not Found");
        const { event, payload, guid } = found;
        deliver(hook, { event, payload, guid }, true);
        return Response.json({}, { status: 202 });
      }),
    },
  ];
}

/** A webhook as the API shows it, without its secret. */
export function shown({ id, name, active, events, config }: FakeHook) {
  const { secret, ...rest } = config;
  return {
    id,
    name,
    active,
    events,
    config: secret === undefined ? rest : { ...rest, secret: "********" },
    last_response: { code: null, status: "unused", message: null },
  };
}

/** A try as the list of the log shows it. */
export function summary(
  { headers: _headers, payload: _payload, answer: _answer, hook: _hook, ...one }: FakeTry,
) {
  return { ...one, duration: 0.05, installation_id: null, repository_id: 1, throttled_at: null };
}

/** Writes ids as JSON numbers, which are too large for a double. */
export async function raw(answer: Response): Promise<Response> {
  const text = (await answer.text()).replaceAll(/"id":"([0-9]+)"/g, '"id":$1');
  return new Response(text, { headers: answer.headers });
}

/** One attempt with its request and the exact body. */
export function logged(one: FakeTry): Promise<Response> {
  const request = `{"headers":${JSON.stringify(one.headers)},"payload":${one.payload}}`;
  const response = JSON.stringify({ headers: {}, payload: one.answer });
  const rest = JSON.stringify({ ...summary(one), url: "" }).slice(0, -1);
  const text = `${rest},"request":${request},"response":${response}}`;
  return raw(new Response(text, { headers: { "content-type": "application/json" } }));
}
