/**
 * Mailgun. Time and token are those of its documentation, whose signature is made up; these are of
 * Python's `hmac`.
 *
 * @module
 */

import type { Facts, Vector } from "../signatures/platform_cases.ts";
import type { Sample } from "./sample.ts";

const TOKEN = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123";
const SIGNATURE = "bb9cf43a6b1597e1273d6e0b61f928d609c84beaa35d9300468061cc27493ff3";

const MAILGUN: Facts & Pick<Vector, "secret" | "now"> = {
  scheme: "mailgun",
  header: "",
  secret: "mailgun signing key",
  now: 1770920772,
  signs: { time: "in the body", body: false },
  memberOfSignature: "signature",
  otherSecret: "another secret",
};

/** Mailgun. */
export const sample: Sample = {
  requests: [{
    ...MAILGUN,
    name: "mailgun event",
    body_utf8:
      `{"signature":{"token":"${TOKEN}","timestamp":"1770920772","signature":"${SIGNATURE}"},` +
      '"event-data":{"event":"opened","id":"Ase7i2zsRYeDXztHGENqRA"}}',
    headers: { "Content-Type": "application/json" },
  }, {
    ...MAILGUN,
    name: "mailgun event of a subaccount",
    body_utf8:
      `{"event-data":{"event":"opened"},"signature":{"timestamp":1770920772,"token":"${TOKEN}",` +
      '"signature":"bad482cc6fcfa5b4002db3f27c60fbef3db9fdbdd4f57267b1fe144ee9f11fec","parent-signature":' +
      `"${SIGNATURE}"}}`,
    headers: { "Content-Type": "application/json" },
  }, {
    ...MAILGUN,
    name: "mailgun route",
    body_utf8: `from=Bob+%3Cbob%40example.com%3E&timestamp=1770920772&token=${TOKEN}&` +
      `signature=${SIGNATURE}&body-plain=signature%3D0`,
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
  }],
  handshakes: [],
  events: [
    {
      payload: { signature: {}, "event-data": { id: "Ase7i2zsRYeDXztHGENqRA" } },
      messageId: TOKEN,
      id: { id: TOKEN, signed: true },
    },
    { payload: { "event-data": { id: "Ase7i2zsRYeDXztHGENqRA" } } },
  ],
};
