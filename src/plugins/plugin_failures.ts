/**
 * Plugins that fail one time after the other, which no sender and no list of tasks shows: they are
 * `degraded` in `svc status` until they work again or their definition changes, and told of once.
 *
 * @module
 */

import type { HealthConditions } from "../base/health_conditions.ts";
import type { Catalog } from "../resources/catalog.ts";
import { CRD_KIND, type CrdSpec } from "../resources/custom_resource_definition.ts";
import type { Resource } from "../resources/resource.ts";
import type { Events } from "../store/events.ts";
import type { PluginResult, PluginRun } from "./run_plugin.ts";

/** What counting needs. */
export interface PluginFailuresHost {
  readonly health: HealthConditions;
  readonly events: Events;
  readonly catalog: Catalog;
}

/** So often in a row is repeatedly. */
const REPEATEDLY = 2;

/** Characters of a reason that are shown: the audit row has all of what the plugin printed. */
const MAX_REASON = 300;

interface Failing {
  count: number;
  readonly kind: string;
  /** The definition that failed: another one starts anew. */
  readonly definition: Resource<CrdSpec> | undefined;
}

/** Counts until disposed. */
export class PluginFailures implements Disposable {
  readonly #host: PluginFailuresHost;
  readonly #subscription: Disposable;
  readonly #failing = new Map<string, Failing>();

  /** Nothing has failed yet. */
  constructor(host: PluginFailuresHost) {
    this.#host = host;
    this.#subscription = host.events.on("resourcesChanged", () => this.#forgetChanged());
  }

  /**
   * Notes what came of a run. To reject is the work of an interceptor that has run; hooks are told of
   * by the apply that runs them.
   *
   * @param audit Id of its audit row.
   */
  ended(run: PluginRun, { result, reason, isNotRun }: PluginResult, audit: string): void {
    if (run.type === "hook") return;
    const { crdKind: kind } = run;
    const name = `plugin ${kind}/${run.name}`;
    const hasWorked = result === "ok" || result === "rejected" && isNotRun !== true;
    if (hasWorked) {
      if (this.#failing.delete(name)) this.#host.health.clear(name);
      return;
    }
    const failing = this.#failing.get(name) ??
      { count: 0, kind, definition: this.#definitionOf(kind) };
    failing.count++;
    this.#failing.set(name, failing);
    if (failing.count < REPEATEDLY) return;
    const [line = ""] = reason.split("\n", 1);
    const said = `${name} failed ${failing.count} times in a row: ${line.slice(0, MAX_REASON)} ` +
      `(svc describe audit/${audit})`;
    this.#host.health.set(name, said);
    if (failing.count > REPEATEDLY) return;
    this.#host.events.publish("incidentHappened", {
      kind: "plugin.failed",
      project: run.project,
      connection: "",
      reason: said,
    });
  }

  /** Hears of no more changes. */
  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #forgetChanged(): void {
    for (const [name, { kind, definition }] of this.#failing) {
      if (this.#definitionOf(kind) === definition) continue;
      this.#failing.delete(name);
      this.#host.health.clear(name);
    }
  }

  #definitionOf(kind: string): Resource<CrdSpec> | undefined {
    const all = this.#host.catalog.list(CRD_KIND) as Resource<CrdSpec>[];
    return all.find(({ spec }) => spec.kind === kind);
  }
}
