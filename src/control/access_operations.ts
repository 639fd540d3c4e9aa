/**
 * The handlers of the operations on tokens, on logins and on the audit.
 *
 * @module
 */

import type { ACCESS_OPERATIONS } from "../api/access_operations.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { defined } from "../base/defined.ts";
import type { NewId } from "../base/ids.ts";
import { keepToken, newToken, revokeToken } from "../auth/tokens.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { AuditLog } from "./records/audit_log.ts";
import type { Handlers } from "./server/server.ts";
import type { AuditStore, TokenStore } from "../store/audit_store.ts";

/** The tokens of a daemon, and the audit of their changes. */
interface AccessHost extends AuditLog {
  readonly store: AuditStore & TokenStore;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly catalog: Catalog;
}

/** The handlers, by name of the operation. */
export function accessHandlers(
  host: AccessHost,
): Pick<Handlers, keyof typeof ACCESS_OPERATIONS> {
  return {
    async "token.create"({ role, person, gateway, ttl_secs: ttlSecs, name }, caller) {
      const made = newToken({ ttlSecs, name, ...defined({ role, person, gateway }) }, host);
      const audited = { operation: "token.create", targets: [name], caller };
      await host.audited(audited, () => keepToken(made, host.store));
      return made.shown;
    },
    async "token.revoke"({ id }, caller) {
      const audited = { operation: "token.revoke", targets: [id], caller };
      return { id: (await host.audited(audited, () => revokeToken(id, host))).id };
    },
    async "person.login"(_input, caller) {
      const { person, viaGateway } = caller;
      if (person === undefined || viaGateway !== true) {
        throw new AppError("forbidden", "Only a gateway logs people in");
      }
      const targets = [`person/${person}`];
      const audited = { operation: "person.login", targets, caller };
      return await host.audited(audited, () => Promise.resolve({ person }));
    },
    "audit.verify": () => host.store.verifyAudit(),
  };
}
