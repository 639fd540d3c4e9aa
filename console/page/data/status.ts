/**
 * The state of the daemon, for every screen.
 *
 * @module
 */

import { signal } from "@preact/signals";
import type { Status } from "../../../src/api/status_operations.ts";

/** The newest state of the daemon; `undefined` until the first answer. */
export const status = signal<Status | undefined>(undefined);
