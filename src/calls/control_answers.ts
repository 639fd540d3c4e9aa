/**
 * The control plane as one call sees it. Each attempt runs the command from its beginning, so the
 * answers are kept: an operation is carried out once. Some operations are left to the program.
 *
 * @module
 */

import { findOperation } from "../api/operations.ts";

/** Answers a request to the control plane. */
export type AnswerControl = (request: Request) => Promise<Response>;

interface StoredAnswer {
  readonly status: number;
  /** They say whether the daemon has refused the request. */
  readonly headers: Headers;
  readonly text: string;
}

/** Longest answer to a command that only reads, in characters. */
const MAX_ANSWER = 256 * 1024;

/** Asks the control plane, and repeats its answer to a request that was made before. */
export class ControlAnswers {
  readonly #answer: AnswerControl;
  readonly #stored = new Map<string, Promise<StoredAnswer>>();

  constructor(answer: AnswerControl) {
    this.#answer = answer;
  }

  /**
   * The answer to a request; `undefined` if only the program may make it.
   *
   * @param hasInput Whether the command has read its standard input.
   */
  async ask(request: Request, hasInput: boolean): Promise<Response | undefined> {
    const name = new URL(request.url).pathname.split("/").at(-1) ?? "";
    const operation = findOperation(name);
    if (operation === undefined || operation.output.form === "lines") return undefined;
    if (operation.attachment !== undefined) return undefined;
    // If a caller is killed while it writes, the daemon reads half of its input, which must not
    // change anything.
    if (operation.changes && hasInput) return undefined;
    const asked = `${name} ${await request.clone().text()}`;
    const answer = this.#stored.get(asked) ?? this.#answer(request).then(readAnswer);
    this.#stored.set(asked, answer);
    const { status, headers, text } = await answer;
    if (!operation.changes && text.length > MAX_ANSWER) return undefined;
    return new Response(text, { status, headers });
  }
}

async function readAnswer(response: Response): Promise<StoredAnswer> {
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
}
