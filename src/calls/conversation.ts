/**
 * One call, from the first byte of its caller to the last of its answer. The protocol is told in
 * `calls.ts`.
 *
 * @module
 */

import type { RunTokens } from "../auth/run_tokens.ts";
import { findText } from "../base/bytes.ts";
import type { DataDir } from "../base/data_dir.ts";
import type { RegularFile } from "../base/regular_file.ts";
import { answerText } from "./answer_text.ts";
import type { Attempt, Call } from "./call.ts";
import { type AnswerControl, ControlAnswers } from "./control_answers.ts";
import { Slot } from "./slots.ts";

/** What a conversation needs. */
export interface ConversationHost {
  readonly dirs: DataDir;
  readonly attempt: Attempt;
  readonly answer: AnswerControl;
  readonly tokens: Pick<RunTokens, "find">;
}

/** Most arguments that are served, and most bytes of what the caller writes at once. */
const [MAX_ARGUMENTS, MAX_BYTES] = [100, 256 * 1024];
/** Most questions of one call: each has an answer that the next attempt has no need to ask for. */
const MAX_ATTEMPTS = 10;

/**
 * Serves the call that has this slot. When it throws, the end of the pipe sends the caller to the
 * program.
 *
 * @throws When the caller has gone, reads nothing or writes nonsense, or the daemon is stopping.
 */
export async function converse(slot: Slot, host: ConversationHost): Promise<void> {
  using file = slot.open("taken");
  const call = readCall(file, host);
  if (call === undefined) return slot.say("program");
  for (let asked = 0; asked < MAX_ATTEMPTS; asked++) {
    const ended = await host.attempt(call, host.dirs);
    if ("unserved" in ended) break;
    if ("answer" in ended) {
      try {
        file.writeSync(answerText(ended.answer));
      } finally {
        slot.say("answer"); // on a full disk one without an end: what was done must not be repeated
      }
      return;
    }
    if ("variables" in ended) {
      const question = `env ${ended.variables.join(" ")}`;
      if (!Slot.canSay(question)) break;
      slot.say(question);
      await slot.rung();
      const values = readTexts(file) ?? [];
      for (const [at, name] of ended.variables.entries()) {
        const value = values[at];
        if (value === undefined) return slot.say("program");
        call.variables.set(name, value.startsWith("=") ? value.slice(1) : undefined);
      }
      continue;
    }
    slot.say("input");
    await slot.rung();
    using input = slot.open("input");
    call.input = readRest(input);
    if (call.input === undefined) break;
  }
  slot.say("program");
}

/** What is called; `undefined` when the daemon does not serve it. */
function readCall(
  file: RegularFile,
  { tokens, answer }: Pick<ConversationHost, "tokens" | "answer">,
): Call | undefined {
  const [token, project, count, ...args] = readTexts(file) ?? [];
  if (token === undefined || project === undefined) return undefined;
  const run = tokens.find(token);
  if (run === undefined || args.length !== Number(count) || args.length > MAX_ARGUMENTS) {
    return undefined;
  }
  const variables = new Map([["SVC_PROJECT", project]]);
  return { args, run, token, variables, answers: new ControlAnswers(answer) };
}

/** The texts that the caller has added, a NUL after each; `undefined` when they are none or too long. */
function readTexts(file: RegularFile): readonly string[] | undefined {
  const bytes = readRest(file);
  if (bytes === undefined || bytes.at(-1) !== 0) return undefined;
  return findText(bytes)?.slice(0, -1).split("\0");
}

/** The rest of a file; `undefined` when it is more than is served. */
function readRest(file: RegularFile): Uint8Array | undefined {
  const buffer = new Uint8Array(MAX_BYTES + 1);
  const length = file.readSync(buffer);
  return length > MAX_BYTES ? undefined : buffer.slice(0, length);
}
