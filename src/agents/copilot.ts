/**
 * The events of GitHub Copilot CLI (`--output-format json`).
 *
 * @module
 */

import type { AdapterDefinition } from "./adapter.ts";
import { countIn, fieldOf, objectIn, textIn } from "./fields.ts";
import { linesOf, oneLine, retryLine, toolLine } from "./readable.ts";

export const COPILOT: AdapterDefinition = {
  programs: new Map([["copilot", "--output-format json"]]),
  make: (facts) => ({
    read(event) {
      const data = objectIn(event, "data");
      switch (textIn(event, "type")) {
        case "session.start":
          facts.setSession(data["sessionId"]);
          return [];
        case "assistant.message": {
          const text = textIn(data, "content");
          facts.recover();
          if (text !== "") facts.setResult(text);
          return linesOf(text);
        }
        case "assistant.usage":
          facts.addTokens(countIn(data, "inputTokens"), countIn(data, "outputTokens"));
          return [];
        case "tool.execution_start":
          return [toolLine(textIn(data, "toolName"), fieldOf(data, "arguments"))];
        case "model.call_failure": {
          const status = countIn(data, "statusCode");
          facts.meet("", { status });
          return [retryLine(status)];
        }
        case "session.error": {
          const sentence = textIn(data, "message") || textIn(data, "errorType");
          facts.meet(sentence, { status: countIn(data, "statusCode") });
          return [oneLine(sentence, 500)];
        }
        case "result": {
          facts.setSession(event["sessionId"]);
          const code = countIn(event, "exitCode");
          if (code !== undefined && code !== 0) facts.fail("");
          return [];
        }
        default:
          return [];
      }
    },
  }),
};
