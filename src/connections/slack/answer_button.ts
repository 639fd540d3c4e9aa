/**
 * The buttons under an approval in Slack, and the click on one. Pure. What a button stands for is in its
 * value, which Slack keeps with the post and sends back: the person who clicks cannot choose it.
 *
 * @module
 */

import { isJsonObject, type JsonObject, objectIn, textIn } from "../../base/json.ts";

/** The question to which an answer belongs. */
export interface AskedPlace {
  readonly taskId: string;
  /** Id of the step. */
  readonly step: string;
  readonly round: number;
  /** Digest of all that was shown, in hex. */
  readonly digest: string;
}

/** A click on a button of an approval. */
export interface AnswerClick {
  readonly answer: "approved" | "rejected";
  readonly asked: AskedPlace;
  /** Id of the workspace of who clicked. */
  readonly team: string;
  /** Id of who clicked, within that workspace. */
  readonly userId: string;
  /** Id of the channel. */
  readonly channel: string;
  /** `ts` of the post with the button. */
  readonly ts: string;
  /** `ts` of the first post of its thread; empty if it is in none. */
  readonly thread: string;
}

const ACTIONS = { "svc-approve": "approved", "svc-reject": "rejected" } as const;

/** The two buttons. */
export function answerButtons(asked: AskedPlace): JsonObject {
  const value = valueOf(asked);
  const button = (action_id: keyof typeof ACTIONS, text: string, style: string) => ({
    type: "button",
    action_id,
    text: { type: "plain_text", text },
    style,
    value,
  });
  const elements = [
    button("svc-approve", "Approve", "primary"),
    button("svc-reject", "Reject", "danger"),
  ];
  return { type: "actions", elements };
}

function valueOf({ taskId, step, round, digest }: AskedPlace): string {
  return `${taskId}/${step}/${round}/${digest}`;
}

const VALUE = /^([0-9A-Z]{26})\/([A-Za-z_][A-Za-z0-9_-]{0,62})\/([1-9]\d{0,5})\/([0-9a-f]{64})$/;
const ID = /^[A-Z0-9]{1,40}$/;
const TS = /^\d{1,12}\.\d{1,9}$/;

/** Whether an interaction is a click on a button of an approval, whatever else is in it. */
export function isAnswerClick(payload: JsonObject): boolean {
  return payload["type"] === "block_actions" &&
    actionsOf(payload).some((action) => Object.hasOwn(ACTIONS, textIn(action["action_id"])));
}

/** The click of such an interaction; `undefined` if it is not in the form in which svc asks. */
export function readAnswerClick(payload: JsonObject): AnswerClick | undefined {
  const actions = actionsOf(payload);
  const [action] = actions;
  if (action === undefined || actions.length > 1 || !isAnswerClick(payload)) return undefined;
  const asked = placeIn(textIn(action["value"]));
  const { channel_id: channel, message_ts: ts, thread_ts: thread = "" } = objectIn(
    payload["container"],
  );
  const user = objectIn(payload["user"]);
  const [userId, team] = [user["id"], user["team_id"] ?? objectIn(payload["team"])["id"]];
  const isWhole = asked !== undefined && [channel, userId, team].every((id) => is(ID, id)) &&
    is(TS, ts) && (thread === "" || is(TS, thread));
  if (!isWhole) return undefined;
  return {
    answer: ACTIONS[textIn(action["action_id"]) as keyof typeof ACTIONS],
    asked,
    team: textIn(team),
    userId: textIn(userId),
    channel: textIn(channel),
    ts: textIn(ts),
    thread: textIn(thread),
  };
}

function actionsOf({ actions }: JsonObject): readonly JsonObject[] {
  return Array.isArray(actions) ? actions.filter(isJsonObject) : [];
}

function placeIn(value: string): AskedPlace | undefined {
  const [, taskId, step = "", round, digest] = VALUE.exec(value) ?? [];
  if (taskId === undefined || digest === undefined) return undefined;
  return { taskId, step, round: Number(round), digest };
}

function is(pattern: RegExp, value: unknown): value is string {
  return typeof value === "string" && pattern.test(value);
}
