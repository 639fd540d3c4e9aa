/**
 * Outputs of a step: `key=value` lines that it wrote to `$SVC_OUTPUT` for later steps. The step's
 * log names each line that is invalid; such lines have no other effect.
 *
 * @module
 */

import { messageOf } from "../../base/errors.ts";
import { RegularFile } from "../../base/regular_file.ts";

/** Outputs of a step, and the invalid parts of its file. */
export interface StepOutputs {
  /** Values by key; the last line of a key counts. */
  readonly outputs: Readonly<Record<string, string>>;
  /** One sentence for each invalid part. */
  readonly problems: readonly string[];
}

/** Bytes of the file beyond these are ignored. */
const MAX_BYTES = 1024 * 1024;
const MAX_KEYS = 1000;
/** Problems beyond these are only counted. */
const MAX_PROBLEMS = 20;

const KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const NOTHING: StepOutputs = { outputs: {}, problems: [] };

/** Reads the file at `path`; the step may have replaced it by something else. */
export async function readOutputs(path: string): Promise<StepOutputs> {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    if (!isFile) return refused("it is no longer a file");
    if (size === 0) return NOTHING;
    const { bytes, whole } = await readStart(path);
    const text = new TextDecoder().decode(bytes);
    return whole ? parseOutputs(text) : withoutRest(text);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return NOTHING;
    return refused(messageOf(error));
  }
}

/** Parses a text of `key=value` lines. */
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

/** The outputs in the beginning of a file that is too long; its last line is not whole. */
function withoutRest(text: string): StepOutputs {
  const { outputs, problems } = parseOutputs(text.slice(0, text.lastIndexOf("\n") + 1));
  const note = `$SVC_OUTPUT holds more than ${MAX_BYTES} bytes, the rest is ignored`;
  return { outputs, problems: [...problems, note] };
}

async function readStart(path: string): Promise<{ bytes: Uint8Array; whole: boolean }> {
  using file = RegularFile.open(path, { noLink: true });
  const buffer = new Uint8Array(MAX_BYTES + 1);
  const length = await file.read(buffer, 0);
  return { bytes: buffer.subarray(0, Math.min(length, MAX_BYTES)), whole: length <= MAX_BYTES };
}
