/**
 * The control plane as one call sees it. An operation is carried out once, however often the command
 * is attempted; some are left to the program.
 *
 * @module
 */

import { findOperation } from "../api/operations.ts";

/** Answers a request to the control plane. */
export type AnswerControl = (request: Request) => Promise<Response>;

/** An answer of the control plane. */
interface Kept {
  readonly status: number;
  /** Says whether it is a refusal of the daemon. */
  readonly headers: Headers;
  readonly text: string;
}

/** Longest answer of the control plane that is made a text of here, in characters. */
const MAX_ANSWER = 256 * 1024;

/** Answers of the control plane, kept by what was asked. */
export class ControlAnswers {
  readonly #answer: AnswerControl;
  readonly #kept = new Map<string, Promise<Kept>>();

  constructor(answer: AnswerControl) {
    this.#answer = answer;
  }

  /**
   * Asks the control plane; what was asked before is not asked again. `undefined` for what only the
   * program may ask. `hasInput`: whether the command has read its standard input.
   */
  async ask(request: Request, hasInput: boolean): Promise<Response | undefined> {
    const name = new URL(request.url).pathname.split("/").at(-1) ?? "";
    const operation = findOperation(name);
    if (operation === undefined || operation.output.form === "lines") return undefined;
    // A caller that is killed while it writes leaves half an input, by which nothing may be changed.
    if (operation.role !== "read_only" && hasInput) return undefined;
    const asked = `${name} ${await request.clone().text()}`;
    const kept = this.#kept.get(asked) ?? this.#answer(request).then(keep);
    this.#kept.set(asked, kept);
    const { status, headers, text } = await kept;
    if (operation.role === "read_only" && text.length > MAX_ANSWER) return undefined;
    return new Response(text, { status, headers });
  }
}

async function keep(response: Response): Promise<Kept> {
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
}
