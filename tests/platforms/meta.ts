/**
 * Meta. The request is one of WhatsApp's documentation, shortened; the signature is that of Python's
 * `hmac`.
 *
 * @module
 */

import type { Sample, SampleUnsigned } from "./sample.ts";

const MESSAGE = { messages: [{ id: "wamid.1", text: { body: "Grüße" } }] };

function entry(...values: readonly unknown[]) {
  return [{ id: "1", changes: values.map((value) => ({ field: "messages", value })) }];
}

const DATA = { app_secret: "the app secret", verify_token: "the verify token" };

function subscribe(token: string, challenge = "1158201444"): SampleUnsigned {
  const query = new URLSearchParams({ "hub.verify_token": token, "hub.challenge": challenge });
  return { query: `?hub.mode=subscribe&${query}`, data: DATA };
}

/** Meta. */
export const sample: Sample = {
  requests: [{
    name: "whatsapp message",
    scheme: "meta",
    header: "X-Hub-Signature-256",
    secret: "the app secret",
    body_utf8: '{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":' +
      '"messages","value":{"messages":[{"id":"wamid.1","text":{"body":"Grüße"}}]}}]}]}',
    headers: {
      "X-Hub-Signature-256":
        "sha256=b038b4e00a9533f7c17ae807a54aff835371802abed04b1636a9bbfbfecf4a76",
    },
    signs: {},
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [],
  unsigned: [
    { ...subscribe(DATA.verify_token), answer: [200, "1158201444"] },
    {
      ...subscribe(DATA.verify_token),
      data: { verify_token: "an older one", verify_token_2: DATA.verify_token },
      answer: [200, "1158201444"],
    },
    {
      ...subscribe("another token"),
      answer: "hub.verify_token is not the SecretStore's verify_token",
    },
    {
      ...subscribe(DATA.app_secret),
      answer: "hub.verify_token is not the SecretStore's verify_token",
    },
    {
      ...subscribe(""),
      data: { app_secret: "s", verify_token: "" },
      answer: 'the SecretStore has no key "verify_token"',
    },
    { query: "?hub.mode=unsubscribe&hub.verify_token=the%20verify%20token", data: DATA },
    { data: DATA },
  ],
  events: [
    { payload: { entry: entry(MESSAGE) }, id: { id: "wamid.1", signed: true } },
    { payload: { entry: entry(MESSAGE, MESSAGE) } },
    { payload: { entry: entry({ messages: [], statuses: [{ id: "wamid.1" }] }) } },
    { payload: { entry: entry({ ...MESSAGE, statuses: [{ id: "wamid.1" }] }) } },
    { payload: { entry: [...entry(MESSAGE), ...entry(MESSAGE)] } },
  ],
};
