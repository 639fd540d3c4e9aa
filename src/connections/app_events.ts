/**
 * Events of the webhook of an App, which are of every repository that it is installed on: which of them
 * a trigger takes, and those that say that the App was installed elsewhere, suspended or removed.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { Catalog } from "../resources/catalog.ts";
import { connectedTo, type ConnectionSpec } from "../resources/connection.ts";
import { endpointOf } from "../resources/endpoints.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { Events } from "../store/events.ts";
import { type Connection, coversRepository, repositoryOf } from "./find_connection.ts";
import type { ForgeTokens } from "./forge_tokens.ts";

/** The part of an event that is read here. */
export interface AppEvent {
  readonly trigger: { readonly resource: Resource<TriggerSpec> };
  readonly payload: unknown;
}

/** The state of the daemon that follows the installations of Apps. */
export interface AppEventsHost {
  readonly catalog: Catalog;
  readonly events: Events;
  readonly forgeTokens: ForgeTokens;
}

/** Reads the events of Apps. */
export class AppEvents {
  readonly #host: AppEventsHost;

  constructor(host: AppEventsHost) {
    this.#host = host;
  }

  /**
   * Why an event starts nothing, whatever its trigger says: its trigger names the Connection of an App,
   * and the event is not of a repository that this Connection is to. `undefined` for any other event.
   */
  whyUncovered({ trigger: { resource }, payload }: AppEvent): string | undefined {
    if (!isJsonObject(payload)) return undefined;
    this.#noticeInstallation(resource, payload);
    const name = resource.spec.event.webhook?.connection;
    if (name === undefined) return undefined;
    const found = this.#host.catalog.find<ConnectionSpec>("Connection", resource.project, name);
    const { app, organization } = found?.spec.github ?? {};
    if (found === undefined || app === undefined) return undefined;
    const repository = repositoryOf(payload);
    const isCovered = repository === undefined
      ? organization === undefined
        ? found.spec.github?.repositories === undefined
        : accountOf(payload)?.toLowerCase() === organization.toLowerCase()
      : coversRepository(found.spec, repository);
    if (isCovered) return undefined;
    const what = repository === undefined
      ? "names no repository that"
      : `is of ${repository}, which`;
    return `the event ${what} Connection "${name}" to ${connectedTo(found.spec)} does not cover`;
  }

  /** Forgets the tokens of an App that was installed elsewhere, suspended or removed. */
  #noticeInstallation(trigger: Resource<TriggerSpec>, payload: JsonObject): void {
    const { installation } = payload;
    // Other events have its id alone.
    if (!isJsonObject(installation) || !isJsonObject(installation["account"])) return;
    const { catalog, forgeTokens, events } = this.#host;
    const { project } = trigger;
    const endpoint = endpointOf(trigger);
    for (const connection of catalog.list("Connection", project) as Connection[]) {
      const { app, hooks = [] } = connection.spec.github ?? {};
      if (app === undefined || !hooks.some((hook) => hook.endpoint === endpoint)) continue;
      forgeTokens.forgetAll(connection);
      events.publish("installationChanged", { project, name: connection.name });
    }
  }
}

/** Login of the account that an event without a repository is of. */
function accountOf(payload: JsonObject): string | undefined {
  const { organization, installation } = payload;
  const account = isJsonObject(installation) ? installation["account"] : undefined;
  const names = [organization, account].map((one) => isJsonObject(one) ? one["login"] : undefined);
  return names.find((name) => typeof name === "string");
}
