/**
 * An approval as blocks of Slack (https://docs.slack.dev/block-kit). Pure. All texts are plain: what
 * strangers wrote into them has no effect.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import { answerButtons, type AskedPlace } from "./answer_button.ts";

/** Most characters of a question that a post shows whole; a block of Slack takes 3,000. */
export const MAX_QUESTION = 2500;
/** Most characters of the text that a list of notifications shows. */
const MAX_SUMMARY = 150;
/** Most characters of a line below the question. */
const MAX_LINE = 1900;

/** A question and the line below it. */
export interface ShownQuestion {
  readonly text: string;
  readonly facts: string;
  readonly command: string;
  /** What came of it; it is not answered any more then. */
  readonly over?: string;
  /** What its buttons stand for; it has none if absent. */
  readonly asked?: AskedPlace;
}

/** The content of the post. */
export function shownQuestion(
  { text, facts, command, over, asked }: ShownQuestion,
): { readonly text: string; readonly blocks: readonly JsonObject[] } {
  const below = over !== undefined
    ? [section(over)]
    : asked !== undefined
    ? [answerButtons(asked)]
    : [section(`This cannot be answered here. Look at all of it, and answer:\n${command}`)];
  const [first = ""] = text.split("\n");
  return {
    text: (over ?? `Approval: ${first}`).slice(0, MAX_SUMMARY),
    blocks: [section(text), context(facts), ...below],
  };
}

function section(text: string): JsonObject {
  return { type: "section", text: plain(text, MAX_QUESTION + 10) };
}

function context(text: string): JsonObject {
  return { type: "context", elements: [plain(text, MAX_LINE)] };
}

function plain(text: string, most: number): JsonObject {
  // Slack refuses an empty text.
  const shown = text.slice(0, most).toWellFormed();
  return { type: "plain_text", emoji: false, text: shown.trim() === "" ? "–" : shown };
}
