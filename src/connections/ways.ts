/**
 * By which Connections a trigger's answers and questions reach a platform, or why there is no way. Pure
 * over the catalog.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import { type ConnectionSpec, platformOfConnection } from "../resources/connection.ts";
import { endpointOf } from "../resources/endpoints.ts";
import { type PlatformUse, platformUses } from "../resources/platform_uses.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { WorkflowSpec } from "../resources/workflow.ts";
import { type Connection, findConnection, readToken } from "./find_connection.ts";

/** One thing for which a trigger needs a platform, and how it gets there. */
export interface Way extends PlatformUse {
  /** What it goes through, as a person would name it; none where there is no way. */
  readonly over: readonly string[];
  /** Why there is no way, and what to do, one sentence without a full stop. */
  readonly lack?: string;
}

/**
 * How a trigger reaches the platforms that it needs, as far as that is known before an event comes:
 * which of several Connections covers its repository is not.
 */
export function waysOf(trigger: Resource<TriggerSpec>, catalog: Catalog): readonly Way[] {
  return platformUses(trigger.spec).filter((use) => isNeeded(use, trigger, catalog)).map((use) => {
    try {
      const over = use.platform === "slack"
        ? slackOver(trigger, catalog)
        : overGitHub(trigger, catalog);
      return { ...use, over };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { ...use, over: [], lack: error.message };
    }
  });
}

/** `from` with `only: agents` asks nobody while the workflow has no agent. */
function isNeeded(
  { does }: PlatformUse,
  { project, spec }: Resource<TriggerSpec>,
  catalog: Catalog,
): boolean {
  if (does !== "asks" || spec.event.webhook?.from?.only !== "agents") return true;
  const workflow = catalog.find<WorkflowSpec>("Workflow", project, spec.action.workflow);
  const { steps = [], finally: last = [] } = workflow?.spec ?? {};
  return [...steps, ...last].some(({ agent }) => agent !== undefined);
}

/** The Connections to GitHub that it may go through, whichever covers the repository of an event. */
function overGitHub({ project, spec }: Resource<TriggerSpec>, catalog: Catalog): string[] {
  const named = spec.event.webhook?.connection;
  const all = (catalog.list("Connection", project) as Connection[])
    .filter((one) => platformOfConnection(one.spec) === "github");
  const some = named === undefined && all.length > 0 ? all : [
    findConnection(
      { project, platform: "github", ...defined({ named }) },
      catalog,
    ),
  ];
  return withToken(some, (one) => readToken(one, one.spec.github!.token, catalog));
}

/** The Connections that can be used; where none can, what is wrong with the first. */
function withToken(some: readonly Connection[], read: (one: Connection) => string): string[] {
  const usable = some.filter((one) => {
    try {
      return read(one) !== "";
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  });
  if (usable.length === 0 && some[0] !== undefined) read(some[0]);
  return usable.map(({ name }) => `connection/${name}`);
}

function slackOver(trigger: Resource<TriggerSpec>, catalog: Catalog): string[] {
  const name = slackConnectionOf(trigger, catalog);
  if (name === "") return ["its own bot token"];
  const found = catalog.find<ConnectionSpec>("Connection", trigger.project, name)!;
  return withToken([found], (one) => readToken(one, one.spec.slack!.botToken, catalog));
}

/**
 * The Connection whose bot posts for a trigger that has no bot token of its own: the one it names, the
 * one that brings the events of its endpoint, else the only one to Slack. Empty where it has a token.
 *
 * @throws {AppError} `refused` where there is none, or several.
 */
export function slackConnectionOf(trigger: Resource<TriggerSpec>, catalog: Catalog): string {
  const { project, spec: { event: { webhook } } } = trigger;
  if (webhook?.slack?.botToken !== undefined) return "";
  const all = (catalog.list("Connection", project) as Connection[])
    .filter(({ spec }) => spec.slack !== undefined);
  if (all.length === 0 && webhook?.connection === undefined) throw noBotToken(trigger.name);
  const at = all.filter(({ spec }) => spec.slack?.endpoint === endpointOf(trigger));
  const named = webhook?.connection ?? (at.length === 1 ? at[0]?.name : undefined);
  const wanted = { project, platform: "slack" } as const;
  return findConnection(named === undefined ? wanted : { ...wanted, named }, catalog).name;
}

/** Why nothing can be posted for a trigger where there is no Connection to Slack either. */
export function noBotToken(trigger: string): AppError {
  return new AppError(
    "refused",
    `Trigger "${trigger}" names no bot token: set spec.event.webhook.slack.botToken, or make a ` +
      "Connection with svc connect slack",
  );
}
