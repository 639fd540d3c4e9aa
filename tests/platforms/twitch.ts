/**
 * Twitch. The body is one of its documentation, shortened; the signature is that of Python's `hmac`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const SUBSCRIPTION = { id: "f1c2", type: "channel.follow" };

/** Twitch. */
export const sample: Sample = {
  requests: [{
    name: "twitch notification",
    scheme: "twitch",
    header: "Twitch-Eventsub-Message-Signature",
    secret: "5f1a6e7cd2e7137ccf9e15b2f43fe63949eb84b1db83c1d5",
    body_utf8:
      '{"subscription":{"id":"f1c2","type":"channel.follow"},"event":{"user_name":"Cool_User"}}',
    headers: {
      "Twitch-Eventsub-Message-Id": "befa7b53-d79d-478f-86b9-120f112b044e",
      "Twitch-Eventsub-Message-Timestamp": "2023-11-14T22:13:20.000000000Z",
      "Twitch-Eventsub-Message-Signature":
        "sha256=08c85b6016e73131601afd092ac63106e8256849a610277e8e6291933a77ea3e",
    },
    signs: { time: true },
    otherSecret: "another secret",
  }],
  handshakes: [{
    payload: { challenge: "pogchamp-kappa-360noscope-vohiyo", subscription: SUBSCRIPTION },
    answer: [200, "pogchamp-kappa-360noscope-vohiyo"],
  }],
  events: [
    {
      payload: { subscription: SUBSCRIPTION, event: {}, challenge: "kappa" },
      messageId: "m1",
      id: { id: "m1", signed: true },
    },
    { payload: { subscription: SUBSCRIPTION } },
    { payload: { challenge: "kappa" } },
  ],
};
