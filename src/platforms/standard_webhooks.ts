/**
 * Senders that follow standardwebhooks.com, such as OpenAI and the customers of Svix. The id is
 * signed and stays the same in retries. It comes from the headers with the verified signature, or
 * else from the usual ones.
 *
 * @module
 */

import { standardWebhooksSignature } from "../signatures/standard_webhooks.ts";
import { headerId, type Platform, signedId } from "./platform.ts";

export const standardWebhooks: Platform = {
  name: "standard-webhooks",
  title: "Standard Webhooks",
  headers: ["webhook-signature", "svix-signature"],
  signature: standardWebhooksSignature,
  auto: true,
  eventId: (event) =>
    signedId(event) ?? headerId("webhook-id", event) ?? headerId("svix-id", event),
  docs: {
    signs: "id, time and body; `v1`, or `v1a` with a `whpk_` public key",
    eventId: "id in the headers of the signature: `webhook-id`, `svix-id`, or your own",
  },
};
