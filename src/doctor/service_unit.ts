/**
 * The service: whether systemd or launchd start svc, and whether it comes up.
 *
 * @module
 */

import { commandLines } from "../service/steps.ts";
import type { FoundService } from "../service/service_lookup.ts";
import { type Check, failed, type Finding, ok, warning } from "./check.ts";

/** A data directory, and the service that may run its daemon. */
export interface ServiceUnitHost {
  /** The service; `undefined` without a service manager that can be asked. */
  readonly service: FoundService | undefined;
  readonly dataDir: string;
}

/** Passes on what the service manager says. */
export const serviceUnit: Check<ServiceUnitHost> = {
  name: "service",
  async look({ service, dataDir }) {
    if (service === undefined) return [];
    const { manager, state } = service;
    if (state === undefined) {
      return [ok('None is installed: "svc service install" installs one')];
    }
    const name = manager.service;
    if (state.dataDir !== undefined && state.dataDir !== dataDir) {
      return [ok(`${name} runs ${state.dataDir}, not this data directory`)];
    }
    const found: readonly Finding[] = [
      ...state.isEnabled ? [] : [warning(
        `${name} is not enabled, so it does not start by itself: ${commandLines(manager.start)}`,
      )],
      ...findTrouble(service),
      ...(await manager.warnings()).map(warning),
    ];
    return found.length === 0 ? [ok(`${name} is enabled and runs`)] : found;
  },
};

function findTrouble({ manager: { service, start }, state }: FoundService): readonly Finding[] {
  const cure = 'see its log, "svc service logs"';
  if (state?.state === "failed") return [failed(`${service} has failed: ${cure}`)];
  if (state?.state === "stopped") return [warning(`${service} is stopped: ${commandLines(start)}`)];
  if (state === undefined || state.restarts === 0) return [];
  const times = `${state.restarts} ${state.restarts === 1 ? "time" : "times"}`;
  if (state.state === "starting") {
    return [failed(`${service} does not come up, and was started again ${times}: ${cure}`)];
  }
  return [warning(`${service} was started again ${times}, after its daemon had failed: ${cure}`)];
}
