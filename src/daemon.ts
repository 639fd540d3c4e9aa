/**
 * A daemon, from its options to its end: start reading here. Its four parts are opened one after the
 * other. Each gets the parts before it and calls them; it reaches the others by events.
 *
 * @module
 */

import { ParallelDisposer } from "./base/parallel_disposer.ts";
import { type DaemonOptions, toConfig } from "./daemon/config.ts";
import { openExecution } from "./daemon/execution.ts";
import { openIntake } from "./daemon/intake.ts";
import { openServers } from "./daemon/servers.ts";
import { openState } from "./daemon/state.ts";

/** A running daemon; disposing it ends it in order. */
export interface Daemon extends AsyncDisposable {
  /** Base address of the webhook server, if there is one. */
  readonly webhookUrl: string | undefined;
  /** Base address of the control plane over TLS, if it has one. */
  readonly controlUrl: string | undefined;
  /** Settles when the daemon can no longer do its work and has to be ended. */
  readonly failed: Promise<Error>;
}

/**
 * Starts a daemon.
 *
 * @throws {AppError} `usage` when options contradict each other; `refused` when the data directory or
 * an address cannot be used, or is used already.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const config = toConfig(options);
  await using opening = new AsyncDisposableStack();
  const state = opening.use(await openState(config)); // ends last
  const busy = opening.use(new ParallelDisposer()); // each may wait some seconds for its unfinished work
  const execution = busy.use(await openExecution(config, state));
  const intake = busy.use(openIntake(config, state, execution));
  const { webhookUrl, controlUrl } = busy.use(
    await openServers({ config, state, execution, intake }),
  );
  execution.worker.listen(); // last, because steps ask the servers
  const open = opening.move();
  return {
    webhookUrl,
    controlUrl,
    failed: state.store.failed,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
