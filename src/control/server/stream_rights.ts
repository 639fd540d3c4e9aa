/**
 * Ends a stream when its caller loses the rights with which it was opened: the Person of a token was
 * deleted or got a lower role, the token was revoked or has expired, the run of a run token is over.
 *
 * @module
 */

import type { Caller } from "../../auth/caller.ts";
import { AppError } from "../../base/errors.ts";
import type { Clock } from "../../base/clock.ts";
import { hasRole } from "../../base/roles.ts";
import type { Events } from "../../store/events.ts";

/** How long after a change that is not announced, such as the end of a token, a stream goes on. */
const LOOK_AGAIN_MS = 15_000;

/** Codes that say who the caller is no more; by any other, nobody knows. */
const REFUSED: ReadonlySet<string> = new Set(["forbidden", "unauthorized"]);

/** How the caller of a request is found, and what tells that it may have changed. */
export interface RightsHost {
  readonly identify: (request: Request) => Promise<Caller | undefined>;
  readonly events: Pick<Events, "on">;
  readonly clock: Clock;
}

/** The rights of the caller of a stream; disposing it ends the looks. */
export interface StreamRights extends Disposable {
  /** Aborts when they are lost, with an {@linkcode AppError} as its reason. */
  readonly signal: AbortSignal;
}

/** Looks again who the caller of a request is whenever resources change, and every 15 seconds. */
export function watchRights(request: Request, caller: Caller, host: RightsHost): StreamRights {
  const lost = new AbortController();
  const look = async () => {
    let now: Caller | undefined;
    try {
      now = await host.identify(request);
    } catch (error) {
      if (!(error instanceof AppError) || !REFUSED.has(error.code)) return; // not known just now
    }
    if (now?.person === caller.person && now !== undefined && hasRole(now.role, caller.role)) {
      return;
    }
    lost.abort(new AppError("forbidden", "You lost the rights with which this was opened"));
  };
  const watching = new DisposableStack();
  watching.use(host.events.on("resourcesChanged", () => void look()));
  watching.use(host.clock.every(LOOK_AGAIN_MS, () => void look()));
  return { signal: lost.signal, [Symbol.dispose]: () => watching.dispose() };
}
