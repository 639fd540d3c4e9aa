/**
 * The handlers of the operations on sandboxes.
 *
 * @module
 */

import type { SANDBOX_OPERATIONS } from "../../api/sandbox_operations.ts";
import type { Handlers } from "../server/server.ts";
import { showSandbox } from "./show_sandbox.ts";
import { type TryHost, trySandbox } from "./try_sandbox.ts";

/** The sandboxes of a daemon, and what a command in one of them is given. */
export type SandboxesHost = TryHost;

/** The handlers, by name of the operation. */
export function sandboxHandlers(
  host: SandboxesHost,
): Pick<Handlers, keyof typeof SANDBOX_OPERATIONS> {
  return {
    "sandbox.show": (input) => showSandbox(input, host),
    "sandbox.try": (input, caller, signal) => trySandbox(input, caller, host, signal),
  };
}
