/**
 * GitLab; its signatures are in the fixture and beside it.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** GitLab. */
export const sample: Sample = {
  handshakes: [{
    payload: {
      object_kind: "access_token",
      object_attributes: { id: 1, name: "pat_for_webhook_event" },
      event_name: "expiring_access_token",
    },
    answer: [200, '{"status":"pong"}'],
  }],
  events: [
    {
      payload: { object_kind: "push" },
      headers: { "webhook-id": "w", "idempotency-key": "k", "x-gitlab-event-uuid": "u" },
      messageId: "w",
      id: { id: "w", signed: true },
    },
    {
      payload: { object_kind: "push" },
      headers: { "webhook-id": "w", "idempotency-key": "k", "x-gitlab-event-uuid": "u" },
      id: { id: "k", signed: false },
    },
    {
      payload: { object_kind: "push" },
      headers: { "x-gitlab-event-uuid": "u" },
      id: { id: "u", signed: false },
    },
  ],
};
