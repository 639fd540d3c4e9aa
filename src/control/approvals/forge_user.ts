/**
 * Who a user of a forge is, by the number in an event. A number belongs to somebody only at one server,
 * and no payload vouches for its server: the Connection does through which its trigger is answered. Pure
 * over the catalog.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { ForgeName } from "../../base/forge_names.ts";
import { isJsonObject, objectIn, textIn } from "../../base/json.ts";
import type { Connection } from "../../connections/find_connection.ts";
import { findSubject } from "../../connections/forges.ts";
import { findForgeFor } from "../../outbox/forge_access.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { apiUrlOf } from "../../resources/connection.ts";
import { forgeIdentity } from "../../resources/person.ts";
import type { Delivery } from "../../store/delivery_records.ts";

/** The identity of a user at the server of a Connection, by what a delivery of that server is. */
export function identityThrough(
  { spec }: Connection,
  id: string,
  { forge, delivery }: { readonly forge: ForgeName; readonly delivery: Delivery },
): string {
  return forgeIdentity(platformOf(forge, delivery), id, hostOf(apiUrlOf(spec)));
}

/**
 * The identity of a user at the forge of a delivery, such as `gitlab:git.example.com/42`; `undefined` if
 * nothing vouches for the server.
 */
export function identityAt(
  id: string,
  { delivery, payload }: { readonly delivery: Delivery; readonly payload: unknown },
  catalog: Catalog,
): string | undefined {
  const subject = findSubject(payload);
  if (subject === undefined) return undefined;
  const { forge, repository } = subject;
  const { project, trigger, secretKey } = delivery;
  try {
    const connection = findForgeFor({ forge, project, trigger, repository }, catalog);
    const host = hostOf(apiUrlOf(connection.spec));
    // Another key may be that of another server with a repository of this name.
    if (secretKey !== connection.name && host !== hostIn(payload)) return undefined;
    return identityThrough(connection, id, { forge, delivery });
  } catch (error) {
    if (error instanceof AppError && error.code === "refused") return undefined;
    throw error;
  }
}

/** Gitea and Forgejo send what GitHub would, with headers of their own. */
const platformOf = (forge: ForgeName, { detail: { headerNames } }: Delivery) =>
  headerNames.includes("x-gitea-event") ? "gitea" : forge;

/** The host at which people see what an API serves. */
function hostOf(api: string): string {
  const { host } = new URL(api);
  return host === "api.github.com" ? "github.com" : host;
}

/** The host that a payload names. */
function hostIn(payload: unknown): string | undefined {
  if (!isJsonObject(payload)) return undefined;
  const { repository, project } = payload;
  const url = textIn(objectIn(project)["web_url"]) || textIn(objectIn(repository)["html_url"]);
  return URL.canParse(url) ? new URL(url).host : undefined;
}
