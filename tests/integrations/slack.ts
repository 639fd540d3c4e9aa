/**
 * Requests of Slack for its package, and for the example in its folder `crd`.
 *
 * @module
 */

import {
  bytesOf,
  type ExpectedTask,
  fixture,
  type PackageCase,
  type PackageRequest,
  signSlack,
  textOf,
} from "./package_case.ts";

const SECRET = "8f742231b10e8888abcd99yyyzzz85a5";
const FORM = "application/x-www-form-urlencoded";

/** Headers as Slack sends them now; `offset` seconds later with a clock that is off. */
function slackRequest(type: string, { offset = 0, more = {} } = {}) {
  return (body: Uint8Array): Record<string, string> => {
    const timestamp = String(Math.floor(Date.now() / 1000) + offset);
    return {
      "accept": "*/*",
      "accept-encoding": "gzip,deflate",
      "content-type": type,
      "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
      "x-slack-request-timestamp": timestamp,
      "x-slack-signature": signSlack(SECRET, body, timestamp),
      ...more,
    };
  };
}

function request(
  trigger: string,
  title: string,
  rest: { body: Uint8Array; task?: ExpectedTask; type?: string },
): PackageRequest {
  return {
    title,
    trigger,
    body: rest.body,
    headers: slackRequest(rest.type ?? "application/json"),
    ...(rest.task === undefined
      ? { answer: "filtered" }
      : { answer: "accepted", tasks: [rest.task] }),
  };
}

const MESSAGE = fixture("slack/message.json");
const REPLY = fixture("slack/message_thread_reply.json");
const FILE = fixture("slack/file_share.json");
const MENTION = fixture("slack/app_mention.json");
const COMMAND = fixture("slack/slash_command.form");
const VERIFICATION = fixture("slack/url_verification.json");

/** Another message, with another text. */
function message(id: string, text: string): Uint8Array {
  const event = JSON.parse(textOf(MESSAGE));
  return bytesOf(JSON.stringify({ ...event, event_id: id, event: { ...event.event, text } }));
}

function wrote(body: Uint8Array, log: string, ...prompt: string[]): ExpectedTask {
  return { payload: textOf(body), log, prompt: ["A person wrote a message in Slack.", ...prompt] };
}

const HOSTILE_TEXT = '<!channel> $(touch slack) `id` "\\n" \'; exit 1 #\nsecond line';
const hostile = message("Ev0PV52K90", HOSTILE_TEXT);
const challenge = { handshake: "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P" } as const;
const retried = slackRequest("application/json", {
  more: { "x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout" },
});

/** The package. */
export const slack: PackageCase = {
  name: "slack",
  secrets: { signing_secret: SECRET },
  requests: [
    {
      title: "the check of the URL",
      trigger: "slack-message",
      body: VERIFICATION,
      headers: slackRequest("application/json"),
      answer: challenge,
    },
    request("slack-message", "a message", {
      body: MESSAGE,
      task: wrote(
        MESSAGE,
        "U0001 wrote in C0001\n> Deploy please\n",
        "User: U0001\nChannel: C0001\n\nDeploy please\n",
      ),
    }),
    {
      title: "the same message, sent again",
      trigger: "slack-message",
      body: MESSAGE,
      headers: retried,
      answer: "duplicate",
    },
    request("slack-message", "a reply in a thread", {
      body: REPLY,
      task: wrote(
        REPLY,
        "U0002 wrote in C0001, thread 1700000000.000100\n> to staging or production?\n",
      ),
    }),
    request("slack-message", "a message with a file", {
      body: FILE,
      task: wrote(FILE, "U0001 wrote in C0001\n> the log\n"),
    }),
    request("slack-message", "a message with a hostile text", {
      body: hostile,
      task: wrote(
        hostile,
        `U0001 wrote in C0001\n> ${HOSTILE_TEXT.replace("\n", "\n> ")}\n`,
        HOSTILE_TEXT,
      ),
    }),
    ...["message_bot", "message_changed", "channel_join", "reaction_added", "app_mention"].map(
      (name) => request("slack-message", name, { body: fixture(`slack/${name}.json`) }),
    ),
    request("slack-mention", "a mention", {
      body: MENTION,
      task: wrote(
        MENTION,
        "U0001 mentioned the app in C0001\n> <@U0BOT> review the last pull request\n",
        "<@U0BOT> review the last pull request",
      ),
    }),
    request("slack-mention", "a message", { body: message("Ev0PV52K91", "no mention") }),
    request("slack-command", "a slash command", {
      body: COMMAND,
      type: FORM,
      task: {
        payload: JSON.stringify(Object.fromEntries(new URLSearchParams(textOf(COMMAND)))),
        log: 'ann (U0001) entered /deploy in C0001\n> production & notify "ops"\n',
        prompt: ['Channel: C0001\nCommand: /deploy\n\nproduction & notify "ops"\n'],
      },
    }),
    request("slack-command", "a slash command without text", {
      body: bytesOf(textOf(COMMAND).replace(/&text=[^&]*/, "&text=")),
      type: FORM,
      task: {
        payload: JSON.stringify({
          ...Object.fromEntries(new URLSearchParams(textOf(COMMAND))),
          text: "",
        }),
        log: "ann (U0001) entered /deploy in C0001\n> \n",
        prompt: ["Command: /deploy\n"],
      },
    }),
    request("slack-command", "Slack's check of the certificate", {
      body: fixture("slack/ssl_check.form"),
      type: FORM,
    }),
    request("slack-command", "a button", {
      body: fixture("slack/block_actions.form"),
      type: FORM,
    }),
  ],
};

/** Requests to the trigger of `slack/crd`; its script has to let these in. */
export const slackCrdRequests: readonly PackageRequest[] = [
  {
    title: "the check of the URL",
    trigger: "slack-crd-message",
    body: VERIFICATION,
    headers: slackRequest("application/json"),
    answer: challenge,
  },
  request("slack-crd-message", "a message", {
    body: MESSAGE,
    task: wrote(MESSAGE, "U0001 wrote in C0001\n> Deploy please\n"),
  }),
  request("slack-crd-message", "a message of a bot", { body: fixture("slack/message_bot.json") }),
];

/** Headers that the script has to refuse, by what is wrong with them. */
export const refusedBySlackCrd: Readonly<
  Record<string, (body: Uint8Array) => Record<string, string>>
> = {
  "a time 301 seconds ago": slackRequest("application/json", { offset: -301 }),
  "a time well over 300 seconds to come": slackRequest("application/json", { offset: 330 }),
  ...Object.fromEntries(
    ["", "abc", "1.7e9", "0x6553f100", "-1700000000", "01700000000"].map((time) => [
      `the time "${time}"`,
      (body: Uint8Array) => ({
        ...slackRequest("application/json")(body),
        "x-slack-request-timestamp": time,
        "x-slack-signature": signSlack(SECRET, body, time),
      }),
    ]),
  ),
  "no signature": (body) => without("x-slack-signature", slackRequest("application/json")(body)),
  "no time": (body) => without("x-slack-request-timestamp", slackRequest("application/json")(body)),
  "another form of signature": (body) => {
    const headers = slackRequest("application/json")(body);
    const digest = headers["x-slack-signature"] ?? "";
    return { ...headers, "x-slack-signature": digest.replace("v0=", "v1=") };
  },
};

function without(name: string, headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));
}
