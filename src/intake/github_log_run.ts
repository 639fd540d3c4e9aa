/**
 * Reads GitHub's logs for the webhooks of one Connection: has GitHub send missed events again
 * (`events: push`), or takes the events from the log (`events: pull`).
 *
 * @module
 */

import { messageOf, toAppError } from "../base/errors.ts";
import type { Connection } from "../connections/find_connection.ts";
import type { ForgeTokens } from "../connections/forge_tokens.ts";
import type { RestFailure } from "../connections/api/rest.ts";
import { readLogged } from "../connections/github/delivery_log.ts";
import { findHook, hookOwnerOf, isGitea } from "../connections/github/hooks.ts";
import type { MissedEvent } from "../connections/github/missed_events.ts";
import {
  faultOf,
  GUID,
  type HookLog,
  type LogFindings,
  type LogHost,
  readLog,
  redeliverMissed,
  type RepairedHook,
} from "../connections/github/repair_hook.ts";
import type { Catalog } from "../resources/catalog.ts";
import { connectedTo, type GitHubSpec } from "../resources/connection.ts";
import { LogNotes, type LogNotesHost, type LogRun } from "./github_log_notes.ts";
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
interface HookOfConnection {
  readonly connection: Connection;
  readonly id: number;
  readonly endpoint: string;
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
    const hooks = connection.spec.github?.hooks ?? [];
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
    for (const { id, endpoint } of hooks) {
      const mark = before?.marks[String(id)];
      const upTo = options.since ?? mark ?? connection.createdAt;
      const isMark = options.since === undefined && mark !== undefined;
      const done = await this.#hook({ connection, id, endpoint, upTo, isMark }, options);
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
    { connection, id, endpoint, upTo, isMark }: HookOfConnection,
    { dryRun = false, onStep = () => {}, signal }: LogRunOptions,
  ): Promise<LogRun | "no log"> {
    const github = githubOf(connection);
    const owner = hookOwnerOf(github);
    const access = this.#host.forgeTokens.hookAccess(connection, signal);
    const log: HookLog = { access, owner, hook: id, project: connection.project, upTo, signal };
    const isPull = github.events === "pull";
    const at = `${connection.project}\n${connection.name}\n${connection.createdAt}\n${id}`;
    const found = await readLog(log, this.#host, isPull ? this.#etags.get(at) : undefined);
    if (found === "unchanged") return NOTHING;
    if ("ok" in found) return await whyNoLog(found, log, connection);
    const { missed } = found;
    if (dryRun) return { missed, repaired: [], lost: [] };
    const ended = isPull
      ? await this.#pull(log, found, { connection, endpoint })
      : await redeliverMissed(log, found, { ...this.#host, onStep });
    if (ended.fault === undefined && found.etag !== undefined) this.#etags.set(at, found.etag);
    // An operator who chose the begin need not hear that the log does not reach so far back.
    const { beyond: _, ...withoutBeyond } = found;
    const reported = isMark ? found : withoutBeyond;
    await this.notes.hookDone(connection, { id, found: reported, ended, isPull });
    return { missed, ...ended };
  }

  /** Takes the events of the log, oldest first. */
  async #pull(
    { access, owner, hook, signal }: HookLog,
    { missed }: LogFindings,
    { connection, endpoint }: { connection: Connection; endpoint: string },
  ): Promise<RepairedHook> {
    const { project, name } = connection;
    const repaired: MissedEvent[] = [];
    const lost: MissedEvent[] = [];
    for (const event of missed) {
      if (signal.aborted) return { repaired, lost, fault: "The reading was ended" };
      const taken = `${project}\n${hook}\n${event.guid}`;
      if (this.#taken.has(taken)) continue;
      const read = await readLogged(access, { owner, hook, id: event.last.id });
      if (read !== undefined && "ok" in read) return { repaired, lost, ...faultOf(read) };
      if (read === undefined) {
        lost.push(event);
        continue;
      }
      const { body } = read;
      // The id of the event in the log is also its id here.
      const headers = { ...read.headers, [GUID]: event.guid };
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

/** Why a log cannot be read: the webhook is gone, or the server keeps no log. */
async function whyNoLog(
  failure: RestFailure,
  { access, owner, hook }: HookLog,
  { name, spec }: Connection,
): Promise<LogRun | "no log"> {
  if (failure.status !== 404) return { ...NOTHING, ...faultOf(failure) };
  const found = await findHook(access, owner, hook);
  if (found !== undefined && "ok" in found) return { ...NOTHING, ...faultOf(found) };
  if (found !== undefined) {
    return isGitea(access.api) ? "no log" : { ...NOTHING, ...faultOf(failure) };
  }
  const fault =
    `Webhook ${hook} of ${connectedTo(spec)} is gone, or the token may not see it (GitHub ` +
    `answered 404): run svc connect github again for Connection "${name}"`;
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

function githubOf({ spec }: Connection): GitHubSpec {
  if (spec.github === undefined) throw new Error("Only Connections to GitHub have logs");
  return spec.github;
}
