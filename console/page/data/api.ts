/**
 * Operations of the daemon, called through the gateway.
 *
 * @module
 */

import { signal } from "@preact/signals";
import { defined } from "../../../src/base/defined.ts";
import type { CallName, Input, Output, StreamName } from "../../../src/api/operations.ts";
import { isAway, needsLogin } from "./login.ts";
import { endSession, session } from "./session.ts";

/** An error that the daemon or the gateway answered with. */
export class Refusal extends Error {
  /** The code of the daemon's answer; `unreachable` if there was no answer. */
  readonly code: string;
  readonly status: number;
  readonly details: readonly string[];

  constructor(
    message: string,
    more: { readonly code: string; readonly status?: number; readonly details?: readonly string[] },
  ) {
    super(message);
    this.code = more.code;
    this.status = more.status ?? 0;
    this.details = more.details ?? [];
  }
}

/** `daemon` while only the gateway answers, `console` while the gateway does not answer either. */
export const reach = signal<"connected" | "daemon" | "console">("connected");

/**
 * Calls an operation.
 *
 * @throws {Refusal} whatever the daemon or the gateway refused with.
 */
export async function call<Name extends CallName>(
  name: Name,
  input: Input<Name>,
  signal?: AbortSignal,
): Promise<Output<Name>> {
  return await (await send(name, input, signal)).json() as Output<Name>;
}

/**
 * Calls an operation that streams; yields its lines until it ends or `signal` aborts.
 *
 * @throws {Refusal} as {@linkcode call}; `unreachable` also when the stream breaks off.
 */
export async function* stream<Name extends StreamName>(
  name: Name,
  input: Input<Name>,
  signal: AbortSignal,
): AsyncGenerator<Output<Name>> {
  const { body } = await send(name, input, signal);
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = "";;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line) as Output<Name>;
    }
  } catch (cause) {
    if (signal.aborted) return;
    throw new Refusal(`The connection broke: ${String(cause)}`, { code: "unreachable" });
  } finally {
    void reader.cancel().catch(() => {});
  }
}

async function send(name: string, input: unknown, signal?: AbortSignal): Promise<Response> {
  const opened = session.value;
  if (typeof opened !== "object") {
    throw new Refusal("There is no session", { code: "unauthorized" });
  }
  const response = await fetch(`/v1/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${opened.key}` },
    body: JSON.stringify(input),
    redirect: "manual",
    ...defined({ signal }),
  }).catch(() => undefined);
  if (response === undefined && signal?.aborted === true) {
    throw new Refusal("The request was cancelled", { code: "aborted" });
  }
  if (response === undefined || isAway(response)) {
    reach.value = "console";
    throw new Refusal(
      "svc console does not answer: it has ended, or the connection to it is lost",
      { code: "unreachable" },
    );
  }
  const isOut = needsLogin(response);
  if (response.ok && !isOut) {
    reach.value = "connected";
    return response;
  }
  const problem = await response.json().catch(() => ({})) as {
    readonly code?: string;
    readonly detail?: string;
    readonly title?: string;
    readonly details?: readonly string[];
  };
  const { code = "internal", detail, title, details = [] } = problem;
  if (isOut) endSession();
  reach.value = code === "unreachable" ? "daemon" : "connected";
  throw new Refusal(detail ?? title ?? `HTTP ${response.status}`, {
    code,
    status: response.status,
    details,
  });
}
