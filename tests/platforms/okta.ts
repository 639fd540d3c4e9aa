/**
 * Okta. Its secret is sent as it is.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const SECRET = "a_secret_of_the_event_hook";
const ID = "b5a188b9-5ece-4636-b041-482ffda96311";

/** Okta. */
export const sample: Sample = {
  requests: [{
    name: "okta event hook",
    scheme: "okta",
    header: "Authorization",
    secret: SECRET,
    body_utf8: `{"eventType":"com.okta.event_hook","eventId":"${ID}","data":{"events":[]}}`,
    headers: { Authorization: SECRET },
    signs: { body: false },
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [],
  unsigned: [
    {
      headers: { authorization: SECRET, "x-okta-verification-challenge": "2f9a-b1" },
      data: { secret: SECRET },
      answer: [200, '{"verification":"2f9a-b1"}'],
    },
    {
      headers: { authorization: "wrong", "x-okta-verification-challenge": "2f9a-b1" },
      data: { secret: SECRET },
      answer: "the header authorization is not a key of the SecretStore",
    },
    {
      headers: { "x-okta-verification-challenge": "2f9a-b1" },
      data: { secret: "" },
      answer: "the header authorization is not a key of the SecretStore",
    },
    { headers: { authorization: SECRET }, data: { secret: SECRET } },
  ],
  events: [{ payload: { eventId: ID }, id: { id: ID, signed: true } }],
};
