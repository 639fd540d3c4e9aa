/**
 * Whether an address can be listened on now.
 *
 * @module
 */

import { messageOf } from "../../base/errors.ts";

/** Why an address cannot be listened on. */
export interface ListenFault {
  /** Whether another socket has the address. */
  readonly isTaken: boolean;
  /** The message of the system. */
  readonly message: string;
}

/** Listens on an address and stops at once; `undefined` when that worked. */
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
