/**
 * How an agent gets its prompt: on standard input, as `"$1"`, in a variable or in a file. A prompt
 * that is too long for a variable or an argument is refused, with the names of the other ways; it is
 * never cut.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import type { PlannedAgent } from "../plan.ts";
import { MAX_VARIABLE_BYTES } from "./step_env.ts";

/** The parts of a shell command that carry the prompt. */
export interface DeliveredPrompt {
  readonly stdin?: Uint8Array;
  /** `$1` of the agent's shell line. */
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Prepares `prompt` in the way that the agent expects (`by`); `toFile` makes a file and returns its
 * path.
 *
 * @throws {AppError} `invalid` when it is too long for that way, or holds a NUL that it cannot carry.
 */
export async function deliverPrompt(
  prompt: string,
  { by, toFile }: {
    by: PlannedAgent["promptDelivery"];
    toFile: (content: Uint8Array) => Promise<string>;
  },
): Promise<DeliveredPrompt> {
  const bytes = utf8(prompt); // half a surrogate pair becomes U+FFFD
  switch (by) {
    case "stdin":
      return { stdin: bytes, env: {} };
    case "file":
      return { env: { SVC_PROMPT_FILE: await toFile(bytes) } };
    case "arg":
      checkFits(prompt, bytes, 'an argument ("$1")');
      return { args: [prompt.toWellFormed()], env: {} };
    case "env":
      checkFits(prompt, bytes, "a variable ($SVC_PROMPT)");
      return { env: { SVC_PROMPT: prompt.toWellFormed() } };
  }
}

function checkFits(prompt: string, bytes: Uint8Array, what: string): void {
  const remedy = 'set "promptDelivery: stdin" or "file" in the Agent';
  if (prompt.includes("\0")) {
    throw new AppError("invalid", `The prompt holds a NUL, which ${what} cannot carry: ${remedy}`);
  }
  if (bytes.length > MAX_VARIABLE_BYTES) {
    const limit = `${bytes.length} bytes are too many for ${what}`;
    throw new AppError("invalid", `The prompt is too long, ${limit}: ${remedy}`);
  }
}
