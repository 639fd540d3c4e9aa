/**
 * The events of OpenCode (`opencode run --format json`).
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { AdapterDefinition } from "./adapter.ts";
import { countIn, fieldOf, objectIn, sumIn, textIn } from "./fields.ts";
import { linesOf, oneLine, toolLine } from "./readable.ts";
import type { RunFacts } from "./run_facts.ts";

export const OPENCODE: AdapterDefinition = {
  programs: new Map([["opencode", "--format json"]]),
  make: (facts, now) => ({
    read(event) {
      const part = objectIn(event, "part");
      facts.setSession(event["sessionID"]);
      switch (textIn(event, "type")) {
        case "text": {
          const text = textIn(part, "text");
          facts.recover();
          facts.setResult(text);
          return linesOf(text);
        }
        case "tool_use":
          facts.recover();
          return readTool(part);
        case "step_finish":
          addStep(part, facts);
          return [];
        case "error":
          return readError(objectIn(event, "error"), facts, now);
        default:
          return [];
      }
    },
  }),
};

function readTool(part: JsonObject): readonly string[] {
  const state = objectIn(part, "state");
  const line = toolLine(textIn(part, "tool"), fieldOf(state, "input"));
  if (textIn(state, "status") !== "error") return [line];
  return [line, `  failed: ${oneLine(textIn(state, "error"))}`];
}

function addStep(part: JsonObject, facts: RunFacts): void {
  const tokens = objectIn(part, "tokens");
  const cached = sumIn(objectIn(tokens, "cache"), "read", "write");
  const fresh = countIn(tokens, "input");
  facts.addTokens(
    fresh === undefined ? cached : fresh + (cached ?? 0),
    sumIn(tokens, "output", "reasoning"),
  );
  facts.addCost(part["cost"]);
}

function readError(error: JsonObject, facts: RunFacts, now: () => number): readonly string[] {
  const data = objectIn(error, "data");
  const sentence = textIn(data, "message") || textIn(error, "name") || "error";
  const wait = textIn(objectIn(data, "responseHeaders"), "retry-after");
  facts.fail(sentence, {
    status: countIn(data, "statusCode"),
    resetsAt: /^\d{1,9}$/.test(wait) ? now() + Number(wait) * 1000 : undefined,
  });
  return [oneLine(sentence, 500)];
}
