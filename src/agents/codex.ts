/**
 * The events of Codex (`codex exec --json`).
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Adapter, AdapterDefinition } from "./adapter.ts";
import { countIn, fieldOf, listIn, objectIn, textIn } from "./fields.ts";
import { linesOf, oneLine, toolLine } from "./readable.ts";
import type { RunFacts } from "./run_facts.ts";

/** Items whose start has been shown and whose end has not come; further ones are shown at their end. */
const MAX_STARTED = 100;

export const CODEX: AdapterDefinition = {
  programs: new Map([["codex", "--json"]]),
  make: (facts) => new CodexAdapter(facts),
};

class CodexAdapter implements Adapter {
  readonly #facts: RunFacts;
  readonly #started = new Set<string>();

  constructor(facts: RunFacts) {
    this.#facts = facts;
  }

  read(event: JsonObject): readonly string[] {
    const facts = this.#facts;
    switch (textIn(event, "type")) {
      case "thread.started":
        facts.setSession(event["thread_id"]);
        return [];
      case "item.started":
        return this.#begin(objectIn(event, "item"));
      case "item.completed":
        return this.#complete(objectIn(event, "item"));
      case "turn.completed": {
        const usage = objectIn(event, "usage"); // cached tokens are among the input
        facts.addTokens(countIn(usage, "input_tokens"), countIn(usage, "output_tokens"));
        return [];
      }
      case "turn.failed":
        facts.fail(sentenceIn(textIn(objectIn(event, "error"), "message")));
        return [];
      case "error": { // also of attempts that are repeated
        const sentence = sentenceIn(textIn(event, "message"));
        facts.meet(sentence);
        return [oneLine(sentence, 500)];
      }
      default:
        return [];
    }
  }

  #begin(item: JsonObject): readonly string[] {
    const line = workLine(item);
    const id = textIn(item, "id");
    if (line === undefined || id === "" || id.length > 100 || this.#started.size >= MAX_STARTED) {
      return [];
    }
    this.#started.add(id);
    return [line];
  }

  #complete(item: JsonObject): readonly string[] {
    switch (textIn(item, "type")) {
      case "agent_message": {
        const text = textIn(item, "text");
        this.#facts.recover();
        this.#facts.setResult(text);
        return linesOf(text);
      }
      case "error": // only a warning
        return [`warning: ${oneLine(textIn(item, "message"), 500)}`];
      default: {
        const line = workLine(item);
        if (line === undefined) return [];
        const isShown = this.#started.delete(textIn(item, "id"));
        const code = fieldOf(item, "exit_code");
        const failed = typeof code === "number" && code !== 0 ? [`  exit code ${code}`] : [];
        return isShown ? failed : [line, ...failed];
      }
    }
  }
}

/** The line of an item that is work; `undefined` for any other. */
function workLine(item: JsonObject): string | undefined {
  switch (textIn(item, "type")) {
    case "command_execution":
      return toolLine("shell", scriptIn(textIn(item, "command")));
    case "file_change":
      return toolLine(
        "edit",
        listIn(item, "changes").slice(0, 20).map((one) => textIn(one, "path")).join(" "),
      );
    case "mcp_tool_call":
      return toolLine(`${textIn(item, "server")}.${textIn(item, "tool")}`, item["arguments"]);
    case "web_search":
      return toolLine("search", textIn(item, "query"));
    default:
      return undefined;
  }
}

/** The script of `/bin/bash -lc '…'`, which is how it starts most commands. */
function scriptIn(command: string): string {
  const [, script] =
    /^\S*sh -l?c (?:'([^']*)'|"([^"]*)")$/.exec(command)?.filter((one) => one !== undefined) ?? [];
  return script ?? command;
}

/** The sentence in an error, which can be the JSON of the API's answer. */
function sentenceIn(message: string): string {
  if (!message.startsWith("{") || message.length > 10_000) return message;
  try {
    return textIn(objectIn(JSON.parse(message), "error"), "message") || message;
  } catch {
    return message;
  }
}
