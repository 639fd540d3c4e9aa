/**
 * Cron plugins: each runs on its schedule in UTC, never twice at once here, and each time at one of
 * the daemons that share a store.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import type { Catalog } from "../resources/catalog.ts";
import { CRD_KIND, type CrdSpec } from "../resources/custom_resource_definition.ts";
import { DEFAULT_PROJECT, type Resource } from "../resources/resource.ts";
import { nextRun } from "../resources/schedule.ts";
import type { Cursor } from "../store/delivery_records.ts";
import type { CursorStore } from "../store/delivery_store.ts";
import { pluginsOf } from "./phases.ts";
import { type PluginHost, runPlugin } from "./run_plugin.ts";

/** What cron plugins need. */
export interface CronPluginHost extends PluginHost {
  readonly store: PluginHost["store"] & Pick<CursorStore, "claimRun">;
  /** Holds the CRDs. */
  readonly catalog: Catalog;
}

/** Time between two polls of clock and resources, because clocks jump and resources change. */
const POLL_INTERVAL_MS = 1000;
/** Output of a cron plugin is discarded. */
const MAX_OUTPUT = 1024;

/** Runs cron plugins until disposed. */
export class CronPlugins implements AsyncDisposable {
  readonly #host: CronPluginHost;
  readonly #running = new Map<string, Promise<void>>();
  readonly #timer: Disposable;
  #polledAt: number;

  /** Starts now: runs that were due before are not made up for. */
  constructor(host: CronPluginHost) {
    this.#host = host;
    this.#polledAt = host.clock.now();
    this.#timer = host.clock.every(POLL_INTERVAL_MS, () => this.poll());
  }

  /** Starts every plugin that came due since the last poll, once each. */
  poll(): void {
    const { catalog, clock } = this.#host;
    const since = this.#polledAt;
    const now = clock.now();
    this.#polledAt = now;
    if (now <= since) return; // the clock was set back: what has run is not run again
    for (const { spec } of catalog.list(CRD_KIND) as Resource<CrdSpec>[]) {
      for (const plugin of pluginsOf(spec, "cron")) {
        const due = nextRun({ schedule: plugin.schedule ?? "", timezone: "UTC" }, since);
        const key = `${spec.kind}\n${plugin.name}`;
        if (due === undefined || due > now || this.#running.has(key)) continue;
        const cursor = { name: `plugin ${spec.kind}/${plugin.name}`, at: due };
        const run = this.#run(spec, plugin, cursor).finally(() => this.#running.delete(key));
        this.#running.set(key, run);
      }
    }
  }

  /** Starts no more plugins and waits for running ones; each has a time limit of its own. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await Promise.all(this.#running.values());
  }

  async #run(
    crd: CrdSpec,
    plugin: ReturnType<typeof pluginsOf>[number],
    cursor: Cursor,
  ): Promise<void> {
    const { log, store } = this.#host;
    try {
      if (!await store.claimRun(cursor)) return; // another daemon runs it
      const { result, reason } = await runPlugin({
        crdKind: crd.kind,
        name: plugin.name,
        type: "cron",
        phase: "",
        command: plugin.command,
        ...defined({ timeout: plugin.timeout }),
        project: plugin.project ?? DEFAULT_PROJECT,
        trigger: "",
        deliveryId: "",
        env: {},
        maxOutputBytes: MAX_OUTPUT,
      }, this.#host);
      if (result !== "ok") log.warn("cron plugin failed", { plugin: plugin.name, reason });
    } catch (error) {
      log.error("cron plugin could not run", { plugin: plugin.name, error });
    }
  }
}
