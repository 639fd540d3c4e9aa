/**
 * The events of Gemini CLI (`-o stream-json`).
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Adapter, AdapterDefinition } from "./adapter.ts";
import { countIn, fieldOf, objectIn, textIn } from "./fields.ts";
import { linesOf, oneLine, toolLine } from "./readable.ts";
import { MAX_RESULT_BYTES, type RunFacts } from "./run_facts.ts";

export const GEMINI: AdapterDefinition = {
  programs: new Map([["gemini", "-o stream-json"]]),
  make: (facts) => new GeminiAdapter(facts),
  // It also ends with the status of the API's answer, of which a process keeps the last 8 bits.
  exitCodes: { 41: "auth", 53: "budget", 145: "auth", 147: "auth", 173: "limit" },
};

class GeminiAdapter implements Adapter {
  readonly #facts: RunFacts;
  /** The answer so far, whose text comes in pieces; what is beyond a result is not kept. */
  #answer = "";
  /** The end of the answer that is no whole line yet. */
  #unfinished = "";

  constructor(facts: RunFacts) {
    this.#facts = facts;
  }

  read(event: JsonObject): readonly string[] {
    const facts = this.#facts;
    switch (textIn(event, "type")) {
      case "init":
        facts.setSession(event["session_id"]);
        return [];
      case "message":
        return textIn(event, "role") === "assistant" ? this.#say(event) : [];
      case "tool_use":
        return [
          ...this.#endAnswer(),
          toolLine(textIn(event, "tool_name"), fieldOf(event, "parameters")),
        ];
      case "error": {
        const sentence = textIn(event, "message");
        if (textIn(event, "severity") !== "warning") facts.meet(sentence);
        return [...this.#endAnswer(), oneLine(sentence, 500)];
      }
      case "result":
        return this.#finish(event);
      default:
        return [];
    }
  }

  end(): readonly string[] {
    return this.#endAnswer();
  }

  #say(event: JsonObject): readonly string[] {
    const before = event["delta"] === true ? [] : this.#endAnswer();
    const text = textIn(event, "content");
    this.#facts.recover();
    if (this.#answer.length <= MAX_RESULT_BYTES) this.#answer += text;
    const lines = (this.#unfinished + text).split(/\r?\n/);
    this.#unfinished = lines.pop() ?? "";
    if (this.#unfinished.length <= MAX_RESULT_BYTES) return [...before, ...lines];
    const long = this.#unfinished;
    this.#unfinished = "";
    return [...before, ...lines, long];
  }

  /** Ends the answer, because the agent does something else: the last answer is the result. */
  #endAnswer(): readonly string[] {
    if (this.#answer.trim() !== "") this.#facts.setResult(this.#answer);
    const rest = linesOf(this.#unfinished);
    this.#answer = this.#unfinished = "";
    return rest;
  }

  #finish(event: JsonObject): readonly string[] {
    const lines = this.#endAnswer();
    const stats = objectIn(event, "stats");
    this.#facts.setTokens(countIn(stats, "input_tokens"), countIn(stats, "output_tokens"));
    const status = textIn(event, "status");
    if (status !== "" && status !== "success") {
      const error = objectIn(event, "error");
      this.#facts.fail(textIn(error, "message") || textIn(error, "type") || status);
    }
    return lines;
  }
}
