/**
 * Reads the logs of the webhooks of one Connection: has the forge send missed events again
 * (`events: push`), or takes the events from the log (`events: pull`, at GitHub alone).
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { messageOf, toAppError } from "../base/errors.ts";
import type { Connection } from "../connections/find_connection.ts";
import type { ForgeTokens } from "../connections/forge_tokens.ts";
import type { RestFailure } from "../connections/api/rest.ts";
import type { ForgeHooks, Hook } from "../connections/api/hooks.ts";
import { forgeHooksOf } from "../connections/forge_hooks.ts";
import { isGitea } from "../connections/github/hooks.ts";
import type { MissedEvent } from "../connections/hooks/missed_events.ts";
import {
  faultOf,
  type LogFindings,
  type LogHost,
  type LogReading,
  readLog,
  redeliverMissed,
  type RepairedHook,
} from "../connections/hooks/repair_hook.ts";
import type { Catalog } from "../resources/catalog.ts";
import {
  apiUrlOf,
  connectedTo,
  type ConnectionHook,
  forgeNameOf,
  hooksOf,
} from "../resources/connection.ts";
import { LogNotes, type LogNotesHost, type LogRun } from "./forge_log_notes.ts";
import { takePulled } from "./pulled.ts";
import type { WebhookHost } from "./webhook.ts";

/** The parts of the daemon that take events and report results. */
export interface LogRunsHost extends WebhookHost, LogNotesHost {
  readonly store:
    & WebhookHost["store"]
    & LogNotesHost["store"]
    & LogHost["store"];
  readonly catalog: Catalog;
  readonly forgeTokens: ForgeTokens;
}

/** Settings of one reading of the logs of a Connection. */
export interface LogRunOptions {
  /** Begin in milliseconds since the epoch; if absent, the run continues after the last one. */
  readonly since?: number;
  /** Whether only to find the missing events. */
  readonly dryRun?: boolean;
  /** Called with the progress. */
  readonly onStep?: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A webhook of a Connection. */
interface HookOfConnection extends ConnectionHook {
  readonly connection: Connection;
  /** Time up to which nothing is missing. */
  readonly upTo: number;
  /** Whether `upTo` is where the last run stopped, and not a begin that an operator chose. */
  readonly isMark: boolean;
}

const NOTHING: LogRun = { missed: [], repaired: [], lost: [] };
/** Most events that are remembered as taken or refused; the store knows those that it has. */
const MAX_TAKEN = 10_000;

/** Reads logs, and remembers how far. */
export class LogRuns {
  readonly #host: LogRunsHost;
  /** Stores and reports the results. */
  readonly notes: LogNotes;
  readonly #etags = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(host: LogRunsHost) {
    this.#host = host;
    this.notes = new LogNotes(host);
  }

  /** Reads the logs of all webhooks of a Connection, up to the first fault. */
  async run(connection: Connection, options: LogRunOptions): Promise<LogRun> {
    const hooks = hooksOf(connection.spec);
    const before = await this.notes.stateOf(connection);
    let all = NOTHING;
    let keepsLog = hooks.length > 0;
    const lack = await this.#whyNotInstalled(connection, options.signal);
    if (lack !== undefined) {
      if (options.dryRun !== true) {
        await this.notes.runDone(connection, { ...NOTHING, ...lack }, { keepsLog, before });
      }
      return { ...NOTHING, ...lack };
    }
    for (const hook of hooks) {
      const mark = before?.marks[String(hook.id)];
      const upTo = options.since ?? mark ?? connection.createdAt;
      const isMark = options.since === undefined && mark !== undefined;
      const done = await this.#hook({ ...hook, connection, upTo, isMark }, options);
      if (done === "no log") keepsLog = false;
      else all = joined(all, done);
      if (all.fault !== undefined) break;
    }
    const isOver = options.dryRun === true || options.signal.aborted;
    if (!isOver) await this.notes.runDone(connection, all, { keepsLog, before });
    return all;
  }

  /** Why an App does not work: it is installed nowhere that its Connection is to, or suspended. */
  async #whyNotInstalled(
    connection: Connection,
    signal: AbortSignal,
  ): Promise<Pick<LogRun, "fault" | "broken"> | undefined> {
    try {
      const fault = await this.#host.forgeTokens.whyNotInstalled(connection, signal);
      return fault === undefined ? undefined : { fault, broken: true };
    } catch (error) {
      const { message, code } = toAppError(error);
      if (code === "internal") throw error;
      return { fault: message, broken: code === "refused" };
    }
  }

  async #hook(hook: HookOfConnection, options: LogRunOptions): Promise<LogRun | "no log"> {
    try {
      return await this.#readHook(hook, options);
    } catch (error) {
      const { message, code } = toAppError(error);
      if (code === "internal") throw error;
      return { ...NOTHING, fault: message, broken: code === "refused" };
    }
  }

  async #readHook(
    { connection, id, endpoint, project: of, upTo, isMark }: HookOfConnection,
    { dryRun = false, onStep = () => {}, signal }: LogRunOptions,
  ): Promise<LogRun | "no log"> {
    const { spec, project } = connection;
    const access = this.#host.forgeTokens.hookAccess(connection, signal);
    const hooks = forgeHooksOf(spec, access, of);
    const reading: LogReading = { log: hooks.log(id), project, upTo, signal };
    const isPull = spec.github?.events === "pull";
    const at = `${project}\n${connection.name}\n${connection.createdAt}\n${id}`;
    const found = await readLog(reading, this.#host, isPull ? this.#etags.get(at) : undefined);
    if (found === "unchanged") return NOTHING;
    if ("ok" in found) return await whyNoLog(found, { hooks, id, connection });
    const { missed } = found;
    if (dryRun) return { missed, repaired: [], lost: [] };
    const off = isPull ? undefined : await switchedOn(hooks, id, found);
    const ended = isPull
      ? await this.#pull(reading, found, { connection, endpoint })
      : off?.fault === undefined
      ? await redeliverMissed(reading, found, { ...this.#host, onStep })
      : { repaired: [], lost: [], ...off };
    if (ended.fault === undefined && found.etag !== undefined) this.#etags.set(at, found.etag);
    // An operator who chose the begin need not hear that the log does not reach so far back.
    const { beyond: _, ...withoutBeyond } = found;
    const reported = off?.beyond !== undefined
      ? { ...found, beyond: off.beyond }
      : isMark
      ? found
      : withoutBeyond;
    await this.notes.hookDone(connection, { id, found: reported, ended, isPull });
    return { missed, ...ended };
  }

  /** Takes the events of the log, oldest first. */
  async #pull(
    { log, signal }: LogReading,
    { missed }: LogFindings,
    { connection, endpoint }: { connection: Connection; endpoint: string },
  ): Promise<RepairedHook> {
    const { project, name } = connection;
    const repaired: MissedEvent[] = [];
    const lost: MissedEvent[] = [];
    for (const event of missed) {
      if (signal.aborted) return { repaired, lost, fault: "The reading was ended" };
      const taken = `${project}\n${log.hook}\n${event.guid}`;
      if (this.#taken.has(taken)) continue;
      const read = await log.read(event.last.id);
      if (read !== undefined && "ok" in read) return { repaired, lost, ...faultOf(read) };
      if (read === undefined) {
        lost.push(event);
        continue;
      }
      const { body } = read;
      // The id of the event in the log is also its id here.
      const headers = { ...read.headers, [log.idHeader]: event.guid };
      try {
        await takePulled({ project, endpoint, connection: name, headers, body }, this.#host);
      } catch (error) {
        return { repaired, lost, fault: `An event could not be taken in: ${messageOf(error)}` };
      }
      repaired.push(event);
      if (this.#taken.size >= MAX_TAKEN) this.#taken.clear();
      this.#taken.add(taken);
    }
    return { repaired, lost };
  }
}

/** What came of a webhook that its forge had switched off. */
interface SwitchedOn extends Pick<RepairedHook, "fault" | "broken"> {
  /** The time in which nothing was sent. */
  readonly beyond?: NonNullable<LogFindings["beyond"]>;
}

/**
 * Switches a webhook on again that its forge has switched off after deliveries that failed: a ping that
 * arrives does. What happened meanwhile is in no log. `undefined` if it is on.
 */
async function switchedOn(
  hooks: ForgeHooks,
  id: number,
  { now, lastAt }: LogFindings,
): Promise<SwitchedOn | undefined> {
  const hook = await hooks.find(id);
  if (hook === undefined || "ok" in hook || hook.off === undefined) return undefined;
  await hooks.ping(id);
  const again = await hooks.find(id);
  if (again !== undefined && !("ok" in again) && again.off === undefined) {
    const why = `${hooks.title} had switched webhook ${id} off, because deliveries failed`;
    return { beyond: { from: lastAt ?? now, to: now, why } };
  }
  return { fault: offText(hooks, hook), broken: hook.off.until === undefined };
}

/** What a webhook that is off means, and what to do. */
function offText({ title, page }: ForgeHooks, { id, off }: Hook): string {
  const until = off?.until === undefined ? "for good" : `until ${rfc3339(off.until)}`;
  return `${title} has switched webhook ${id} off ${until}, because deliveries failed, and sends ` +
    "nothing: what happens meanwhile is lost. Check that its address reaches the daemon; svc then " +
    `switches it on again by a test (see ${page(id)})`;
}

/** Why a log cannot be read: the webhook is gone, or the server keeps no log. */
async function whyNoLog(
  failure: RestFailure,
  { hooks, id, connection: { name, spec } }: {
    readonly hooks: ForgeHooks;
    readonly id: number;
    readonly connection: Connection;
  },
): Promise<LogRun | "no log"> {
  if (failure.status !== 404) return { ...NOTHING, ...faultOf(failure) };
  const found = await hooks.find(id);
  if (found !== undefined && "ok" in found) return { ...NOTHING, ...faultOf(found) };
  if (found !== undefined) {
    // Gitea and Forgejo keep none, and GitLab has it from version 17.3 on.
    const hasNone = spec.gitlab !== undefined || isGitea(apiUrlOf(spec));
    return hasNone ? "no log" : { ...NOTHING, ...faultOf(failure) };
  }
  const fault =
    `Webhook ${id} of ${connectedTo(spec)} is gone, or the token may not see it (${hooks.title} ` +
    `answered 404): run svc connect ${forgeNameOf(spec)} again for Connection "${name}"`;
  return { ...NOTHING, fault, broken: true };
}

function joined(one: LogRun, other: LogRun): LogRun {
  return {
    ...other,
    missed: [...one.missed, ...other.missed],
    repaired: [...one.repaired, ...other.repaired],
    lost: [...one.lost, ...other.lost],
  };
}
