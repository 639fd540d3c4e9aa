/**
 * Held messages in a browser: what waits is shown with its change, and sent or dropped.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { changeFile } from "../helpers/sqlite_file.ts";
import { idOf } from "../helpers/store_records.ts";
import { until } from "../helpers/until.ts";
import { settled } from "./every_screen.ts";

const [FIRST, SECOND] = [1, 2].map(idOf) as [string, string];
const MARKUP = "<img src=//elsewhere.invalid/x onerror=alert(1)>";
const PATCH = `diff --git a/package.json b/package.json
--- a/package.json
+++ b/package.json
@@ -1,2 +1,2 @@
 {
-  "old": 1\u202e
+${MARKUP}
`;
const LONG = `diff --git a/long.txt b/long.txt
--- /dev/null
+++ b/long.txt
@@ -0,0 +1,9000 @@
${"+a line of a long file\n".repeat(9000)}diff --git a/behind.txt b/behind.txt
--- a/behind.txt
+++ b/behind.txt
@@ -1 +1 @@
-old
+new
[The patch is longer than 4 MiB, and is cut here]
[Not shown: "last.txt", +5 -4]
`;

/** Rows of held messages; no kind of this name is ever sent. */
function rows(task: string): string {
  const now = Date.now();
  const hex = (text: string) => new TextEncoder().encode(text).toHex();
  return [[FIRST, PATCH, MARKUP, 1], [SECOND, LONG, "Long", 9000]].map((
    [id, patch, title, added],
  ) =>
    `INSERT INTO outbox VALUES ('${id}', 'default', 'acme', 'for-tests', '{"repository":"acme/site"}',
       '', '${JSON.stringify({ title, files: 1, added, removed: 1 })}', '${task}', 'l', 'held',
       ${
      now + 6 * 86_400_000
    }, 0, NULL, NULL, '', '1 file is protected (package.json)', ${now}, ${now});
     INSERT INTO outbox_content VALUES ('${id}', 'patch', 0, x'${hex(String(patch))}');`
  ).join("\n");
}

browserTest(
  "what is held is shown on Now and with its task, and sent or dropped there",
  async (t) => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await daemon.apply(workflow("fix", "true"), trigger("issue", { workflow: "fix" }));
    equal((await daemon.svc(["trigger", "fire", "issue"])).code, 0);
    await daemon.settled();
    const [task] = await daemon.tasks();
    changeFile(`${daemon.dataDir}/svc.db`, rows(String(task?.id)));
    await using served = await startConsole(daemon);
    await using browser = await startBrowser();
    const page = await browser.open(served.link);
    using client = daemon.client();
    const stateOf = async (id: string) =>
      (await client.call("get", { what: "outbox", name: id })).items[0]?.["state"];
    const held = page.getByRole("region", { name: "Held messages" });
    const item = held.getByRole("listitem").filter({
      has: page.getByText(MARKUP, { exact: true }),
    });

    await t.step("Now says what would happen, why it waits, and the change", async () => {
      await held.waitFor();
      equal(await page.getByText("Nothing. Since yesterday").count(), 0);
      const text = await item.innerText();
      for (const said of ["for-tests to acme/site", "1 file, +1 \u22121", "1 file is protected"]) {
        ok(text.includes(said), text);
      }
      await item.getByText("What it changes").click();
      const lines = item.getByRole("group", { name: "Changed lines" }).locator("> span");
      await until("all lines", async () => await lines.count() === 7 || undefined);
      const looks = await lines.evaluateAll((spans: readonly { className: string }[]) =>
        spans.map(({ className }) => className)
      );
      deepEqual(looks, ["file", "file", "file", "hunk", "same", "removed", "added"]);
      const shown = await item.getByRole("group", { name: "Changed lines" }).innerText();
      ok(shown.includes(`+${MARKUP}`), "as text");
      ok(shown.includes("\\u202e"), "what is hidden is spelled out");
      equal(await page.locator("img").count(), 0);
      await picture(page, "held");
    });

    await t.step("Send asks first, and then it is on its way", async () => {
      await item.getByRole("button", { name: "Send", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Send" });
      await dialog.getByText(`svc outbox send ${FIRST}`).waitFor();
      equal(await stateOf(FIRST), "held");
      await dialog.getByRole("button", { name: "Send", exact: true }).click();
      await until("sent", async () => await stateOf(FIRST) !== "held" || undefined);
      await item.waitFor({ state: "detached" });
    });

    await t.step("a long change is cut, with the command that shows all of it", async () => {
      await page.goto(`${served.origin}/outbox/${SECOND}`);
      await page.getByText(`svc outbox show ${SECOND} --diff`).waitFor();
      const lines = page.getByRole("group", { name: "Changed lines" }).locator("> span");
      equal(await lines.count(), 3000);
      const files = page.getByRole("list", { name: "Changed files" }).getByRole("listitem");
      const listed = await files.allInnerTexts();
      deepEqual(listed.map((text) => text.replaceAll(/\s+/g, " ").trim()), [
        "long.txt +9000 \u22120",
        "behind.txt +1 \u22121",
        "last.txt +5 \u22124",
      ]);
    });

    await t.step("the page of the task has it too, and Drop", async () => {
      await page.goto(`${served.origin}/task/${task?.id}`);
      await settled(page);
      const waits = page.getByRole("region", { name: "Waits for a person" });
      await waits.getByRole("button", { name: "Drop", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Drop" });
      await dialog.getByRole("button", { name: "Drop", exact: true }).click();
      await waits.waitFor({ state: "detached" });
      equal(await stateOf(SECOND), "dropped");
    });
  },
);
