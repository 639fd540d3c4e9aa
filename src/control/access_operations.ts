/**
 * The handlers of the operations on tokens and on the audit.
 *
 * @module
 */

import type { ACCESS_OPERATIONS } from "../api/access_operations.ts";
import { keepToken, newToken, revokeToken, type TokenHost } from "../auth/tokens.ts";
import type { AuditLog } from "./audit_log.ts";
import type { Handlers } from "./server/server.ts";
import type { AuditStore } from "../store/audit_store.ts";

/** What these operations need. */
export type AccessHost =
  & TokenHost
  & Pick<AuditLog, "audit">
  & { readonly store: AuditStore };

/** The handlers, by name of the operation. */
export function accessHandlers(
  host: AccessHost,
): Pick<Handlers, keyof typeof ACCESS_OPERATIONS> {
  return {
    async "token.create"({ role, ttl_secs: ttlSecs, name }, caller) {
      const made = newToken({ role, ttlSecs, name }, host);
      await host.audit("token.create", name, caller);
      await keepToken(made, host.store);
      return made.shown;
    },
    async "token.revoke"({ id }, caller) {
      await host.audit("token.revoke", id, caller);
      return { id: (await revokeToken(id, host)).id };
    },
    "audit.verify": () => host.store.verifyAudit(),
  };
}
