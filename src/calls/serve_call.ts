/**
 * Serves one call, from its first byte to the last of its answer. `calls.ts` describes the protocol.
 *
 * @module
 */

import type { RunTokens } from "../auth/run_tokens.ts";
import { concatBytes, findText, utf8 } from "../base/bytes.ts";
import type { DataDir } from "../base/data_dir.ts";
import type { RegularFile } from "../base/regular_file.ts";
import type { Attempt, Call, CommandOutput } from "./call.ts";
import { CallPipe } from "./call_pipe.ts";
import { type AnswerControl, ControlAnswers } from "./control_answers.ts";

/** The parts of the daemon that run a command of a script. */
export interface ServeCallHost {
  readonly dirs: DataDir;
  readonly attempt: Attempt;
  /** Answers for the control plane. */
  readonly answer: AnswerControl;
  readonly tokens: Pick<RunTokens, "find">;
}

/** Most arguments that are served. */
const MAX_ARGUMENTS = 100;
/** Most bytes that a caller may write at once. */
const MAX_BYTES = 256 * 1024;
/** Most attempts at one call; each but the last ends with a question to the caller. */
const MAX_ATTEMPTS = 10;

/**
 * Serves the call of this pipe. If it throws, the pipe is closed, and its end sends the caller to the
 * program.
 *
 * @throws If the caller has gone, does not read or writes nonsense, or the daemon is stopping.
 */
export async function serveCall(pipe: CallPipe, host: ServeCallHost): Promise<void> {
  using file = pipe.open("taken");
  const call = readCall(file, host);
  if (call === undefined) return pipe.send("program");
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
    const result = await host.attempt(call, host.dirs);
    if ("unserved" in result) break;
    if ("output" in result) {
      try {
        file.writeSync(answerText(result.output));
      } finally {
        // Also if the disk is full: the caller then finds an answer without an end, and fails. It must
        // not start the program, because the command has been carried out.
        pipe.send("answer");
      }
      return;
    }
    if ("variables" in result) {
      const question = `env ${result.variables.join(" ")}`;
      if (!CallPipe.fits(question)) break;
      pipe.send(question);
      await pipe.woken();
      const values = readTexts(file) ?? [];
      for (const [at, name] of result.variables.entries()) {
        const value = values[at];
        if (value === undefined) return pipe.send("program");
        call.variables.set(name, value.startsWith("=") ? value.slice(1) : undefined);
      }
      continue;
    }
    pipe.send("input");
    await pipe.woken();
    using input = pipe.open("input");
    call.input = readRest(input);
    if (call.input === undefined) break;
  }
  pipe.send("program");
}

/** Reads what the caller asks for; `undefined` if only the program can do it. */
function readCall(
  file: RegularFile,
  { tokens, answer }: Pick<ServeCallHost, "tokens" | "answer">,
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

/**
 * The texts that the caller has added to its file, with a NUL after each; `undefined` if they are too
 * long or not of this form.
 */
function readTexts(file: RegularFile): readonly string[] | undefined {
  const bytes = readRest(file);
  if (bytes === undefined || bytes.at(-1) !== 0) return undefined;
  return findText(bytes)?.slice(0, -1).split("\0");
}

/** The rest of a file; `undefined` if it is longer than {@linkcode MAX_BYTES}. */
function readRest(file: RegularFile): Uint8Array | undefined {
  const buffer = new Uint8Array(MAX_BYTES + 1);
  const length = file.readSync(buffer);
  return length > MAX_BYTES ? undefined : buffer.slice(0, length);
}

/** A shell reads a line byte by byte: for a longer one, a process that copies it is quicker. */
const MAX_LINE = 2048;

/** The answer as lines, which a shell reads with its builtins alone. */
function answerText({ chunks, code }: CommandOutput): Uint8Array {
  const lines = chunks.map(({ to, bytes }) => `${to} ${escape(bytes)}\n`);
  const [last, lastLine = ""] = [chunks.at(-1), lines.at(-1)];
  if (last?.to === "out" && lastLine.length > MAX_LINE) {
    return concatBytes(utf8(`${lines.slice(0, -1).join("")}rest ${code}\n`), last.bytes);
  }
  return utf8(`${lines.join("")}exit ${code}\n`);
}

const ESCAPES = new Map([[0x0a, "\\n"], [0x09, "\\t"], [0x5c, "\\\\"]]);

/** Bytes as `printf %b` reads them. */
function escape(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) {
    text += ESCAPES.get(byte) ??
      (byte >= 0x20 && byte < 0x7f
        ? String.fromCharCode(byte)
        : `\\0${byte.toString(8).padStart(3, "0")}`);
  }
  return text;
}
