/**
 * Requests as Slack sends them. Signs with Node's HMAC, never with the code under test.
 *
 * @module
 */

import { createHmac } from "node:crypto";

/** Signing secret of the tests. */
export const SLACK_SECRET = "8f742231b10e8888abcd99yyyzzz85a5";

/** Headers of a signed request; `time` as Slack writes it, in seconds. */
export function slackHeaders(
  body: string,
  options: { secret?: string; time?: string; type?: string } = {},
): Record<string, string> {
  const time = options.time ?? String(Math.floor(Date.now() / 1000));
  const { secret = SLACK_SECRET, type = "application/json" } = options;
  const hex = createHmac("sha256", secret).update(`v0:${time}:${body}`).digest("hex");
  return {
    "content-type": type,
    "x-slack-request-timestamp": time,
    "x-slack-signature": `v0=${hex}`,
  };
}

export interface Message {
  readonly text: string;
  /** `ts` of the post. */
  readonly ts: string;
  /** `ts` of the post that began the thread. */
  readonly thread?: string;
  readonly type?: "message" | "app_mention";
  readonly channel?: string;
  readonly id?: string;
}

/** The body of an event that tells of a message. */
export function slackMessage(message: Message): string {
  const { text, ts, thread, type = "message", channel = "C0001", id = `Ev${type}${ts}` } = message;
  return JSON.stringify({
    token: "deprecated",
    team_id: "T0001",
    api_app_id: "A0001",
    type: "event_callback",
    event_id: id,
    event_time: Math.floor(Number(ts)),
    event: {
      user: "U0001",
      type,
      ts,
      text,
      team: "T0001",
      channel,
      event_ts: ts,
      ...(thread === undefined ? {} : { thread_ts: thread, parent_user_id: "U0001" }),
    },
    authorizations: [{ team_id: "T0001", user_id: "U0BOT", is_bot: true }],
  });
}
