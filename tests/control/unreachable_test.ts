/**
 * Messages that have no way: a sentence for each reason, and few sentences however many reasons.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { findUnreachable } from "../../src/control/unreachable.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { OutboxMessage } from "../../src/store/outbox_records.ts";
import { outboxMessage } from "../helpers/outbox_message.ts";

function failed(id: string, repository: string): OutboxMessage {
  return outboxMessage({
    id,
    kind: "github-comment",
    target: { repository: `you/${repository}` },
    body: { trigger: "push" },
    state: "failed",
  });
}

const saidOf = (messages: readonly OutboxMessage[]) =>
  findUnreachable({
    catalog: new Catalog(),
    store: { listMessages: () => Promise.resolve([...messages]) },
  });

const sentence = (what: string, repository: string, which: string) =>
  `${what} not sent: No Connection to github covers you/${repository} in project "default": make ` +
  `one with svc connect github you/${repository}; then svc outbox retry ${which}, or svc outbox ` +
  `drop ${which} (svc get outbox --state failed)`;

Deno.test("messages that one thing keeps back share a sentence", async () => {
  const messages = [failed("3", "app"), failed("2", "app"), failed("1", "site")];
  deepEqual(await saidOf(messages), [
    sentence("2 messages were", "app", "ID"),
    sentence("a message was", "site", "1"),
  ]);
});

Deno.test("many reasons are five sentences, and one that counts the other messages", async () => {
  const messages = Array.from({ length: 9 }, (_, at) => failed(`${at}`, `app-${at}`));
  const said = await saidOf([...messages, failed("x", "app-8")]);
  deepEqual(said.slice(5), ["5 more were not sent: svc get outbox --state failed"]);
  deepEqual(
    said.slice(0, 5),
    messages.slice(0, 5).map(({ id }) => sentence("a message was", `app-${id}`, id)),
  );
});
