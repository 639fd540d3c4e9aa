/**
 * The Connections through which a trigger's answers and questions reach a platform, or why there is no
 * way. Pure over the catalog.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import {
  type ConnectedPlatform,
  type ConnectionSpec,
  platformOfConnection,
} from "../resources/connection.ts";
import { endpointOf } from "../resources/endpoints.ts";
import { type PlatformUse, platformUses } from "../resources/platform_uses.ts";
import type { Resource } from "../resources/resource.ts";
import { allSteps } from "../resources/step_list.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { WorkflowSpec } from "../resources/workflow.ts";
import { type Connection, findConnection, readToken } from "./find_connection.ts";
import { checkForgeToken } from "./forge_tokens.ts";

/** A need of a trigger for a platform, and the way there. */
export interface Way extends PlatformUse {
  /** `connection/NAME` of each Connection, or `its own bot token`; empty if there is no way. */
  readonly over: readonly string[];
  /** Why there is no way and what to do, one sentence without a full stop. */
  readonly lack?: string;
}

/**
 * The ways of a trigger to the platforms that it needs. Before an event comes it is not known which of
 * several Connections covers its repository, so all of them are named.
 */
export function waysOf(trigger: Resource<TriggerSpec>, catalog: Catalog): readonly Way[] {
  return platformUses(trigger.spec).filter((use) => isNeeded(use, trigger, catalog)).map((use) => {
    try {
      const over = use.platform === "slack"
        ? overSlack(trigger, catalog)
        : overForge(trigger, use.platform, catalog);
      return { ...use, over };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { ...use, over: [], lack: error.message };
    }
  });
}

/** `from` with `only: agents` needs no platform while the workflow has no agent. */
function isNeeded(
  { does }: PlatformUse,
  { project, spec }: Resource<TriggerSpec>,
  catalog: Catalog,
): boolean {
  if (does !== "asks" || spec.event.webhook?.from?.only !== "agents") return true;
  if (spec.action === undefined) return false;
  const workflow = catalog.find<WorkflowSpec>("Workflow", project, spec.action.workflow);
  return workflow !== undefined && allSteps(workflow.spec).some(({ agent }) => agent !== undefined);
}

/** The Connections to a forge, any of which may cover the repository of an event. */
function overForge(
  { project, spec }: Resource<TriggerSpec>,
  platform: ConnectedPlatform,
  catalog: Catalog,
): string[] {
  const named = spec.event.webhook?.connection;
  const all = (catalog.list("Connection", project) as Connection[])
    .filter(({ spec }) => platformOfConnection(spec) === platform);
  const query = { project, platform, ...defined({ named }) };
  const usable = named === undefined && all.length > 0 ? all : [findConnection(query, catalog)];
  return withToken(usable, (one) => checkForgeToken(one, catalog));
}

/** The Connections whose token can be read; if there is none, throws the fault of the first. */
function withToken(some: readonly Connection[], read: (one: Connection) => void): string[] {
  const usable = some.filter((one) => {
    try {
      read(one);
      return true;
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  });
  if (usable.length === 0 && some[0] !== undefined) read(some[0]);
  return usable.map(({ name }) => `connection/${name}`);
}

function overSlack(trigger: Resource<TriggerSpec>, catalog: Catalog): string[] {
  const name = slackConnectionOf(trigger, catalog);
  if (name === "") return ["its own bot token"];
  const found = catalog.find<ConnectionSpec>("Connection", trigger.project, name)!;
  return withToken([found], (one) => readToken(one, one.spec.slack!.botToken, catalog));
}

/**
 * The Connection whose bot posts for a trigger without a bot token: the Connection that the trigger
 * names, else the Connection of its endpoint, else the only one to Slack. Empty for a trigger with a
 * bot token.
 *
 * @throws {AppError} `refused` if there is none, or there are several.
 */
export function slackConnectionOf(trigger: Resource<TriggerSpec>, catalog: Catalog): string {
  const { project, spec: { event: { webhook } } } = trigger;
  if (webhook?.slack?.botToken !== undefined) return "";
  const all = (catalog.list("Connection", project) as Connection[])
    .filter(({ spec }) => spec.slack !== undefined);
  if (all.length === 0 && webhook?.connection === undefined) throw noBotToken(trigger.name);
  const at = all.filter(({ spec }) => spec.slack?.endpoint === endpointOf(trigger));
  const named = webhook?.connection ?? (at.length === 1 ? at[0]?.name : undefined);
  return findConnection({ project, platform: "slack", ...defined({ named }) }, catalog).name;
}

/** The refusal to post for a trigger that has neither a bot token nor a Connection to Slack. */
export function noBotToken(trigger: string): AppError {
  return new AppError(
    "refused",
    `Trigger "${trigger}" names no bot token: set spec.event.webhook.slack.botToken, or make a ` +
      "Connection with svc connect slack",
  );
}
