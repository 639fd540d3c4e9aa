/**
 * How an agent gets its prompt (Agent): on standard input, as `"$1"`, in a variable or in
 * a file. What a way cannot hold is refused with the way that can; nothing is ever cut.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import type { PlannedAgent } from "../plan.ts";
import { MAX_VARIABLE_BYTES } from "./step_env.ts";

/** What of a shell command carries the prompt. */
export interface DeliveredPrompt {
  /** Standard input. */
  readonly stdin?: Uint8Array;
  /** `$1` of the agent's shell line. */
  readonly args?: readonly string[];
  /** Variables. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Hands `prompt` over the way the agent wants it; `toFile` makes a file and gives its path.
 *
 * @throws {AppError} `invalid` when it is too long or holds what that way cannot carry.
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
