/**
 * Cron plugins: run on their schedule in UTC, never two runs of one at once. One timer for
 * the next of all; planned anew whenever the resources have changed.
 *
 * @module
 */

import type { Catalog } from "../resources/catalog.ts";
import { CRD_KIND, type CrdSpec } from "../resources/custom_resource_definition.ts";
import { DEFAULT_PROJECT, type Resource } from "../resources/resource.ts";
import { nextRun } from "../resources/schedule.ts";
import { pluginsOf } from "./phases.ts";
import { type PluginHost, runPlugin } from "./run_plugin.ts";

/** What cron plugins need. */
export interface CronPluginHost extends PluginHost {
  /** Holds the CRDs. */
  readonly catalog: Catalog;
}

/** Longest time between two looks at clock and resources: clocks jump, and applies come. */
const POLL_INTERVAL_MS = 1000;
/** Output of a cron plugin goes nowhere. */
const MAX_OUTPUT = 1024;

/** Runs cron plugins until disposed. */
export class CronPlugins implements AsyncDisposable {
  readonly #host: CronPluginHost;
  readonly #running = new Map<string, Promise<void>>();
  readonly #timer: Disposable;
  #looked: number;

  /** Starts now: what was due before is not made up for. */
  constructor(host: CronPluginHost) {
    this.#host = host;
    this.#looked = host.clock.now();
    this.#timer = host.clock.every(POLL_INTERVAL_MS, () => this.look());
  }

  /** Starts every plugin that came due since the last look, once each. */
  look(): void {
    const { catalog, clock } = this.#host;
    const since = this.#looked;
    const now = clock.now();
    this.#looked = now;
    if (now <= since) return; // the clock was set back: what ran, ran
    for (const { spec } of catalog.list(CRD_KIND) as Resource<CrdSpec>[]) {
      for (const plugin of pluginsOf(spec, "cron")) {
        const due = nextRun({ schedule: plugin.schedule ?? "", timezone: "UTC" }, since);
        const key = `${spec.kind}\n${plugin.name}`;
        if (due === undefined || due > now || this.#running.has(key)) continue;
        this.#running.set(key, this.#run(spec, plugin).finally(() => this.#running.delete(key)));
      }
    }
  }

  /** Starts nothing more and waits for what runs; each run has a limit of its own. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await Promise.all(this.#running.values());
  }

  async #run(crd: CrdSpec, plugin: ReturnType<typeof pluginsOf>[number]): Promise<void> {
    const { log } = this.#host;
    try {
      const { result, reason } = await runPlugin({
        crdKind: crd.kind,
        name: plugin.name,
        type: "cron",
        phase: "",
        command: plugin.command,
        ...(plugin.timeout === undefined ? {} : { timeout: plugin.timeout }),
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
