/**
 * Requests of LINE for its package.
 *
 * @module
 */

import {
  bytesOf,
  type ExpectedTask,
  fixture,
  type PackageCase,
  type PackageRequest,
  signLine,
  textOf,
} from "./package_case.ts";

const SECRET = "8c570fa6dd201bb328f1c1eac23a96d8";
const USER = "U4af49806290000000000000000000000";

/** Headers as LINE sends them. */
function lineRequest(body: Uint8Array): Record<string, string> {
  return {
    "content-type": "application/json; charset=utf-8",
    "user-agent": "LineBotWebhook/2.0",
    "x-line-signature": signLine(SECRET, body),
  };
}

function request(
  title: string,
  body: Uint8Array,
  rest: Pick<PackageRequest, "answer" | "tasks">,
): PackageRequest {
  return { title, trigger: "line-message", body, headers: lineRequest, ...rest };
}

function sent(payload: string, log: string, ...prompt: string[]): ExpectedTask {
  return { payload, log, prompt };
}

const TEXT = fixture("line/message_text.json");
const STICKER = fixture("line/group_sticker.json");
const SEVERAL = fixture("line/several_events.json");

/** A batch of three events, two of them messages. */
const batch = JSON.parse(textOf(SEVERAL));
const [first, follow] = batch.events;
const HOSTILE_TEXT = '$(touch line) `id` \\n "quoted"';
const last = {
  ...first,
  source: { type: "room", roomId: "R22222222222222222222222222222222" },
  message: { ...first.message, id: "9", text: HOSTILE_TEXT },
  webhookEventId: "01FZ74A0TDDPYRVKNK77XKC3Z9",
};
const BATCH = bytesOf(JSON.stringify({ ...batch, events: [first, follow, last] }));
const alone = (event: unknown) => JSON.stringify({ ...batch, events: [event] });
const ONE = sent(
  alone(first),
  `${USER} sent a message of type text\n> one\n`,
  "Type: text\n\none\n",
);

/** The package. */
export const line: PackageCase = {
  name: "line",
  secrets: { channel_secret: SECRET },
  requests: [
    request("the check of the URL", fixture("line/verify_button.json"), {
      answer: { handshake: '{"status":"pong"}' },
    }),
    request("a message", TEXT, {
      answer: "accepted",
      tasks: [
        sent(
          textOf(TEXT),
          `${USER} sent a message of type text\n> デプロイして 🚀\n`,
          "デプロイして 🚀",
        ),
      ],
    }),
    request("the same message, sent again", fixture("line/redelivery.json"), {
      answer: "duplicate",
    }),
    request("a sticker in a group", STICKER, {
      answer: "accepted",
      tasks: [
        sent(
          textOf(STICKER),
          `${USER} sent a message of type sticker in group C11111111111111111111111111111111\n`,
          "Type: sticker\n\n(no text)\n",
        ),
      ],
    }),
    request("a message, a follow and a postback in one request", SEVERAL, {
      answer: "accepted",
      tasks: [ONE],
    }),
    request("a batch with one message that is known and one that is new", BATCH, {
      answer: "accepted",
      tasks: [
        sent(
          alone(last),
          `someone sent a message of type text in room R22222222222222222222222222222222\n> ${HOSTILE_TEXT}\n`,
          HOSTILE_TEXT,
        ),
      ],
    }),
    request(
      "a batch of two new messages",
      bytesOf(textOf(BATCH).replaceAll("XKC3Z", "XKC4Z")),
      {
        answer: "accepted",
        tasks: [
          { ...ONE, payload: ONE.payload.replaceAll("XKC3Z", "XKC4Z") },
          sent(
            alone(last).replaceAll("XKC3Z", "XKC4Z"),
            `someone sent a message of type text in room R22222222222222222222222222222222\n> ${HOSTILE_TEXT}\n`,
          ),
        ],
      },
    ),
    request("a message while another module answers", fixture("line/standby.json"), {
      answer: "filtered",
    }),
  ],
};
