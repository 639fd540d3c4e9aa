/**
 * Which service manager this machine has, and whose service is meant.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { findAt, type Scope, type ServiceHost } from "./host.ts";
import { launchd } from "./launchd.ts";
import type { ServiceManager, ServiceState } from "./service_state.ts";
import { systemd } from "./systemd.ts";

/** There while systemd runs the system. */
const BOOTED = "/run/systemd/system";

/** The first user, who may do anything. */
const ROOT = 0;

/** Whether there is a service manager that svc knows. */
export async function hasManager(host: ServiceHost): Promise<boolean> {
  return host.os === "darwin" || await findAt(host, BOOTED) !== undefined;
}

/**
 * The service manager of the system, or that of the user.
 *
 * @throws {AppError} `refused` where there is none that svc knows.
 */
export async function openManager(host: ServiceHost, scope: Scope): Promise<ServiceManager> {
  if (host.os === "darwin") return launchd(host, scope);
  if (await hasManager(host)) return systemd(host, scope);
  throw new AppError(
    "refused",
    'There is no systemd here: have your service manager run "svc init" and then "svc daemon", ' +
      "and stop it with SIGTERM",
  );
}

/** The scope of a command that names none: the system for root, else the user. */
export function usualScope({ uid }: Pick<ServiceHost, "uid">): Scope {
  return uid === ROOT ? "system" : "user";
}

/** A service manager, and the service as it is there. */
export interface FoundService {
  readonly manager: ServiceManager;
  readonly state: ServiceState | undefined;
}

/**
 * The service in the named scope; without one, the user's own service, or else the system's.
 *
 * @throws {AppError} `refused` where no service manager can be asked.
 */
export async function findService(host: ServiceHost, named?: Scope): Promise<FoundService> {
  const look = async (scope: Scope) => {
    const manager = await openManager(host, scope);
    return { manager, state: await manager.look() };
  };
  const scope = named ?? usualScope(host);
  if (named !== undefined || scope === "system") return await look(scope);
  // a session without a service manager of its own can ask that of the system
  const own = await look("user").catch((error) => ({ error }));
  if ("state" in own && own.state !== undefined) return own;
  const system = await look("system");
  if (system.state !== undefined) return system;
  if ("error" in own) throw own.error;
  return own;
}
