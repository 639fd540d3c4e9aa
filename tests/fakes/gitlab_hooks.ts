/**
 * Webhooks of the fake GitLab: both sorts of tokens, tests, the log, resending with its limit, and
 * webhooks that are switched off after failures, as GitLab's own code has it
 * (`app/services/web_hook_service.rb`, `app/models/concerns/web_hooks/auto_disabling.rb`).
 *
 * @module
 */

import { createHmac } from "node:crypto";
import {
  type FakeGitLab,
  fakeGitLab,
  type GitLabAnswer,
  type GitLabEvent,
  type GitLabOptions,
  type GitLabRequest,
  type GitLabRoute,
  type GitLabState,
  type GroupRequest,
  invalid,
  page,
  problem,
  type ProjectRequest,
  wrongParameter,
} from "./gitlab.ts";

/** A webhook. */
export interface GitLabHook {
  readonly id: number;
  /** Path of its project or group. */
  readonly of: string;
  url: string;
  token: string;
  signing_token: string;
  enable_ssl_verification: boolean;
  custom_webhook_template: string;
  /** Switches of events, by their names in the API. */
  readonly events: Record<string, boolean>;
  /** Failures in a row. */
  failures: number;
  /** Milliseconds since the epoch; 0 if it was never off. */
  disabledUntil: number;
}

/** An entry of the log. */
export interface GitLabTry {
  readonly id: number;
  readonly hook: number;
  readonly url: string;
  readonly trigger: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly status: number;
  readonly answer: string;
  readonly created_at: string;
}

/** How the fake differs from the newest GitLab. */
export interface GitLabHookOptions {
  /** Whether it knows signing tokens (GitLab 19.0); true if absent. */
  readonly signs?: boolean;
  /** Whether it has webhooks of groups (Premium); false if absent. */
  readonly groups?: boolean;
  /** Whether it can test the event of an access token; true if absent. */
  readonly testsTokens?: boolean;
  /** Resends in a minute; 5 if absent. */
  readonly resends?: number;
}

/** What becomes of a delivery on its way. */
export type GitLabWay = "sent" | "lost" | "twice";

const FLAGS = [
  "push_events",
  "tag_push_events",
  "issues_events",
  "confidential_issues_events",
  "note_events",
  "confidential_note_events",
  "merge_requests_events",
  "job_events",
  "pipeline_events",
  "wiki_page_events",
  "deployment_events",
  "releases_events",
  "emoji_events",
  "resource_access_token_events",
];
/** The switch of an event, by its header. */
const FLAG_OF: Readonly<Record<string, string>> = {
  "Push Hook": "push_events",
  "Tag Push Hook": "tag_push_events",
  "Issue Hook": "issues_events",
  "Confidential Issue Hook": "confidential_issues_events",
  "Note Hook": "note_events",
  "Confidential Note Hook": "confidential_note_events",
  "Merge Request Hook": "merge_requests_events",
  "Release Hook": "releases_events",
  "Pipeline Hook": "pipeline_events",
  "Resource Access Token Hook": "resource_access_token_events",
};
const TEMPORARY = 3;
const PERMANENT = 39;
const MINUTE = 60_000;

/** The routes of webhooks, and functions for tests. */
export function gitLabHookRoutes(state: GitLabState, options: GitLabHookOptions = {}) {
  const hooks = new Map<number, GitLabHook>();
  const tries: GitLabTry[] = []; // newest last
  const busy = new Set<Promise<unknown>>();
  const resent: number[] = [];
  const given = {
    /** Decides about each delivery that is not a test or resent. */
    wayOf: (_event: GitLabEvent, _hook: GitLabHook): GitLabWay => "sent",
  };
  const alertOf = ({ failures, disabledUntil }: GitLabHook) =>
    failures > PERMANENT
      ? "disabled"
      : failures > TEMPORARY && disabledUntil >= Date.now()
      ? "temporarily_disabled"
      : "executable";
  const shown = (hook: GitLabHook) => ({
    id: hook.id,
    url: hook.url,
    name: null,
    ...hook.events,
    enable_ssl_verification: hook.enable_ssl_verification,
    custom_webhook_template: hook.custom_webhook_template,
    alert_status: alertOf(hook),
    disabled_until: hook.disabledUntil === 0 ? null : new Date(hook.disabledUntil).toISOString(),
    url_variables: [],
    ...options.signs === false ? {} : {
      token_present: hook.token !== "",
      signing_token_present: hook.signing_token !== "",
    },
  });

  /** Sends one request, logs it, and counts failures. */
  const execute = async (
    hook: GitLabHook,
    { event, payload, key = crypto.randomUUID(), way = "sent" }: {
      event: string;
      payload: Readonly<Record<string, unknown>>;
      key?: string;
      way?: GitLabWay;
    },
  ): Promise<GitLabTry> => {
    const body = JSON.stringify(payload);
    const seconds = String(Math.floor(Date.now() / 1000));
    const headers: Record<string, string> = {
      "Content-Type": "application/json",
      "User-Agent": "GitLab/19.1.0-fake",
      "Idempotency-Key": key,
      "X-Gitlab-Event": event,
      "X-Gitlab-Event-UUID": crypto.randomUUID(),
      ...hook.token === "" ? {} : { "X-Gitlab-Token": hook.token },
    };
    if (hook.signing_token !== "" && options.signs !== false) {
      const secret = atob(hook.signing_token.replace("whsec_", ""));
      const bytes = Uint8Array.from(secret, (character) => character.charCodeAt(0));
      const signed = createHmac("sha256", bytes).update(`${key}.${seconds}.${body}`);
      Object.assign(headers, {
        "webhook-id": key,
        "webhook-timestamp": seconds,
        "webhook-signature": `v1,${signed.digest("base64")}`,
      });
    }
    const answer = way === "lost" ? { status: 0, text: "" } : await post(hook.url, headers, body);
    if (way === "twice") await post(hook.url, headers, body);
    const made: GitLabTry = {
      id: state.nextId(),
      hook: hook.id,
      url: hook.url,
      trigger: FLAG_OF[event]?.replace(/_events$/, "_hooks") ?? "push_hooks",
      headers,
      payload: redacted(payload) as Readonly<Record<string, unknown>>,
      status: answer.status,
      answer: answer.text,
      created_at: new Date().toISOString(),
    };
    tries.push(made);
    if (answer.status >= 200 && answer.status < 400) {
      hook.failures = 0;
      hook.disabledUntil = 0;
    } else if (alertOf(hook) === "executable") {
      hook.failures++;
      const off = MINUTE * 2 ** (hook.failures - TEMPORARY - 1);
      if (hook.failures > TEMPORARY) hook.disabledUntil = Date.now() + Math.min(off, 1440 * MINUTE);
    }
    return made;
  };
  /** Sends an event to every webhook that wants it. */
  const send = async (event: GitLabEvent, key?: string): Promise<readonly GitLabTry[]> => {
    const { path } = event.project;
    const flag = FLAG_OF[event.event] ?? "";
    const wanting = [...hooks.values()].filter((hook) =>
      (hook.of === path || path.startsWith(`${hook.of}/`)) && hook.events[flag] === true &&
      alertOf(hook) === "executable"
    );
    const all = wanting.map((hook) =>
      execute(hook, {
        event: event.event,
        payload: event.payload,
        way: given.wayOf(event, hook),
        ...key === undefined ? {} : { key },
      })
    );
    return await Promise.all(all);
  };
  state.listeners.push((event) => {
    const sending = send(event).finally(() => busy.delete(sending));
    busy.add(sending);
  });

  const limit = (): boolean => {
    const now = Date.now();
    const since = resent.filter((at) => at > now - MINUTE);
    if (since.length >= (options.resends ?? 5)) return true;
    resent.push(now);
    return false;
  };
  const set = (hook: GitLabHook, body: Record<string, unknown>): GitLabHook => {
    // Another address makes GitLab forget the token, unless it is given anew.
    if (body["url"] !== hook.url && body["token"] === undefined) hook.token = "";
    for (const field of ["url", "token", "custom_webhook_template"] as const) {
      if (typeof body[field] === "string") hook[field] = body[field];
    }
    if (options.signs !== false && typeof body["signing_token"] === "string") {
      hook.signing_token = body["signing_token"];
    }
    if (typeof body["enable_ssl_verification"] === "boolean") {
      hook.enable_ssl_verification = body["enable_ssl_verification"];
    }
    for (const flag of FLAGS) {
      if (typeof body[flag] === "boolean") hook.events[flag] = body[flag];
    }
    return hook;
  };

  type At = GitLabRequest & { readonly of: string };
  const withHook = (answer: (hook: GitLabHook, request: At) => GitLabAnswer) => (request: At) => {
    const hook = hooks.get(Number(request.match[0]));
    return hook?.of === request.of ? answer(hook, request) : problem(404, "Not found");
  };
  const common: readonly {
    readonly method: string;
    readonly path: RegExp;
    readonly answer: (request: At) => GitLabAnswer;
  }[] = [
    {
      method: "GET",
      path: /^\/hooks$/,
      answer: (request) =>
        page([...hooks.values()].filter(({ of }) => of === request.of).map(shown), request),
    },
    {
      method: "POST",
      path: /^\/hooks$/,
      answer({ of, body }) {
        const { url, signing_token: signing } = body;
        if (typeof url !== "string") return wrongParameter("url is missing");
        if (!/^https?:\/\//.test(url)) return problem(422, "Invalid url given");
        if (signing !== undefined && !/^whsec_[A-Za-z0-9+/]{43}=$/.test(String(signing))) {
          if (options.signs !== false) return invalid("signing_token", "is invalid", 422);
        }
        const hook: GitLabHook = {
          id: state.nextId(),
          of,
          url,
          token: "",
          signing_token: "",
          enable_ssl_verification: true,
          custom_webhook_template: "",
          events: Object.fromEntries(FLAGS.map((flag) => [flag, flag === "push_events"])),
          failures: 0,
          disabledUntil: 0,
        };
        hooks.set(hook.id, set(hook, body));
        return Response.json(shown(hook), { status: 201 });
      },
    },
    {
      method: "GET",
      path: /^\/hooks\/([0-9]+)$/,
      answer: withHook((hook) => Response.json(shown(hook))),
    },
    {
      method: "PUT",
      path: /^\/hooks\/([0-9]+)$/,
      answer: withHook((hook, { body }) =>
        typeof body["url"] === "string"
          ? Response.json(shown(set(hook, body)))
          : wrongParameter("url is missing")
      ),
    },
    {
      method: "DELETE",
      path: /^\/hooks\/([0-9]+)$/,
      answer: withHook((hook) => {
        hooks.delete(hook.id);
        return new Response(null, { status: 204 });
      }),
    },
    {
      method: "POST",
      path: /^\/hooks\/([0-9]+)\/test\/([a-z_]+)$/,
      answer: withHook(async (hook, { match: [, trigger = ""] }) => {
        const isToken = trigger === "resource_access_token_events";
        if (!FLAGS.includes(trigger) || isToken && options.testsTokens === false) {
          return wrongParameter("trigger does not have a valid value");
        }
        const event = Object.entries(FLAG_OF).find(([, flag]) => flag === trigger)?.[0] ?? "";
        const payload = isToken
          ? {
            object_kind: "access_token",
            object_attributes: { id: 1, user_id: 1, name: "pat_for_webhook_event" },
            event_name: "expiring_access_token",
          }
          : { object_kind: "push", event_name: "push", ref: "refs/heads/main", commits: [] };
        const tried = await execute(hook, { event, payload });
        if (tried.status >= 200 && tried.status < 300) {
          return Response.json({ message: "201 Created" }, { status: 201 });
        }
        return Response.json({ message: tried.answer || "connection refused" }, { status: 422 });
      }),
    },
    {
      method: "GET",
      path: /^\/hooks\/([0-9]+)\/events$/,
      answer: withHook((hook, request) => {
        if (Number(request.query.get("per_page") ?? 20) > 20) {
          return wrongParameter("per_page does not have a valid value");
        }
        const found = tries.filter((one) => one.hook === hook.id).toReversed();
        return page(found.map((one) => logged(one, hook)), request);
      }),
    },
    {
      method: "POST",
      path: /^\/hooks\/([0-9]+)\/events\/([0-9]+)\/resend$/,
      answer: withHook(async (hook, { match: [, id] }) => {
        if (limit()) {
          const error = "This endpoint has been requested too many times. Try again later.";
          return Response.json({ message: { error } }, { status: 429 });
        }
        const found = tries.find((one) => one.id === Number(id));
        if (found === undefined) return problem(404, "Not found");
        if (found.url !== hook.url) {
          const message = "The hook URL has changed, and this log entry cannot be retried";
          return Response.json({ message }, { status: 422 });
        }
        if (alertOf(hook) !== "executable") {
          return Response.json({ message: "Hook disabled" }, { status: 422 });
        }
        const tried = await execute(hook, {
          event: found.headers["X-Gitlab-Event"] ?? "",
          payload: found.payload,
          key: found.headers["Idempotency-Key"] ?? "",
        });
        return tried.status === 0
          ? Response.json({ message: "Connection refused" }, { status: 422 })
          : Response.json({ response_status: tried.status }, { status: 201 });
      }),
    },
  ];
  const routes: readonly GitLabRoute[] = common.flatMap(({ answer, ...route }) => [
    {
      ...route,
      in: "project",
      level: 40,
      answer: (request: ProjectRequest) => answer({ ...request, of: request.project.path }),
    },
    {
      ...route,
      in: "group",
      answer: (request: GroupRequest) =>
        options.groups !== true
          ? problem(404, "Not found")
          : request.level < 50
          ? problem(403, "Forbidden")
          : answer({ ...request, of: request.group }),
    },
  ]);
  const projectsOfGroup: GitLabRoute = {
    in: "group",
    method: "GET",
    path: /^\/projects$/,
    answer: (request) => {
      const all = [...state.projects.values()].filter(({ path, archived }) =>
        path.startsWith(`${request.group}/`) && !archived
      );
      return page(all.map((project) => state.shownProject(project)), request);
    },
  };
  return Object.assign(given, {
    hooks,
    tries,
    send,
    execute,
    routes: [...routes, projectsOfGroup],
    /** Resolves when nothing is being sent. */
    async rest(): Promise<void> {
      while (busy.size > 0) await Promise.all(busy);
    },
  });
}

/** The result of {@linkcode gitLabHookRoutes}. */
export type GitLabHooks = ReturnType<typeof gitLabHookRoutes>;

/** An entry as the API shows it. */
function logged(one: GitLabTry, hook: GitLabHook) {
  return {
    id: one.id,
    url: one.url,
    trigger: one.trigger,
    request_headers: {
      ...one.headers,
      ...hook.token === "" ? {} : { "X-Gitlab-Token": "[REDACTED]" },
    },
    request_data: one.payload,
    response_headers: {},
    response_body: one.answer,
    execution_duration: 0.1,
    response_status: one.status === 0 ? "internal error" : String(one.status),
    created_at: one.created_at,
  };
}

/** The log has no addresses of mail, and so what is sent again. */
function redacted(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value),
    (_, one) => typeof one === "string" && /^[^\s@]+@[^\s@]+$/.test(one) ? "[REDACTED]" : one,
  );
}

async function post(url: string, headers: Record<string, string>, body: string) {
  try {
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual" });
    return { status: response.status, text: await response.text() };
  } catch {
    return { status: 0, text: "" };
  }
}

/** A fake GitLab with webhooks. */
export interface HookedGitLab extends FakeGitLab {
  readonly hooks: GitLabHooks;
}

/** Starts a fake GitLab with webhooks. */
export async function hookedGitLab(
  options: GitLabOptions = {},
  ofHooks: GitLabHookOptions = {},
): Promise<HookedGitLab> {
  let hooks: GitLabHooks | undefined;
  const routes = (state: GitLabState) => {
    hooks = gitLabHookRoutes(state, ofHooks);
    return hooks.routes;
  };
  const gitlab = await fakeGitLab({ ...options, routes });
  if (hooks === undefined) throw new Error("The routes were not asked for");
  return Object.assign(gitlab, { hooks });
}
