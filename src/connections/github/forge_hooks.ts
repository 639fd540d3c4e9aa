/**
 * The webhooks of a repository, an organization or an App at GitHub, as all forges have them.
 *
 * @module
 */

import type { ApiAccess } from "../api/api_call.ts";
import type { ForgeHooks } from "../api/hooks.ts";
import { gitHubLog } from "./delivery_log.ts";
import {
  deleteHook,
  ensureHook,
  findHook,
  type HookOwner,
  hookPage,
  isGitea,
  listHooks,
  ping,
  setHook,
} from "./hooks.ts";

/** The webhooks of an owner. */
export function gitHubHooks(access: ApiAccess, owner: HookOwner): ForgeHooks {
  return {
    title: "GitHub",
    list: () => listHooks(access, owner),
    find: (id) => findHook(access, owner, id),
    ensure: (given) => ensureHook(access, owner, given),
    set: async (hook, wanted) => ({
      hook: await setHook(access, owner, { hook, wanted }),
      action: "configured",
      changes: [],
      secret: wanted.secret,
    }),
    delete: (id) => deleteHook(access, owner, id),
    ping: (id) => ping(access, owner, id),
    pingsNew: !isGitea(access.api),
    page: (id) => isGitea(access.api) ? "" : hookPage(access.api, owner, id),
    log: (id) => gitHubLog(access, owner, id),
  };
}
