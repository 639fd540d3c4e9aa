/**
 * Microsoft Graph. Notifications and the text of the validation are those of its documentation.
 *
 * @module
 */

import type { Sample, SampleUnsigned } from "./sample.ts";

const SECRET = "secretClientValue";
const TOKEN = "Validation: Testing client application reachability for subscription " +
  "Request-Id: 522a8e7e-096a-494c-aaf1-ac0dcfca45b7";

function validation(token: string): SampleUnsigned {
  return { query: `?validationToken=${encodeURIComponent(token)}` };
}

const NOTIFICATION = {
  subscriptionId: "7f105c7d-2dc5-4530-97cd-4e7ae6534c07",
  changeType: "updated",
  clientState: SECRET,
  resource: "users/1/messages/2",
};

/** Microsoft Graph. */
export const sample: Sample = {
  requests: [{
    name: "graph change notification",
    scheme: "microsoft-graph",
    header: "Authorization",
    secret: SECRET,
    body_utf8: JSON.stringify({ value: [NOTIFICATION] }),
    headers: {},
    signs: { body: false, secret: "in the body" },
    otherSecret: "another secret",
    signed: "own",
  }, {
    name: "graph lifecycle notification",
    scheme: "microsoft-graph",
    header: "Authorization",
    secret: SECRET,
    body_utf8: JSON.stringify({
      value: [
        { lifecycleEvent: "subscriptionRemoved", ...NOTIFICATION },
        { lifecycleEvent: "missed", ...NOTIFICATION },
      ],
    }),
    headers: {},
    signs: { body: false, secret: "in the body" },
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [],
  unsigned: [
    { ...validation(TOKEN), answer: [200, TOKEN] },
    { ...validation(TOKEN), body: "{}" },
    { ...validation("<b>") },
    { query: "?validationtoken=a" },
    {},
  ],
  events: [
    {
      payload: { value: [{ id: "lsgTZMr9KwAAA", clientState: SECRET }] },
      id: { id: "lsgTZMr9KwAAA", signed: true },
    },
    { payload: { value: [NOTIFICATION] } },
  ],
};
