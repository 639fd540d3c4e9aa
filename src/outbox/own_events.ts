/**
 * Guards against loops: an event about a comment, a commit or a pull of the daemon starts
 * nothing, and neither does the next event of its own user if that user's events alone have started the
 * last tasks.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { shortDuration } from "../base/duration.ts";
import { FORGE_WORDS, referenceTo } from "../base/forge_names.ts";
import { isJsonObject } from "../base/json.ts";
import type { Doing, ForgeSubject } from "../connections/api/forge.ts";
import { type Connection, findConnection } from "../connections/find_connection.ts";
import { findAsker, findSubject, FORGES_BY_NAME } from "../connections/forges.ts";
import type { OwnUsers } from "../connections/own_users.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { WorkflowSpec } from "../resources/workflow.ts";
import { limitsOf } from "../outputs/may_rules.ts";
import type { Events } from "../store/events.ts";
import { type Markers, taskNamedIn } from "./marker.ts";

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

/** Why an event starts nothing. */
export interface OwnEvent {
  /** For the operator. */
  readonly reason: string;
  /**
   * Whether a wait may end by it: the first status that svc sets at GitLab makes a pipeline, and all that
   * CI from outside says of that commit later is an event of it, in the name of svc's user.
   */
  readonly mayEndWaits?: boolean;
}

/** An event, and the users that tell whose it is. */
interface SentEvent {
  readonly trigger: Resource<TriggerSpec>;
  readonly subject: ForgeSubject;
  /** Id of svc's own user; `undefined` while it is not known. */
  readonly own: string | undefined;
  /** Id of the user who caused the event. */
  readonly sender: string | undefined;
}

/** One of what an event shows. */
type DoingOf<What extends Doing["what"]> = Extract<Doing, { readonly what: What }>;

/** Recognises events that svc itself has caused. */
export class OwnEvents {
  readonly #host: OwnEventsHost;
  /** By issue and trigger: the deliveries of svc's own user that started tasks, with their times. */
  readonly #chains = new Map<string, Map<string, number>>();

  constructor(host: OwnEventsHost) {
    this.#host = host;
  }

  /**
   * Why an event starts nothing, whatever its filter says: svc's own user or App has caused it by
   * what the daemon did. `undefined` for any other event.
   */
  whyOwn({ trigger: { resource }, payload }: GuardedEvent): OwnEvent | undefined {
    const subject = findSubject(payload);
    if (subject === undefined || !isJsonObject(payload)) return undefined;
    const doing = FORGES_BY_NAME[subject.forge].findDoing(payload);
    if (doing === undefined) return undefined;
    const event: SentEvent = {
      trigger: resource,
      subject,
      own: this.#ownUser(resource, subject),
      sender: findAsker(payload)?.id,
    };
    const what = this.#ownDoing(doing, event);
    if (what === undefined) return undefined;
    const reason = `svc's own ${what}: it starts nothing`;
    return doing.what === "status" ? { reason, mayEndWaits: true } : { reason };
  }

  /** What of svc's own the event is about, in words; `undefined` if it is not svc's. */
  #ownDoing(doing: Doing, event: SentEvent): string | undefined {
    switch (doing.what) {
      case "comment":
      case "review":
      case "issue":
        return this.#ownText(doing, event);
      case "pull":
        return this.#ownPull(doing, event);
      case "commit":
        return this.#ownCommit(doing, event);
      case "branch":
        return this.#ownBranch(doing.branch, event);
      default:
        return isByKnownUser(event) ? doing.what : undefined;
    }
  }

  #ownText(
    { what, body }: DoingOf<"comment" | "review" | "issue">,
    event: SentEvent,
  ): string | undefined {
    const { trigger: { project }, subject: { forge, repository, isPull, number: about } } = event;
    // The marker in the text of an issue is older than its number.
    const number = what === "issue" ? 0 : about;
    if (number === undefined) return undefined;
    const place = { forge, project, repository, number, isPull };
    const marker = this.#host.markers.find(body, place);
    if (marker === undefined || !mayBeByUser(event)) return undefined;
    return `${what} "${marker.key}" of task ${marker.taskId}`;
  }

  #ownPull({ body, branch, pushed = "" }: DoingOf<"pull">, event: SentEvent): string | undefined {
    const { trigger, subject: { forge, repository } } = event;
    const place = { forge, project: trigger.project, repository, branch };
    const marker = this.#host.markers.findPull(body, place);
    // The pull of somebody else, onto whose branch svc has pushed.
    if (marker === undefined) return this.#ownCommit({ what: "commit", message: pushed }, event);
    if (!mayBeByUser(event)) return undefined;
    const isOther = marker.trigger !== trigger.name;
    if (trigger.spec.event.webhook?.own === "pulls" && isOther) return undefined;
    return `${FORGE_WORDS[forge].pull} "${marker.key}" of task ${marker.taskId}`;
  }

  #ownCommit({ message, tree }: DoingOf<"commit">, event: SentEvent): string | undefined {
    const { trigger: { project }, subject: { forge, repository } } = event;
    // Without the tree there is no MAC to verify, so the user has to be known.
    if (tree === undefined) {
      const named = isByKnownUser(event) ? taskNamedIn(message) : undefined;
      return named === undefined ? undefined : `commit of task ${named}`;
    }
    const place = { forge, project, repository, tree };
    const taskId = this.#host.markers.findTask(message, place);
    if (taskId === undefined || !mayBeByUser(event)) return undefined;
    return `commit of task ${taskId}`;
  }

  /** An event of a new branch names no commit: those that begin as svc's own do are svc's own. */
  #ownBranch(branch: string, event: SentEvent): string | undefined {
    if (!isByKnownUser(event)) return undefined;
    const { trigger: { project }, subject: { forge } } = event;
    const workflows = this.#host.catalog.list("Workflow", project) as Resource<WorkflowSpec>[];
    const isOwn = workflows.some(({ spec: { may } }) => {
      const prefix = limitsOf(may, forge, "pull")?.branch;
      return prefix !== undefined && branch.startsWith(prefix);
    });
    return isOwn ? `branch ${branch}` : undefined;
  }

  /**
   * Why an event ends a chain: it would start one more task of this trigger on an issue where only
   * events of svc's own user have started the last ones. Counts the event otherwise.
   */
  whyCut({ trigger: { resource }, payload, delivery }: GuardedEvent): string | undefined {
    const sender = findAsker(payload)?.id;
    const isNews = sender !== undefined && this.#host.ownUsers.isOwn(sender);
    if (!isNews && this.#chains.size === 0) return undefined;
    const subject = findSubject(payload);
    if (subject === undefined) return undefined;
    const name = `${resource.project}/${resource.name} ${subject.forge} ${referenceTo(subject)}`;
    const own = this.#ownUser(resource, subject);
    if (own === undefined || sender !== own) {
      this.#chains.delete(name);
      return undefined;
    }
    const since = delivery.receivedAt - MAX_CHAIN.withinMs;
    const known = [...this.#chains.get(name) ?? []].filter(([, at]) => at > since);
    const chain = new Map(known);
    if (chain.has(delivery.id)) return undefined;
    if (chain.size >= MAX_CHAIN.tasks) {
      return this.#cut(resource, subject);
    }
    chain.set(delivery.id, delivery.receivedAt);
    this.#keep(name, chain);
    return undefined;
  }

  #cut(trigger: Resource<TriggerSpec>, subject: ForgeSubject): string {
    const { project, name } = trigger;
    const { tasks, withinMs } = MAX_CHAIN;
    const where = referenceTo(subject);
    const reason = `${tasks} tasks on ${where} within ${shortDuration(withinMs)} were all ` +
      "started by events of svc's own user: svc cut what looks like a loop";
    this.#host.events.publish("incidentHappened", {
      kind: "loop.cut",
      project,
      connection: this.#connectionOf(trigger, subject)?.name ?? "",
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

  #ownUser(trigger: Resource<TriggerSpec>, subject: ForgeSubject): string | undefined {
    const connection = this.#connectionOf(trigger, subject);
    return connection === undefined ? undefined : this.#host.ownUsers.find(connection);
  }

  #connectionOf(
    { project, spec }: Resource<TriggerSpec>,
    { forge, repository }: ForgeSubject,
  ): Connection | undefined {
    const named = spec.event.webhook?.connection;
    try {
      return findConnection(
        { project, platform: forge, repository, ...defined({ named }) },
        this.#host.catalog,
      );
    } catch {
      return undefined; // none, or several: nothing is answered through it either
    }
  }
}

/** True if svc's own user is not known, as for an App without slug: the MAC of the marker proves enough. */
function mayBeByUser({ own, sender }: SentEvent): boolean {
  return own === undefined || sender === own;
}

function isByKnownUser({ own, sender }: SentEvent): boolean {
  return own !== undefined && sender === own;
}
