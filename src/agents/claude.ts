/**
 * The events of Claude Code (`--output-format stream-json`), which Qwen Code, Amp and Cursor's agent
 * print in the same form.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { Adapter, AdapterDefinition } from "./adapter.ts";
import type { FailureKind } from "./agent_failure.ts";
import { countIn, fieldOf, listIn, objectIn, sumIn, textIn } from "./fields.ts";
import { linesOf, retryLine, toolLine } from "./readable.ts";
import type { RunFacts } from "./run_facts.ts";

/** A `result` tells by `is_error` whether the run failed: its subtype can be `success` even so. */
const SUBTYPES: ReadonlyMap<string, FailureKind> = new Map([
  ["error_max_turns", "budget"],
  ["error_max_budget_usd", "budget"],
]);

/** The kinds of API errors that an `assistant` event can name. */
const ERRORS: ReadonlyMap<string, FailureKind> = new Map([
  ["rate_limit", "limit"],
  ["billing_error", "limit"],
  ["overloaded", "limit"],
  ["authentication_failed", "auth"],
  ["oauth_org_not_allowed", "auth"],
]);

export const CLAUDE: AdapterDefinition = {
  programs: new Map([
    ["claude", "--output-format stream-json"],
    ["qwen", "-o stream-json"],
    ["amp", "--stream-json"],
    ["cursor-agent", "--output-format stream-json"],
  ]),
  make: (facts) => new ClaudeAdapter(facts),
  report: "result",
};

class ClaudeAdapter implements Adapter {
  readonly #facts: RunFacts;
  /** The answer of Qwen Code that stands for an error of its API. */
  #apiError: string | undefined;

  constructor(facts: RunFacts) {
    this.#facts = facts;
  }

  read(event: JsonObject): readonly string[] {
    switch (textIn(event, "type")) {
      case "system":
        return readSystem(event, this.#facts);
      case "assistant":
        this.#apiError = findApiError(event);
        return readAssistant(event, this.#facts);
      case "tool_call":
        return readToolCall(event);
      case "rate_limit_event":
        return readRateLimit(event, this.#facts);
      case "result":
        return readResult(event, this.#facts, this.#apiError);
      default:
        return [];
    }
  }
}

/**
 * Qwen Code ends as if all was well when its API fails: it only answers `[API Error: 429 …]`, with no
 * tokens, which no answer of a model has.
 */
function findApiError(event: JsonObject): string | undefined {
  const message = objectIn(event, "message");
  const [part] = listIn(message, "content");
  const text = textIn(part, "text");
  const isOfModel = countIn(objectIn(message, "usage"), "output_tokens") !== 0;
  return isOfModel || !text.startsWith("[API Error: ") ? undefined : text;
}

function readSystem(event: JsonObject, facts: RunFacts): readonly string[] {
  switch (textIn(event, "subtype")) {
    case "init":
      facts.setSession(event["session_id"]);
      return [];
    case "api_retry": {
      const status = countIn(event, "error_status");
      const error = textIn(event, "error");
      facts.meet(error, { status, kind: ERRORS.get(error) });
      return [retryLine(status)];
    }
    default:
      return [];
  }
}

function readAssistant(event: JsonObject, facts: RunFacts): readonly string[] {
  const content = listIn(objectIn(event, "message"), "content");
  const error = textIn(event, "error");
  if (error === "") {
    facts.recover();
  } else {
    const sentence = content.map((part) => textIn(part, "text")).join(" ");
    facts.meet(sentence, { kind: ERRORS.get(error) });
  }
  return content.flatMap((part) => {
    switch (textIn(part, "type")) {
      case "text":
        return linesOf(textIn(part, "text"));
      case "tool_use":
        return [toolLine(textIn(part, "name"), fieldOf(part, "input"))];
      default:
        return [];
    }
  });
}

/** Cursor's form: `{"tool_call": {"readToolCall": {"args": {…}}}}`. */
function readToolCall(event: JsonObject): readonly string[] {
  if (textIn(event, "subtype") !== "started") return [];
  return Object.entries(objectIn(event, "tool_call"))
    .filter(([, call]) => isJsonObject(call)).slice(0, 1)
    .map(([name, call]) => toolLine(name.replace(/ToolCall$/, ""), fieldOf(call, "args")));
}

function readRateLimit(event: JsonObject, facts: RunFacts): readonly string[] {
  const info = objectIn(event, "rate_limit_info");
  if (textIn(info, "status") !== "rejected") return [];
  const seconds = countIn(info, "resetsAt");
  const type = textIn(info, "rateLimitType").replaceAll("_", " ");
  facts.meet(`${type === "" ? "rate" : type} limit`, {
    kind: "limit",
    resetsAt: seconds && seconds * 1000,
  });
  return [];
}

function readResult(
  event: JsonObject,
  facts: RunFacts,
  apiError: string | undefined,
): readonly string[] {
  facts.setSession(event["session_id"]);
  const usage = objectIn(event, "usage");
  const received = countIn(usage, "output_tokens");
  facts.setTokens(tokensIn(usage, received), received);
  facts.setCost(event["total_cost_usd"]);
  const text = textIn(event, "result");
  if (event["is_error"] !== true) {
    if (apiError !== undefined && text === apiError) facts.fail(text);
    else facts.setResult(text);
    return [];
  }
  const subtype = textIn(event, "subtype");
  const error = event["error"];
  const said = [text, ...listIn(event, "errors"), error, textIn(error, "message")]
    .find((one) => typeof one === "string" && one !== "");
  const sentence = typeof said === "string" ? said : subtype.replaceAll("_", " ");
  facts.fail(sentence, { kind: SUBTYPES.get(subtype), status: event["api_error_status"] });
  return [];
}

/** Claude counts cached tokens apart; where there is a total, they are among the others. */
function tokensIn(usage: JsonObject, received: number | undefined): number | undefined {
  const total = countIn(usage, "total_tokens");
  if (total !== undefined && received !== undefined && total >= received) return total - received;
  return sumIn(
    usage,
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
  );
}
