/**
 * Guards against loops: an event about a comment, a commit or a pull request of the daemon starts
 * nothing, and neither does the next event of its own user if that user's events alone have started the
 * last tasks.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { shortDuration } from "../base/duration.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { type Connection, findConnection } from "../connections/find_connection.ts";
import { findSubject } from "../connections/forges.ts";
import type { OwnUsers } from "../connections/own_users.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { WorkflowSpec } from "../resources/workflow.ts";
import { limitsOf } from "../outputs/may_rules.ts";
import type { Events } from "../store/events.ts";
import type { Markers } from "./marker.ts";

/** The state of the daemon by which own events are known. */
export interface OwnEventsHost {
  readonly catalog: Catalog;
  readonly markers: Markers;
  readonly ownUsers: OwnUsers;
  readonly events: Events;
}

/** The part of an event that the guards read. */
export interface GuardedEvent {
  readonly trigger: { readonly resource: Resource<TriggerSpec> };
  readonly payload: unknown;
  readonly delivery: { readonly id: string; readonly receivedAt: number };
}

/** Most tasks of a trigger that events of svc's own user may start on one issue within a time. */
const MAX_CHAIN = { tasks: 5, withinMs: 10 * 60_000 };
/** Most issues that are remembered. */
const MAX_CHAINS = 1000;

/** What svc does to its own pull requests. */
const PULL_ACTIONS: ReadonlySet<string> = new Set([
  "opened",
  "edited",
  "synchronize",
  "labeled",
  "review_requested",
]);

/** Recognises events that svc itself has caused. */
export class OwnEvents {
  readonly #host: OwnEventsHost;
  /** By issue and trigger: the deliveries of svc's own user that started tasks, with their times. */
  readonly #chains = new Map<string, Map<string, number>>();

  constructor(host: OwnEventsHost) {
    this.#host = host;
  }

  /**
   * Why an event starts nothing, whatever its filter says: svc's own user or App has caused it by a
   * comment, a review, an issue, a pull request, a commit or a branch of the daemon. `undefined` for any other event.
   */
  whyOwn({ trigger: { resource }, payload }: GuardedEvent): string | undefined {
    if (!isJsonObject(payload)) return undefined;
    for (const what of ["comment", "review"] as const) {
      if (isJsonObject(payload[what])) return this.#whyOwnText(what, resource, payload);
    }
    const { action } = payload;
    const isIssue = isJsonObject(payload["issue"]) && (action === "opened" || action === "edited");
    if (isIssue) return this.#whyOwnText("issue", resource, payload);
    if (isJsonObject(payload["pull_request"])) return this.#whyOwnPull(resource, payload);
    if (isJsonObject(payload["head_commit"])) return this.#whyOwnPush(resource, payload);
    return payload["ref_type"] === "branch" ? this.#whyOwnBranch(resource, payload) : undefined;
  }

  #whyOwnText(
    what: "comment" | "review" | "issue",
    trigger: Resource<TriggerSpec>,
    payload: JsonObject,
  ): string | undefined {
    const body = textIn(payload[what], "body");
    if (!body.includes("<!-- svc ")) return undefined;
    const subject = findSubject(payload);
    // The marker in the text of an issue is older than its number.
    const number = what === "issue" ? 0 : subject?.number;
    if (subject === undefined || number === undefined) return undefined;
    const { forge, repository, isPull } = subject;
    const place = { forge, project: trigger.project, repository, number, isPull };
    const marker = this.#host.markers.find(body, place);
    if (marker === undefined || !this.#isByOwnUser(trigger, payload, repository)) return undefined;
    return `svc's own ${what} "${marker.key}" of task ${marker.taskId}: it starts nothing`;
  }

  #whyOwnPull(trigger: Resource<TriggerSpec>, payload: JsonObject): string | undefined {
    const { action, pull_request: pull, review } = payload;
    const body = textIn(pull, "body");
    const isSvcs = typeof action === "string" && PULL_ACTIONS.has(action);
    if (!isSvcs || review !== undefined || !body.includes("<!-- svc ")) return undefined;
    const head = isJsonObject(pull) && isJsonObject(pull["head"]) ? pull["head"] : {};
    const repository = findSubject(payload)?.repository;
    // The text of a pull request from a fork is its author's.
    const from = textIn(head["repo"], "full_name");
    if (repository === undefined || from.toLowerCase() !== repository.toLowerCase()) {
      return undefined;
    }
    const branch = textIn(head, "ref");
    const place = { forge: "github", project: trigger.project, repository, branch } as const;
    const marker = this.#host.markers.findPull(body, place);
    if (marker === undefined || !this.#isByOwnUser(trigger, payload, repository)) return undefined;
    const isOther = marker.trigger !== trigger.name;
    if (trigger.spec.event.webhook?.own === "pulls" && isOther) return undefined;
    return `svc's own pull request "${marker.key}" of task ${marker.taskId}: it starts nothing`;
  }

  #whyOwnPush(trigger: Resource<TriggerSpec>, payload: JsonObject): string | undefined {
    const message = textIn(payload["head_commit"], "message");
    if (!message.includes("Svc-Mark: ")) return undefined;
    const repository = findSubject(payload)?.repository;
    if (repository === undefined) return undefined;
    const tree = textIn(payload["head_commit"], "tree_id");
    const place = { forge: "github", project: trigger.project, repository, tree } as const;
    const taskId = this.#host.markers.findTask(message, place);
    if (taskId === undefined || !this.#isByOwnUser(trigger, payload, repository)) return undefined;
    return `svc's own commit of task ${taskId}: it starts nothing`;
  }

  /** An event of a new branch names no commit: those that begin as svc's own do are svc's own. */
  #whyOwnBranch(trigger: Resource<TriggerSpec>, payload: JsonObject): string | undefined {
    const repository = findSubject(payload)?.repository;
    const branch = textIn(payload, "ref");
    if (repository === undefined || branch === "") return undefined;
    const own = this.#ownUser(trigger, repository);
    if (own === undefined || senderOf(payload) !== own) return undefined;
    const workflows = this.#host.catalog.list("Workflow", trigger.project) as Resource<
      WorkflowSpec
    >[];
    const isOwn = workflows.some(({ spec: { may } }) => {
      const prefix = limitsOf(may, "github", "pull")?.branch;
      return prefix !== undefined && branch.startsWith(prefix);
    });
    return isOwn ? `svc's own branch ${branch}: it starts nothing` : undefined;
  }

  /**
   * Why an event ends a chain: it would start one more task of this trigger on an issue where only
   * events of svc's own user have started the last ones. Counts the event otherwise.
   */
  whyCut({ trigger: { resource }, payload, delivery }: GuardedEvent): string | undefined {
    const sender = senderOf(payload);
    const isNews = sender !== undefined && this.#host.ownUsers.isOwn(sender);
    if (!isNews && this.#chains.size === 0) return undefined;
    const subject = findSubject(payload);
    if (subject === undefined) return undefined;
    const { repository, number } = subject;
    const name = `${resource.project}/${resource.name} ${repository}#${number ?? ""}`;
    const own = this.#ownUser(resource, repository);
    if (own === undefined || sender !== own) {
      this.#chains.delete(name);
      return undefined;
    }
    const since = delivery.receivedAt - MAX_CHAIN.withinMs;
    const known = [...this.#chains.get(name) ?? []].filter(([, at]) => at > since);
    const chain = new Map(known);
    if (chain.has(delivery.id)) return undefined;
    if (chain.size >= MAX_CHAIN.tasks) {
      return this.#cut(resource, repository, number);
    }
    chain.set(delivery.id, delivery.receivedAt);
    this.#keep(name, chain);
    return undefined;
  }

  #cut(trigger: Resource<TriggerSpec>, repository: string, number: number | undefined): string {
    const { project, name } = trigger;
    const { tasks, withinMs } = MAX_CHAIN;
    const where = number === undefined ? repository : `${repository}#${number}`;
    const reason = `${tasks} tasks on ${where} within ${shortDuration(withinMs)} were all ` +
      "started by events of svc's own user: svc cut what looks like a loop";
    this.#host.events.publish("incidentHappened", {
      kind: "loop.cut",
      project,
      connection: this.#connectionOf(trigger, repository)?.name ?? "",
      reason: `trigger "${name}": ${reason}`,
    });
    return reason;
  }

  #keep(name: string, chain: Map<string, number>): void {
    this.#chains.delete(name); // the newest chain goes to the end of the map
    this.#chains.set(name, chain);
    const [oldest] = this.#chains.keys();
    if (this.#chains.size > MAX_CHAINS && oldest !== undefined) this.#chains.delete(oldest);
  }

  /** True if svc's own user is not known, as for an App without slug: the MAC of the marker proves enough. */
  #isByOwnUser(
    trigger: Resource<TriggerSpec>,
    payload: Readonly<Record<string, unknown>>,
    repository: string,
  ): boolean {
    const own = this.#ownUser(trigger, repository);
    return own === undefined || senderOf(payload) === own;
  }

  #ownUser(trigger: Resource<TriggerSpec>, repository: string): string | undefined {
    const connection = this.#connectionOf(trigger, repository);
    return connection === undefined ? undefined : this.#host.ownUsers.find(connection);
  }

  #connectionOf(
    { project, spec }: Resource<TriggerSpec>,
    repository: string,
  ): Connection | undefined {
    const named = spec.event.webhook?.connection;
    try {
      return findConnection(
        { project, platform: "github", repository, ...defined({ named }) },
        this.#host.catalog,
      );
    } catch {
      return undefined; // none, or several: nothing is answered through it either
    }
  }
}

/** Id of the user who caused the event. */
function senderOf(payload: unknown): string | undefined {
  const sender = isJsonObject(payload) ? payload["sender"] : undefined;
  const id = isJsonObject(sender) ? sender["id"] : undefined;
  return typeof id === "number" ? String(id) : undefined;
}

/** A member of an object that is a text; empty if there is none. */
function textIn(value: unknown, name: string): string {
  const text = isJsonObject(value) ? value[name] : undefined;
  return typeof text === "string" ? text : "";
}
