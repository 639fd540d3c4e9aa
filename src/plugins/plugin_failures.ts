/**
 * Plugins that fail several times in a row, which no sender and no list of tasks shows. They are
 * `degraded` in `svc status` until they work again or their definition changes, and one
 * notification reports them.
 *
 * @module
 */

import type { HealthConditions } from "../base/health_conditions.ts";
import type { Catalog } from "../resources/catalog.ts";
import { CRD_KIND, type CrdSpec } from "../resources/custom_resource_definition.ts";
import type { Resource } from "../resources/resource.ts";
import type { Events } from "../store/events.ts";
import type { PluginResult, PluginRun } from "./run_plugin.ts";

/** Failures in a row from which on a plugin is reported. */
const REPEATEDLY = 2;

/** Most characters of a reason that are shown; the audit row has the whole output. */
const MAX_REASON = 300;

interface Failing {
  count: number;
  readonly kind: string;
  /** The definition that failed; a changed definition starts a new count. */
  readonly definition: Resource<CrdSpec> | undefined;
}

/** Counts the failures of each plugin in a row, until disposed. */
export class PluginFailures implements Disposable {
  readonly #health: HealthConditions;
  readonly #events: Events;
  readonly #catalog: Catalog;
  readonly #subscription: Disposable;
  readonly #failing = new Map<string, Failing>();

  constructor({ health, events, catalog }: {
    readonly health: HealthConditions;
    readonly events: Events;
    readonly catalog: Catalog;
  }) {
    this.#health = health;
    this.#events = events;
    this.#catalog = catalog;
    this.#subscription = events.on("resourcesChanged", () => this.#forgetChanged());
  }

  /**
   * Counts a run. An interceptor that ran and rejected has done its work. Failures of hooks are
   * reported by the apply that runs them.
   *
   * @param audit Id of its audit row.
   */
  ended(run: PluginRun, { result, reason, isNotRun }: PluginResult, audit: string): void {
    if (run.type === "hook") return;
    const { crdKind: kind } = run;
    const name = `plugin ${kind}/${run.name}`;
    const hasWorked = result === "ok" || result === "rejected" && isNotRun !== true;
    if (hasWorked) {
      if (this.#failing.delete(name)) this.#health.clear(name);
      return;
    }
    const failing = this.#failing.get(name) ??
      { count: 0, kind, definition: this.#definitionOf(kind) };
    failing.count++;
    this.#failing.set(name, failing);
    if (failing.count < REPEATEDLY) return;
    const [line = ""] = reason.split("\n", 1);
    const message =
      `${name} failed ${failing.count} times in a row: ${line.slice(0, MAX_REASON)} ` +
      `(svc describe audit/${audit})`;
    this.#health.set(name, message);
    if (failing.count > REPEATEDLY) return;
    this.#events.publish("incidentHappened", {
      kind: "plugin.failed",
      project: run.project,
      connection: "",
      reason: message,
    });
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #forgetChanged(): void {
    for (const [name, { kind, definition }] of this.#failing) {
      if (this.#definitionOf(kind) === definition) continue;
      this.#failing.delete(name);
      this.#health.clear(name);
    }
  }

  #definitionOf(kind: string): Resource<CrdSpec> | undefined {
    const all = this.#catalog.list(CRD_KIND) as Resource<CrdSpec>[];
    return all.find(({ spec }) => spec.kind === kind);
  }
}
