/**
 * GitLab: `Idempotency-Key` stays the same over its retries. With a signing token the same value is
 * the signed `webhook-id`, but the plain token covers nothing, so the body always goes in.
 *
 * @module
 */

import { type Platform, unsignedKey } from "./platform.ts";

/** GitLab. */
export const gitlab: Platform = {
  name: "gitlab",
  eventKey: (request) =>
    unsignedKey(request, "idempotency-key") ?? unsignedKey(request, "x-gitlab-event-uuid"),
};
