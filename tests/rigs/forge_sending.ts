/**
 * Sends messages to the fake of a forge through their kinds, without an outbox: a test says what was
 * sent before, and what may have arrived.
 *
 * @module
 */

import { defined } from "../../src/base/defined.ts";
import type { ForgeName } from "../../src/base/forge_names.ts";
import { ForgeTokens } from "../../src/connections/forge_tokens.ts";
import { OwnUsers } from "../../src/connections/own_users.ts";
import { Markers } from "../../src/outbox/marker.ts";
import type { FindResult, MessageKind, SendResult } from "../../src/outbox/message_kind.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { ClaimedMessage, OutboxMessage } from "../../src/store/outbox_records.ts";
import { knownIn, storeOf } from "../helpers/known_secrets.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { outboxMessage } from "../helpers/outbox_message.ts";
import { tempStore } from "../helpers/temp_store.ts";

/** A message, and what is known of those before it with its key. */
export interface Given extends Pick<OutboxMessage, "target" | "body"> {
  readonly key?: string;
  readonly previousId?: string;
  readonly uncertainSince?: number;
  /** The pack of its commit; empty if absent. */
  readonly pack?: Uint8Array<ArrayBuffer>;
}

/** Sends through one kind. */
export interface ForgeSendingRig extends AsyncDisposable {
  readonly markers: Markers;
  readonly clock: ManualClock;
  send(given: Given): Promise<SendResult>;
  find(given: Given): Promise<FindResult>;
}

/** The kind for a forge, of those that do the same at each of them. */
export function kindAt(forge: ForgeName, kinds: readonly MessageKind[]): MessageKind {
  const found = kinds.find(({ name }) => name.startsWith(`${forge}-`));
  if (found === undefined) throw new Error(`None of these kinds sends to ${forge}`);
  return found;
}

/** A rig for one kind. */
export async function forgeSending(
  kind: MessageKind,
  { connection: spec, repository, token }: {
    /** The block of the Connection, which finds the token in the SecretStore `tidepool`. */
    readonly connection: Readonly<Record<string, unknown>>;
    readonly repository: string;
    readonly token: string;
  },
): Promise<ForgeSendingRig> {
  const temp = await tempStore();
  const clock = new ManualClock();
  const connection = { ...storeOf("tidepool", {}), kind: "Connection", spec };
  const catalog = new Catalog([storeOf("tidepool", { token }), connection]);
  const secrets = knownIn(catalog);
  const markers = new Markers(new Uint8Array(32));
  let pack: readonly Uint8Array<ArrayBuffer>[] = [];
  const host = {
    catalog,
    clock,
    slackApiUrl: "",
    markers,
    ownUsers: new OwnUsers(temp.store, clock),
    forgeTokens: new ForgeTokens({ catalog, clock, secrets }),
    readContent: () => ReadableStream.from(pack),
    signal: new AbortController().signal,
  };
  const claimed = (given: Given): ClaimedMessage => {
    pack = given.pack === undefined ? [] : [given.pack];
    const { key = "", target, body, previousId = "", uncertainSince } = given;
    const message = outboxMessage({
      id: "01JZZZZZZZZZZZZZZZZZ0000MS",
      kind: kind.name,
      target: { repository, ...target },
      body,
      state: "pending",
    });
    const taskId = "01JZZZZZZZZZZZZZZZZZ0000TA";
    return {
      message: { ...message, key, taskId, connection: "tidepool" },
      lane: "l",
      previousId,
      ...defined({ uncertainSince }),
    };
  };
  return {
    markers,
    clock,
    send: async (given) => withoutWrites(await kind.send(claimed(given), host)),
    async find(given) {
      if (kind.find === undefined) throw new Error(`${kind.name} finds nothing`);
      return withoutWrites(await kind.find(claimed(given), host));
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

/** The result without the number of calls that write. */
function withoutWrites<Result extends object>(result: Result): Result {
  const { writes: _number, ...rest } = result as Result & { readonly writes?: number };
  return rest as Result;
}
