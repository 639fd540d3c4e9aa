/**
 * Kind `Notification`: its refusals, and the manifests of its page.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";
import { ROOT } from "../helpers/program.ts";

const kinds = new KindLookup([]);

function findingsOf(spec: unknown): string[] {
  const { findings } = readDocument({ kind: "Notification", metadata: { name: "n" }, spec }, {
    kinds,
  });
  return findings.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const HOOK = { webhook: { url: "https://a.example" } };
const MAIL = { server: "smtp://mail.example.com", from: "a@b.c", to: ["d@e.f"] };

const WRONG: readonly (readonly [what: string, spec: unknown, finding: RegExp])[] = [
  [
    "an event that does not exist",
    { on: ["task.fail"], to: [HOOK] },
    /spec\.on\.0: Expected one of/,
  ],
  ["nothing to tell of", { on: [], to: [HOOK] }, /spec\.on/],
  ["no target", { on: ["task.failed"], to: [] }, /spec\.to/],
  [
    "a target of two sorts",
    { on: ["task.failed"], to: [{ webhook: HOOK.webhook, email: MAIL }] },
    /spec\.to\.0: A target is one of .*: found webhook and email/,
  ],
  ["a target of no kind", { on: ["task.failed"], to: [{}] }, /found none/],
  ["no URL", { on: ["task.failed"], to: [{ webhook: { url: "ntfy.sh/x" } }] }, /an http\(s\) URL/],
  [
    "a user in the URL",
    { on: ["task.failed"], to: [{ webhook: { url: "https://u:p@a.example" } }] },
    /svc does not send a user in a URL/,
  ],
  [
    "a glob that is none",
    { on: ["task.failed"], match: { trigger: "{a" }, to: [HOOK] },
    /spec\.match\.trigger/,
  ],
  [
    "a password without a user",
    {
      on: ["task.failed"],
      to: [{ email: Object.assign({ password: { fromSecret: { store: "s", key: "k" } } }, MAIL) }],
    },
    /"user" is missing/,
  ],
  [
    "a line break in an address",
    {
      on: ["task.failed"],
      to: [{ email: { ...MAIL, from: "a@b.c\nBcc: x@y.z" } }],
    },
    /an e-mail address/,
  ],
  ["a time that is none", { on: ["task.failed"], every: "soon", to: [HOOK] }, /spec\.every/],
];

for (const [what, spec, finding] of WRONG) {
  Deno.test(`a Notification is refused with ${what}`, () => {
    const findings = findingsOf(spec);
    ok(findings.length > 0);
    match(findings.join("\n"), finding);
  });
}

Deno.test("docs/notifications.md: every manifest is right", () => {
  const page = Deno.readTextFileSync(join(ROOT, "docs/notifications.md"));
  const blocks = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(([, text = ""]) => text);
  ok(blocks.length >= 6, `${blocks.length}`);
  for (const block of blocks) {
    const { documents, errors } = parseManifest("notifications.md", block);
    deepEqual(errors, []);
    for (const { value } of documents) {
      deepEqual(readDocument(value, { kinds }).findings, [], block);
    }
  }
});
