/**
 * Reads what comes with a request: a JSON object, and for an operation with an attachment the bytes
 * after it, which go straight to a file.
 *
 * @module
 */

import { ATTACHED_TYPE } from "../../api/attached_type.ts";
import type { Attachment } from "../../api/operation.ts";
import type { Caller } from "../../auth/caller.ts";
import { AppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import type { RuntimeDirectory } from "../../base/runtime_directory.ts";
import { BodyBudget } from "../../http/body_budget.ts";
import { AttachedBody } from "./attached_body.ts";
import { readBody } from "../../http/read_body.ts";

/** The bytes that came with an input. */
export interface AttachedFile {
  /** Path of a file that is there until the handler has answered. */
  readonly path: string;
  readonly bytes: number;
  /** Aborts once nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What a request brings. */
export interface Given extends AsyncDisposable {
  readonly input: JsonObject;
  /**
   * Takes the attachment, for a call that `signal` ends; `undefined` for an operation that has none. Disposing removes its file.
   *
   * @throws {AppError} `invalid` when there is none, and what {@linkcode AttachedBody} throws.
   */
  attached(signal: AbortSignal): Promise<AttachedFile | undefined>;
}

/** Where attachments lie. */
export interface AttachmentHost {
  readonly runtime: Pick<RuntimeDirectory, "filesOf">;
  readonly newId: NewId;
}

/** Limits of a request body; far more than manifests written by people need. */
const BODY_LIMITS = { maxBytes: 64 * 1024 * 1024, deadlineMs: 30_000 };
/** A budget separate from the webhooks', so that an operator can act whatever strangers send. */
const BODIES = new BodyBudget(4 * BODY_LIMITS.maxBytes);
/** Limits of an input with an attachment: texts that a person writes. */
const LINE_LIMITS = { maxBytes: 1024 * 1024, deadlineMs: 30_000 };
/** Longest time for an attachment, also over a slow network. */
const ATTACHMENT_MS = 120_000;
/** Bytes of attachments that lie on the disk at once. */
const ATTACHED = new BodyBudget(256 * 1024 * 1024);

/**
 * Reads the input; callers of one role cannot use up the memory reserved for the others, and one task
 * not the room of attachments.
 *
 * @throws {AppError} `invalid`, and what {@linkcode readBody} throws.
 */
export async function readInput(
  request: Request,
  { caller, attachment, host }: {
    readonly caller: Caller;
    /** The attachment of the operation, if it has one. */
    readonly attachment: Attachment | undefined;
    readonly host: AttachmentHost;
  },
): Promise<Given> {
  const isAttached = request.headers.get("content-type") === ATTACHED_TYPE;
  if (isAttached !== (attachment !== undefined)) {
    const message = isAttached ? "takes no attachment" : "needs an attachment";
    throw new AppError(
      "invalid",
      `This operation ${message}: the client may be of another version`,
    );
  }
  return attachment === undefined
    ? { input: await readObject(request, caller), ...NO_ATTACHMENT }
    : await readLine(request, { caller, attachment, host });
}

const NO_ATTACHMENT = {
  attached: () => Promise.resolve(undefined),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

async function readObject(request: Request, { role }: Caller): Promise<JsonObject> {
  const held = BODIES.hold(role);
  try {
    const headers = Object.fromEntries(request.headers);
    return toObject(await readBody(request, { headers, limits: BODY_LIMITS, held }));
  } finally {
    held.release();
  }
}

async function readLine(
  request: Request,
  { caller, attachment, host }: Required<Parameters<typeof readInput>[1]> & {
    readonly attachment: Attachment;
  },
): Promise<Given> {
  await using opening = new AsyncDisposableStack();
  const body = opening.use(new AttachedBody(request));
  const held = BODIES.hold(caller.role);
  opening.defer(() => held.release());
  const input = toObject(await body.readLine(LINE_LIMITS, held));
  const open = opening.move();
  return {
    input,
    async attached(signal) {
      const room = ATTACHED.hold(caller.grant?.taskId ?? caller.role);
      open.defer(() => room.release());
      const files = open.use(host.runtime.filesOf(`attached-${host.newId()}`));
      const path = await files.makeOnDisk("attached");
      const limits = { maxBytes: attachment.maxBytes, deadlineMs: ATTACHMENT_MS };
      const bytes = await body.writeRest(path, limits, room);
      if (bytes === 0) throw new AppError("invalid", "The attachment is empty");
      return { path, bytes, signal };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function toObject(body: Uint8Array): JsonObject {
  const input = parseJson(new TextDecoder().decode(body));
  if (isJsonObject(input)) return input;
  throw new AppError("invalid", "The body is not a JSON object");
}
