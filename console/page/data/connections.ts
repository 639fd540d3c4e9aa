/**
 * Connections to platforms as the daemon shows them.
 *
 * @module
 */

import type { Resource } from "./resources.ts";

/** The part of a Connection that the page shows. */
export type Connection = Resource<
  Readonly<Record<string, { readonly repository?: string; readonly organization?: string }>>,
  {
    readonly login: string | null;
    readonly token_expires_at: string | null;
    readonly last_event_at: string | null;
    readonly events_lost: number;
    readonly events_repaired: number;
    readonly connected_since?: string | null;
    readonly fault: string | null;
  }
>;
