/**
 * What a step writes to `$SVC_OUTPUT`: `key=value` lines for the steps after it. What is
 * no such line is told to the author in the step's log and changes nothing else.
 *
 * @module
 */

import { messageOf } from "../../base/errors.ts";

/** Outputs of a step, and what of its file was not taken. */
export interface StepOutputs {
  /** Values by key; the last line of a key counts. */
  readonly outputs: Readonly<Record<string, string>>;
  /** One sentence for each thing that was not taken. */
  readonly problems: readonly string[];
}

/** Most that is read of the file, in bytes. */
const MAX_BYTES = 1024 * 1024;
/** Most keys. */
const MAX_KEYS = 1000;
/** Most problems that are told. */
const MAX_PROBLEMS = 20;

const KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const NOTHING: StepOutputs = { outputs: {}, problems: [] };

/** Reads the file at `path`, whatever the step has made of it. */
export async function readOutputs(path: string): Promise<StepOutputs> {
  try {
    const { isFile, size } = Deno.lstatSync(path); // of our own disk
    if (!isFile) return refused("it is not a file any more"); // to open a pipe would wait for its writer
    if (size === 0) return NOTHING;
    const { bytes, whole } = await readStart(path);
    const text = new TextDecoder().decode(bytes);
    return whole ? parseOutputs(text) : withoutRest(text);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return NOTHING;
    return refused(messageOf(error));
  }
}

/** The outputs of a text of `key=value` lines. */
export function parseOutputs(text: string): StepOutputs {
  const found = new Map<string, string>();
  const problems: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const cut = line.indexOf("=");
    const key = line.slice(0, Math.max(cut, 0));
    if (!KEY.test(key)) {
      problems.push(`line ${index + 1} of $SVC_OUTPUT is not "key=value" and is ignored`);
    } else if (found.size >= MAX_KEYS && !found.has(key)) {
      problems.push(
        `line ${index + 1} of $SVC_OUTPUT is ignored, a step has at most ${MAX_KEYS} keys`,
      );
    } else {
      found.set(key, line.slice(cut + 1));
    }
  }
  const more = problems.length - MAX_PROBLEMS;
  return {
    outputs: Object.fromEntries(found),
    problems: more > 0
      ? [...problems.slice(0, MAX_PROBLEMS), `${more} more lines of $SVC_OUTPUT are ignored`]
      : problems,
  };
}

function refused(why: string): StepOutputs {
  return { outputs: {}, problems: [`$SVC_OUTPUT cannot be read: ${why}`] };
}

/** Of a file that is too long, its whole lines count. */
function withoutRest(text: string): StepOutputs {
  const { outputs, problems } = parseOutputs(text.slice(0, text.lastIndexOf("\n") + 1));
  const note = `$SVC_OUTPUT holds more than ${MAX_BYTES} bytes, the rest is ignored`;
  return { outputs, problems: [...problems, note] };
}

async function readStart(path: string): Promise<{ bytes: Uint8Array; whole: boolean }> {
  using file = await Deno.open(path);
  const buffer = new Uint8Array(MAX_BYTES + 1);
  let length = 0;
  while (length < buffer.length) {
    const read = await file.read(buffer.subarray(length));
    if (read === null) return { bytes: buffer.subarray(0, length), whole: true };
    length += read;
  }
  return { bytes: buffer.subarray(0, MAX_BYTES), whole: false };
}
