/**
 * One call, from the first byte of its caller to the last of its answer. The protocol is told in
 * `calls.ts`.
 *
 * @module
 */

import type { RunTokens } from "../auth/run_tokens.ts";
import { type Answered, attempt, type AttemptHost, type Call } from "./attempt.ts";
import { InputReader } from "./input_reader.ts";
import { answerText } from "./answer_text.ts";
import type { Slot } from "./slots.ts";

/** What a conversation needs. */
export interface ConversationHost extends AttemptHost {
  readonly tokens: Pick<RunTokens, "find">;
}

/** Most bytes of the arguments together; a whole environment has no more. */
const MAX_ARGUMENT_BYTES = 4 * 1024 * 1024;
/** Most arguments, and most bytes of one, that are served. */
const SERVED = { arguments: 100, bytes: 256 * 1024 };
/** Most questions of one call: each has an answer that the next attempt has no need to ask for. */
const MAX_ATTEMPTS = 10;

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Serves the call that has this pair of pipes.
 *
 * @throws When the caller has gone, or the daemon is stopping.
 */
export async function converse(
  slot: Slot,
  host: ConversationHost,
  signal: AbortSignal,
): Promise<void> {
  const input = new InputReader(slot.input, signal);
  const call = await readCall(input, host);
  if (call === undefined) return await write(slot, "program\n");
  for (let asked = 0; asked < MAX_ATTEMPTS; asked++) {
    const ended = await attempt(call, host);
    if ("answer" in ended) return await writeAnswer(slot, ended.answer);
    if ("unserved" in ended) break;
    if ("variables" in ended) {
      await write(slot, `env ${ended.variables.join(" ")}\n`);
      for (const name of ended.variables) {
        const value = UTF8.decode(await input.untilNul(SERVED.bytes));
        call.variables.set(name, value.startsWith("=") ? value.slice(1) : undefined);
      }
      continue;
    }
    await write(slot, "input\n");
    call.input = await input.untilEnd(SERVED.bytes);
    if (call.input === undefined) break;
  }
  if (call.input === undefined && !input.ending) return await write(slot, "program\n");
  await write(slot, "program with input\n");
  for await (const chunk of input.again()) await writeAll(slot.output, chunk);
}

/** What is called; `undefined` when the daemon does not serve it. */
async function readCall(
  input: InputReader,
  { tokens }: Pick<ConversationHost, "tokens">,
): Promise<Call | undefined> {
  const [token, project, count] = [
    UTF8.decode(await input.untilNul(SERVED.bytes)),
    UTF8.decode(await input.untilNul(SERVED.bytes)),
    Number(UTF8.decode(await input.untilNul(SERVED.bytes))),
  ];
  const args: Uint8Array[] = [];
  let left = MAX_ARGUMENT_BYTES;
  for (let at = 0; at < count; at++) {
    const argument = await input.untilNul(left);
    left -= argument.length + 1;
    args.push(argument);
  }
  const run = tokens.find(token);
  const bytes = MAX_ARGUMENT_BYTES - left;
  if (run === undefined || args.length > SERVED.arguments || bytes > SERVED.bytes) return undefined;
  try {
    return {
      args: args.map((argument) => UTF8.decode(argument)),
      run,
      token,
      variables: new Map([["SVC_PROJECT", project]]),
      answers: new Map(),
    };
  } catch {
    return undefined; // an argument that is not UTF-8
  }
}

async function writeAnswer(slot: Slot, answer: Answered): Promise<void> {
  const { lines, rest } = answerText(answer);
  await write(slot, lines);
  if (rest !== undefined) await writeAll(slot.output, rest);
}

/** Bytes that a pipe takes at once on every system. */
const PIPE_BYTES = 4096;

async function write(slot: Slot, lines: string): Promise<void> {
  const bytes = new TextEncoder().encode(lines);
  // The caller has read everything before it answered, so there is room, and no thread is needed.
  if (bytes.length <= PIPE_BYTES) slot.output.writeSync(bytes);
  else await writeAll(slot.output, bytes);
}

async function writeAll(pipe: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) done += await pipe.write(bytes.subarray(done));
}
