/**
 * An outbox over a real store and a manual clock, with kinds of messages that the test makes.
 *
 * @module
 */

import { EventHub } from "../../src/base/event_hub.ts";
import { idFactory } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import { ForgeTokens } from "../../src/connections/forge_tokens.ts";
import { OwnUsers } from "../../src/connections/own_users.ts";
import { Markers } from "../../src/outbox/marker.ts";
import type { Draft, FindResult, MessageKind, SendResult } from "../../src/outbox/message_kind.ts";
import { Outbox } from "../../src/outbox/outbox.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { withAnnouncements } from "../../src/store/store_methods.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import type { Incident } from "../../src/store/incident_records.ts";
import type { ClaimedMessage, OutboxMessage } from "../../src/store/outbox_records.ts";
import type { Store } from "../../src/store/store.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { until } from "../helpers/until.ts";
import { knownIn, storeOf } from "../helpers/known_secrets.ts";

/** The outbox of one test. */
export interface OutboxRig extends AsyncDisposable {
  readonly store: Store;
  readonly clock: ManualClock;
  /** The tries, in order. */
  readonly sent: ClaimedMessage[];
  readonly incidents: Incident[];
  readonly logged: string[];
  /** The kind that all messages have; replaced by a test. */
  kind: MessageKind;
  /** What a try gives, in the order of the tries; the last one for ever. */
  answers: readonly (SendResult | Promise<SendResult>)[];
  found: FindResult;
  /** Starts an outbox; after it was stopped, another one. */
  start(): Outbox;
  stop(): Promise<void>;
  /** Resolves when so many tries have begun. */
  tries(count: number): Promise<void>;
  /** The message with this text, once it is in a state or has been tried so often. */
  message(
    text: string,
    is?: (message: OutboxMessage) => boolean,
  ): Promise<OutboxMessage>;
}

/** A draft whose body says `text`. */
export function draft(text: string, given: Partial<Draft> = {}): Draft {
  return {
    project: "default",
    connection: "tidepool",
    kind: "test",
    target: { number: 1 },
    key: "",
    body: { text },
    taskId: "",
    ...given,
  };
}

/** The value of the SecretStore that these tests know. */
export const SECRET = "the-secret-of-these-tests";

/** Makes the parts of an outbox; `start` starts one. */
export async function outboxRig(): Promise<OutboxRig> {
  const temp = await tempStore();
  const clock = new ManualClock();
  const logged: string[] = [];
  const write = (line: string) => void logged.push(line);
  const log = createLog({ level: "debug", format: "json", clock, write });
  const events = new EventHub<DaemonEvents>(log);
  const incidents: Incident[] = [];
  events.on("incidentHappened", (incident) => void incidents.push(incident));
  const store = withAnnouncements(temp.store, events);
  const catalog = new Catalog([storeOf("all", { key: SECRET })]);
  const secrets = knownIn(catalog);
  const newId = idFactory(clock);
  let running: Outbox | undefined;
  const rig: OutboxRig = {
    store,
    clock,
    sent: [],
    incidents,
    logged,
    answers: [{ result: "sent", externalId: "" }],
    found: { result: "absent" },
    kind: {
      name: "test",
      again: "find",
      way: ({ connection }) => connection,
      send(claimed) {
        rig.sent.push(claimed);
        const answer = rig.answers[rig.sent.length - 1] ?? rig.answers.at(-1);
        return Promise.resolve(answer ?? { result: "refused", reason: "no answer" });
      },
      find: () => Promise.resolve(rig.found),
    },
    start() {
      const ownUsers = new OwnUsers(store, clock);
      const markers = new Markers(new Uint8Array(32));
      const parts = { store, clock, log, events, catalog, secrets, newId, slackApiUrl: "" };
      const forgeTokens = new ForgeTokens({ catalog, clock, secrets });
      const host = { ...parts, ownUsers, forgeTokens, markers };
      const findKind = (name: string) => name === "test" ? rig.kind : undefined;
      return running = new Outbox({ ...host, findKind });
    },
    async stop() {
      await running?.[Symbol.asyncDispose]();
      running = undefined;
    },
    async tries(count) {
      await until(`${count} tries`, async () => {
        await clock.advance(0); // timers that came due while the store answered
        return rig.sent.length >= count || undefined;
      });
    },
    message: (text, is = ({ state }) => state !== "pending") =>
      until(`the message ${text}`, async () => {
        await clock.advance(0);
        const all = await store.listMessages({ limit: 100 });
        return all.find((one) => one.body["text"] === text && is(one));
      }),
    async [Symbol.asyncDispose]() {
      await rig.stop();
      await temp[Symbol.asyncDispose]();
    },
  };
  return rig;
}
