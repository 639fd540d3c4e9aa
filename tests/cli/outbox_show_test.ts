/**
 * `svc outbox show`: what a person sees of a held change, and what a change cannot pretend.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { PatchReader } from "../../src/api/patch_text.ts";
import { AppError } from "../../src/base/errors.ts";
import { PROGRAM } from "../../src/cli/run.ts";
import { command as send } from "../../src/cli/commands/outbox_send.ts";
import { command } from "../../src/cli/commands/outbox_show.ts";
import { contextOf } from "../rigs/command_context.ts";
import { screen } from "../rigs/screen.ts";

const PATCH = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,4 @@ function f() {
 same
-old\u202e
---- a/src/b.ts
+new
+++ b/src/b.ts
+diff --git a/evil b/evil
\\ No newline at end of file
diff --git a/logo.png b/logo.png
new file mode 100644
Binary files /dev/null and b/logo.png differ
diff --git "a/tab\\t.md" "b/tab\\t.md"
deleted file mode 100644
--- "a/tab\\t.md"
+++ /dev/null
@@ -1 +0,0 @@
-x
`;

Deno.test("lines of a file that look like a patch are lines of the file", () => {
  const reader = new PatchReader();
  const looks = PATCH.trimEnd().split("\n").map((line) => reader.look(line));
  deepEqual(looks.slice(4, 12), [
    "hunk",
    "same",
    "removed",
    "removed",
    "added",
    "added",
    "added",
    "same",
  ]);
  deepEqual(reader.files, [
    { path: "src/a.ts", added: 3, removed: 2, isBinary: false },
    { path: "logo.png", added: 0, removed: 0, isBinary: true },
    { path: '"tab\\t.md"', added: 0, removed: 1, isBinary: false },
  ]);
});

Deno.test("a file that was moved is told by both paths, and not by a part of the longer one", () => {
  const reader = new PatchReader();
  const patch = `diff --git a/guide/a.txt-and-more-of-it b/.vscode/tasks.json
similarity index 100%
rename from guide/a.txt-and-more-of-it
rename to .vscode/tasks.json
`;
  for (const line of patch.trimEnd().split("\n")) reader.look(line);
  deepEqual(reader.files.map(({ path }) => path), [
    "guide/a.txt-and-more-of-it → .vscode/tasks.json",
  ]);
});

const MESSAGE = {
  id: "01H",
  kind: "github-pull",
  target: { repository: "o/r" },
  state: "held",
  reason: "1 file is protected (package.json)",
  body: { title: "Fix it", text: "Because", files: 3, added: 3, removed: 3 },
  tries: 0,
};

async function show(
  { isTerminal = false, options = {}, message = MESSAGE, refusal }: {
    readonly isTerminal?: boolean;
    readonly options?: Readonly<Record<string, unknown>>;
    readonly message?: Readonly<Record<string, unknown>>;
    readonly refusal?: AppError;
  },
): Promise<string> {
  const { io, text } = screen(isTerminal);
  const given = { output: "text", ...options };
  const context = contextOf(command, io, { positional: ["01H"], options: given });
  const client = {
    call: () => Promise.resolve({ items: [message] }),
    async *stream() {
      if (refusal !== undefined) throw refusal;
      yield { text: PATCH.slice(0, 100) };
      yield { text: PATCH.slice(100) };
    },
    [Symbol.dispose]: () => {},
  };
  Object.assign(context, { client: () => client });
  await command.run(context, PROGRAM);
  return text.out;
}

Deno.test("a held change is shown with its files, and with its lines where they are asked for", async () => {
  const out = await show({});
  match(out, /^State: +held$/m);
  match(out, /^Next: +svc outbox send 01H, or svc outbox drop 01H$/m);
  match(out, /^ {2}src\/a\.ts {4}\+3 \u22122$/m);
  match(out, /^ {2}logo\.png {4}binary$/m);
  equal(out.includes("@@"), false);
  equal((await show({ options: { diff: true } })).endsWith(`\n\n${PATCH}`), true, "byte for byte");
});

Deno.test("a patch has colours on a terminal only, and shows what is hidden in it", async () => {
  const out = await show({ isTerminal: true, options: { diff: true } });
  equal(out.includes("\x1b[31m-old\\u202e\x1b[0m\n"), true);
  equal(out.includes("\x1b[32m+++ b/src/b.ts\x1b[0m\n"), true);
  equal(out.includes("\u202e"), false);
});

Deno.test("what was sent keeps no files: only --diff asks for them", async () => {
  const refusal = new AppError("conflict", "The change of outbox/01H was deleted when it was sent");
  const message = { ...MESSAGE, state: "sent" };
  match(await show({ message, refusal }), /^State: +sent$/m);
  await rejects(show({ message, refusal, options: { diff: true } }), /was deleted/);
});

Deno.test("svc outbox send takes no message that nobody has named", async () => {
  const { io } = screen(false);
  for (const latest of ["latest", "outbox/latest"]) {
    const context = contextOf(send, io, { positional: [latest], options: { output: "text" } });
    await rejects(async () => await send.run(context, PROGRAM), { code: "usage" });
  }
});
