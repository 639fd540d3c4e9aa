/**
 * GitLab: with a signing token `webhook-id` is signed; the plain token covers nothing, and then
 * `Idempotency-Key`, which stays the same over its retries, needs the body beside it.
 *
 * @module
 */

import { headerName, messageName, type Platform } from "./platform.ts";

/** GitLab. */
export const gitlab: Platform = {
  name: "gitlab",
  eventName: (event) =>
    messageName(event) ?? headerName("idempotency-key", event) ??
      headerName("x-gitlab-event-uuid", event),
};
