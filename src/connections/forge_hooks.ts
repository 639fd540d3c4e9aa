/**
 * The webhooks of Connections, at whichever forge they are.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { ConnectionSpec } from "../resources/connection.ts";
import type { ApiAccess } from "./api/api_call.ts";
import type { ForgeHooks } from "./api/hooks.ts";
import { gitHubHooks } from "./github/forge_hooks.ts";
import { hookOwnerOf } from "./github/hooks.ts";
import { gitLabHooks } from "./gitlab/hooks.ts";

/**
 * The webhooks that a Connection has at its forge.
 *
 * @param project The project that has them, where a group has none of its own.
 * @throws {AppError} `refused` if it is to no forge.
 */
export function forgeHooksOf(
  { github, gitlab }: ConnectionSpec,
  access: ApiAccess,
  project?: string,
): ForgeHooks {
  if (github !== undefined) return gitHubHooks(access, hookOwnerOf(github));
  if (gitlab === undefined) throw new AppError("refused", "The Connection is not to a forge");
  const { project: own, group } = gitlab;
  return gitLabHooks(access, project === undefined ? { project: own, group } : { project });
}
