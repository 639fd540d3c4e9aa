/**
 * Authenticates a webhook delivery: the signature scheme of its trigger against every value of its
 * SecretStore. Anything missing ends in `unauthorized`; the only way past without a signature is
 * `allowUnsigned`, written in the manifest.
 *
 * @module
 */

import { unauthorized } from "../../base/errors.ts";
import { intercept, type PluginDelivery, pluginsOf } from "../../plugins/phases.ts";
import type { PluginHost } from "../../plugins/run_plugin.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { CrdSpec } from "../../resources/custom_resource_definition.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import { type AuthenticatedDelivery, markAuthenticated } from "./authenticated_delivery.ts";
import { checkAddress, checkNoPage } from "./check_origin.ts";
import { checkSignature, type SignatureHost } from "./check_signature.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";
import { senderOf } from "./signing.ts";

/** The sources of keys and certificates, and the plugins that check senders. */
export interface AuthenticateHost extends SignatureHost {
  readonly plugins: PluginHost;
}

/** The reason of a refusal if a manifest does not say how senders are known. */
const NO_SECRET = "the trigger names no secret: set secret.fromRef, crdRef or allowUnsigned";

/**
 * Checks the sender by the trigger's own settings.
 *
 * @throws {AppError} `unauthorized`, always with the same message; the reason is for the record
 * only.
 */
export function authenticate(
  delivery: ReceivedDelivery,
  trigger: ActiveTrigger,
  host: AuthenticateHost,
): AuthenticatedDelivery | Promise<AuthenticatedDelivery> {
  const { webhook } = trigger;
  checkAddress(webhook, delivery.context.remote);
  if (webhook.crdRef !== undefined) {
    const crd = findCrd(webhook.crdRef, host.catalog);
    if (pluginsOf(crd, "interceptor").length > 0) {
      return intercept(crd, pluginDelivery(delivery, trigger), host.plugins).then(() => {
        delivery.context.passed("authenticated");
        return markAuthenticated(delivery);
      });
    }
  }
  if (webhook.secret === undefined) {
    if (webhook.allowUnsigned !== true) throw unauthorized(NO_SECRET);
    checkNoPage(delivery.headers, webhook);
    delivery.context.unsigned = true;
    return markAuthenticated(delivery);
  }
  const { signing } = senderOf(trigger);
  return checkSignature(delivery, trigger, host, { webhook, signing });
}

/** A delivery as plugins see it. */
export function pluginDelivery(delivery: ReceivedDelivery, trigger: ActiveTrigger): PluginDelivery {
  const { project, name } = trigger.resource;
  const { headers, body, context } = delivery;
  return { project, trigger: name, deliveryId: context.id, headers, body };
}

/** A missing CRD is refused, never passed over: its interceptors may be what authenticates. */
function findCrd(kind: string, catalog: Catalog): CrdSpec {
  const crd = catalog.kinds.crd(kind);
  if (crd === undefined) {
    throw unauthorized(`CustomResourceDefinition of kind "${kind}" does not exist`);
  }
  return crd.spec;
}
