/**
 * Cron plugins: each runs on its schedule in UTC. A daemon never runs one twice at once, and of the
 * daemons that share a store, one runs it each time.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import type { Catalog } from "../resources/catalog.ts";
import {
  CRD_KIND,
  type CrdSpec,
  type PluginSpec,
} from "../resources/custom_resource_definition.ts";
import { DEFAULT_PROJECT, type Resource } from "../resources/resource.ts";
import { nextRun } from "../resources/schedule.ts";
import type { Cursor } from "../store/delivery_records.ts";
import type { CursorStore } from "../store/delivery_store.ts";
import { pluginsOf } from "./phases.ts";
import { type PluginHost, runPlugin } from "./run_plugin.ts";

/** Time between two polls of clock and resources, because clocks jump and resources change. */
const POLL_INTERVAL_MS = 1000;
/** Output of a cron plugin is discarded. */
const MAX_OUTPUT = 1024;

/** Runs cron plugins until disposed. */
export class CronPlugins implements AsyncDisposable {
  readonly #host: PluginHost;
  readonly #catalog: Catalog;
  readonly #cursors: CursorStore;
  readonly #running = new Map<string, Promise<void>>();
  readonly #timer: Disposable;
  #polledAt: number;

  /** Starts now: runs that were due earlier are skipped. */
  constructor(host: PluginHost, catalog: Catalog, cursors: CursorStore) {
    this.#host = host;
    this.#catalog = catalog;
    this.#cursors = cursors;
    this.#polledAt = host.clock.now();
    this.#timer = host.clock.every(POLL_INTERVAL_MS, () => this.poll());
  }

  /** Starts every plugin that came due since the last poll, once each. */
  poll(): void {
    const since = this.#polledAt;
    const now = this.#host.clock.now();
    this.#polledAt = now;
    if (now <= since) return; // the clock was set back: no plugin runs a second time
    for (const { spec } of this.#catalog.list(CRD_KIND) as Resource<CrdSpec>[]) {
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

  /** Starts no more plugins and waits for running ones, each of which has a time limit. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await Promise.all(this.#running.values());
  }

  async #run(crd: CrdSpec, plugin: PluginSpec, cursor: Cursor): Promise<void> {
    const { log } = this.#host;
    try {
      if (!await this.#cursors.claimRun(cursor)) return; // another daemon runs it
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
