/**
 * Whether an address could be listened on just now.
 *
 * @module
 */

import { messageOf } from "../../base/errors.ts";

/** Why an address cannot be listened on. */
export interface ListenFault {
  /** Whether another socket has it. */
  readonly isTaken: boolean;
  /** As the system says it. */
  readonly message: string;
}

/** Listens there for a moment; `undefined` when that worked. */
export function findListenFault(
  on: { readonly hostname: string; readonly port: number },
): ListenFault | undefined {
  try {
    Deno.listen({ hostname: on.hostname, port: on.port }).close();
    return undefined;
  } catch (error) {
    return { isTaken: error instanceof Deno.errors.AddrInUse, message: messageOf(error) };
  }
}
