/**
 * `conversation` of a Trigger: what is refused, and its name.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { Catalog } from "../../src/resources/catalog.ts";
import { conversationName } from "../../src/resources/conversation.ts";
import { readDocument } from "../../src/resources/read.ts";

const GOOD = { key: "payload.id", text: "{{ payload.text }}" };
const OPEN = { source: "webhook", webhook: { allowUnsigned: true } };

/** The errors of a Trigger with this conversation. */
function errorsOf(conversation: unknown, spec: object = {}): string[] {
  const value = {
    kind: "Trigger",
    metadata: { name: "comments" },
    spec: { event: OPEN, action: { workflow: "ci", workspace: "repo" }, conversation, ...spec },
  };
  const { findings } = readDocument(value, { kinds: new Catalog().kinds });
  return findings.filter(({ level }) => level === "error")
    .map(({ path, message }) => `${path.slice(1).join(".")}: ${message}`);
}

for (
  const good of [
    GOOD,
    { ...GOOD, name: "pr", starts: false },
    { key: "string(payload.number)", text: "{{ payload.a }} and {{ payload.b }}" },
  ]
) {
  Deno.test(`accepted: ${JSON.stringify(good)}`, () => deepEqual(errorsOf(good), []));
}

const SIGNED = { secret: { fromRef: "gh" }, signatureHeader: "X-Hub-Signature-256" };

const BAD: readonly (readonly [conversation: unknown, error: RegExp, spec?: object])[] = [
  ["pr", /^conversation: /],
  [{}, /^conversation.*key/],
  [{ key: "payload.id" }, /^conversation.*text/],
  [{ ...GOOD, key: "" }, /^conversation\.key: /],
  [{ ...GOOD, key: "payload." }, /^conversation\.key: /],
  [{ ...GOOD, text: "{{ payload. }}" }, /^conversation\.text: /],
  [{ ...GOOD, text: "{{ steps.a.outputs.b }}" }, /^conversation\.text: /],
  [{ ...GOOD, name: "Not a name" }, /^conversation\.name: /],
  [{ ...GOOD, starts: "no" }, /^conversation\.starts: /],
  [{ ...GOOD, other: 1 }, /other/],
  [GOOD, /^concurrency\.policy: "Replace" ends the task/, { concurrency: { policy: "Replace" } }],
  [GOOD, /^conversation: Without "action"/, { action: undefined }],
  [GOOD, /^conversation: Nobody asks what the sender of a message may do/, {
    event: { source: "webhook", webhook: { ...SIGNED, from: { permission: "write" } } },
  }],
  [GOOD, /^conversation: A thread of Slack is a conversation already/, {
    event: { source: "webhook", webhook: { ...SIGNED, slack: {} } },
  }],
  [GOOD, /^conversation: A thread of Slack is a conversation already/, {
    event: { source: "webhook", webhook: { secret: { fromRef: "chat" }, scheme: "slack" } },
  }],
];

for (const [conversation, error, spec] of BAD) {
  const what = JSON.stringify(conversation) + JSON.stringify(spec ?? {});
  Deno.test(`refused: ${what}`, () => match(errorsOf(conversation, spec).join("\n"), error));
}

Deno.test("a conversation has its own name, else that of its endpoint", () => {
  const named = (webhook: object, conversation: object = GOOD) =>
    conversationName({
      project: "default",
      name: "comments",
      spec: { event: { source: "webhook", webhook }, conversation: { ...GOOD, ...conversation } },
    });
  equal(named({}), "comments");
  equal(named({ endpoint: "github" }), "github");
  equal(named({ endpoint: "github" }, { name: "pr" }), "pr");
});
