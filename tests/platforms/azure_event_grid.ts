/**
 * Azure Event Grid. The validation event is that of its documentation, shortened. In the query, its
 * secret is in `tests/signatures/secret_places_test.ts`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const CODE = "512d38b6-c7b8-40c8-89fe-f46f9e9622b6";
const VALIDATION = "Microsoft.EventGrid.SubscriptionValidationEvent";

/** Azure Event Grid. */
export const sample: Sample = {
  requests: [{
    name: "event grid, CloudEvents schema",
    scheme: "azure-event-grid",
    header: "Authorization",
    secret: "a-secret-of-the-subscription",
    body_utf8: '{"specversion":"1.0","id":"1807","source":"/subscriptions/1","type":"blob"}',
    headers: { Authorization: "Bearer a-secret-of-the-subscription" },
    signs: { body: false },
    otherSecret: "another-secret",
    signed: "own",
  }],
  handshakes: [{
    payload: { id: "1", eventType: VALIDATION, data: { validationCode: CODE } },
    answer: [200, `{"validationResponse":"${CODE}"}`],
  }],
  unsigned: [
    {
      headers: { "webhook-request-origin": "eventgrid.azure.net" },
      answer: [200, "", {
        "webhook-allowed-origin": "eventgrid.azure.net",
        "webhook-allowed-rate": "*",
        allow: "POST",
      }],
    },
    { headers: { "webhook-request-origin": "a b" } },
  ],
  events: [
    { payload: { id: "1807", eventType: "recordInserted" }, id: { id: "1807", signed: true } },
    { payload: { eventType: VALIDATION, data: { validationCode: "<script>" } } },
    { payload: { eventType: "another", data: { validationCode: CODE } } },
  ],
};
