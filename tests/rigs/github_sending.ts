/**
 * Sends messages to the fake GitHub through their kinds, without an outbox: a test says what was sent
 * before, and what may have arrived.
 *
 * @module
 */

import { defined } from "../../src/base/defined.ts";
import { ForgeTokens } from "../../src/connections/forge_tokens.ts";
import { OwnUsers } from "../../src/connections/own_users.ts";
import { Markers } from "../../src/outbox/marker.ts";
import type { FindResult, MessageKind, SendResult } from "../../src/outbox/message_kind.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { ClaimedMessage, OutboxMessage } from "../../src/store/outbox_records.ts";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import { knownIn, storeOf } from "../helpers/known_secrets.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { outboxMessage } from "../helpers/outbox_message.ts";
import { tempStore } from "../helpers/temp_store.ts";

/** The repository of these messages. */
export const REPOSITORY = "brightwater/tidepool";

/** A message, and what is known of those before it with its key. */
export interface Given extends Pick<OutboxMessage, "target" | "body"> {
  readonly key?: string;
  readonly previousId?: string;
  readonly uncertainSince?: number;
  /** The pack of its commit; empty if absent. */
  readonly pack?: Uint8Array<ArrayBuffer>;
}

/** Sends through one kind. */
export interface GitHubSendingRig extends AsyncDisposable {
  readonly fake: FakeGitHub;
  readonly markers: Markers;
  readonly clock: ManualClock;
  send(given: Given): Promise<SendResult>;
  find(given: Given): Promise<FindResult>;
  /** The calls that write since the last time, such as `POST /repos/…`, without the repository. */
  written(): readonly string[];
}

/** The kind for GitHub, of those that do the same at each forge. */
export function atGitHub(kinds: readonly MessageKind[]): MessageKind {
  const found = kinds.find(({ name }) => name.startsWith("github-"));
  if (found === undefined) throw new Error("None of these kinds sends to GitHub");
  return found;
}

/** A rig for one kind, over a fake GitHub of the test, or one of its own. */
export async function githubSending(
  kinds: readonly MessageKind[],
  given?: FakeGitHub,
): Promise<GitHubSendingRig> {
  const kind = atGitHub(kinds);
  const temp = await tempStore();
  const fake = given ?? fakeGitHub();
  const clock = new ManualClock();
  const connection = {
    ...storeOf("tidepool", {}),
    kind: "Connection",
    spec: {
      github: {
        repository: REPOSITORY,
        api: fake.url,
        token: { fromSecret: { store: "tidepool", key: "token" } },
      },
    },
  };
  const catalog = new Catalog([storeOf("tidepool", { token: TOKEN.token }), connection]);
  const secrets = knownIn(catalog);
  const markers = new Markers(new Uint8Array(32));
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
  let pack: readonly Uint8Array<ArrayBuffer>[] = [];
  const claimed = (given: Given): ClaimedMessage => {
    pack = given.pack === undefined ? [] : [given.pack];
    const { key = "", target, body, previousId = "", uncertainSince } = given;
    const message = outboxMessage({
      id: "01JZZZZZZZZZZZZZZZZZ0000MS",
      kind: kind.name,
      target: { repository: REPOSITORY, ...target },
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
  let seen = 0;
  return {
    fake,
    markers,
    clock,
    send: async (given) => withoutWrites(await kind.send(claimed(given), host)),
    async find(given) {
      if (kind.find === undefined) throw new Error(`${kind.name} finds nothing`);
      return withoutWrites(await kind.find(claimed(given), host));
    },
    written() {
      const calls = fake.calls.slice(seen).filter(({ method }) => method !== "GET");
      seen = fake.calls.length;
      return calls.map(({ method, path }) =>
        `${method} ${path.replace(`/repos/${REPOSITORY}`, "")}`
      );
    },
    async [Symbol.asyncDispose]() {
      if (given === undefined) await fake[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

/** The result without the number of calls that write, which `written` names. */
function withoutWrites<Result extends object>(result: Result): Result {
  const { writes: _number, ...rest } = result as Result & { readonly writes?: number };
  return rest as Result;
}
