/**
 * The screen of a delivery: its first lines say what happened and what would change it.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { until } from "../helpers/until.ts";
import { push, sendPush, startWithPush } from "./stored_deliveries.ts";

browserTest(
  "the screen of a delivery begins with its outcome and what would change it",
  async (t) => {
    await using daemon = await startWithPush();
    await using served = await startConsole(daemon);
    await using browser = await startBrowser();
    const page = await browser.open(served.link);
    const show = async (id: string) => {
      await page.goto(`${served.origin}/delivery/${id}`);
      await page.getByText(id).first().waitFor();
      return page.getByRole("region", { name: "What happened, and what would change it" });
    };

    await t.step("a wrong secret: the cause, the keys there are, and the command", async () => {
      const id = await sendPush(daemon, push("main"), { secret: "quite-another" });
      const verdict = await show(id);
      const text = await verdict.innerText();
      ok(text.startsWith("Rejected with 401: the signature fits no key"), text);
      match(text, /SecretStore "github" has webhook \(never matched, set \d+m?s ago\)/);
      ok(text.includes("svc secret set github webhook"), text);
      await picture(page, "delivery-refused");
    });

    await t.step("a secret with a line break: what would pass", async () => {
      const id = await sendPush(daemon, push("main"), { secret: "a-shared-secret\n" });
      const text = await (await show(id)).innerText();
      ok(text.includes("It would pass: "), text);
    });

    await t.step(
      "filtered: the part that was false, what it saw, and that it is signed",
      async () => {
        const id = await sendPush(daemon, push("fix-login"));
        const verdict = await show(id);
        const first = await verdict.locator(".what").innerText();
        equal(
          first,
          'Filtered: payload.ref == "refs/heads/main" is false, where payload.ref is "refs/heads/fix-login".',
        );
        const parts = page.getByRole("table").filter({ hasText: "Part of the condition" });
        equal(await parts.getByRole("row").count(), 3);
        const failed = parts.getByRole("row", { name: "refs/heads/fix-login" });
        const [expression, value, saw] = await failed.getByRole("cell").allInnerTexts();
        equal(expression, 'payload.ref == "refs/heads/main"');
        ok(value?.includes("false"), value);
        ok(saw?.includes('payload.ref is "refs/heads/fix-login"'), saw);
        ok(/(?<!not )signed/.test(saw ?? ""), saw);
        const passed = parts.getByRole("row", { name: "payload.created" });
        ok((await passed.innerText()).includes("true"));
        await picture(page, "delivery-filtered");
      },
    );

    await t.step("accepted: its task, its stages, its headers and its body", async () => {
      const id = await sendPush(daemon, push("main"));
      const [task] = await daemon.settled();
      const verdict = await show(id);
      equal(await verdict.innerText(), "Accepted: it started a task.");
      await page.getByRole("link", { name: task?.id.slice(-6) ?? "" }).waitFor();
      await page.getByRole("row", { name: "succeeded" }).waitFor();
      for (const stage of ["received", "authenticated", "parsed", "decided"]) {
        await page.getByRole("cell", { name: stage, exact: true }).waitFor();
      }
      await page.getByText('passed with key "webhook" of SecretStore "github"').waitFor();
      const tree = page.getByRole("group", { name: "Body", exact: true });
      ok((await tree.innerText()).includes('"refs/heads/main"'));
      ok((await tree.innerText()).includes("9007199254740993"), "all digits are there");
      equal(await tree.getByText("Ada").count(), 0, "what is further below is closed");
      await tree.getByText("author").click();
      await tree.getByText('"Ada"').waitFor();
      await page.getByRole("button", { name: "Text", exact: true }).click();
      await page.getByRole("group", { name: "Body as text" }).getByText('"ref":').waitFor();
      const headers = page.locator("dl", { hasText: "x-hub-signature-256" });
      ok((await headers.innerText()).includes("***"), "the signature is masked");
      const waiting = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download" }).click();
      const download = await waiting;
      equal(download.suggestedFilename(), `delivery-${id}.txt`);
      const kept = await Deno.readTextFile(await download.path());
      equal(JSON.parse(kept).ref, "refs/heads/main");
    });

    await t.step("sent again it asks once, and each leads to the other", async () => {
      const id = await sendPush(daemon, push("main", 7));
      await show(id);
      const before = (await daemon.tasks()).length;
      await page.getByRole("button", { name: "Send again" }).click();
      const dialog = page.getByRole("dialog", { name: "Send again" });
      ok((await dialog.innerText()).includes(`svc delivery redeliver ${id}`));
      equal((await daemon.tasks()).length, before, "nothing is sent before the answer");
      await dialog.getByRole("button", { name: "Send again" }).click();
      await page.getByText("Sent again: accepted").waitFor();
      await until(
        "its task",
        async () => (await daemon.tasks()).length === before + 1 || undefined,
      );
      await page.getByRole("link", { name: "Open the new delivery" }).click();
      await page.getByRole("link", { name: "an earlier delivery" }).click();
      await page.getByText(id).first().waitFor();
      await page.getByRole("link", { name: "Sent again" }).waitFor();
    });

    await t.step("a rejected delivery is sent again after the secret is corrected", async () => {
      const secret = "the-secret-that-the-sender-has";
      const id = await sendPush(daemon, push("main", 9), { secret });
      ok((await (await show(id)).innerText()).includes(`svc delivery redeliver ${id}`));
      const again = async () => {
        await page.getByRole("button", { name: "Send again" }).click();
        const dialog = page.getByRole("dialog", { name: "Send again" });
        await dialog.getByText("svc authenticates its sender again, with the current keys")
          .waitFor();
        await dialog.getByRole("button", { name: "Send again" }).click();
        return dialog;
      };
      const dialog = await again();
      await dialog.getByRole("alert").getByText("was rejected, and still is").waitFor();
      await dialog.getByRole("button", { name: "Keep it as it is" }).click();
      const set = await daemon.svc(["secret", "set", "github", "theirs"], { stdin: secret });
      equal(set.code, 0, set.stderr);
      await again();
      await page.getByText("Sent again: accepted").waitFor();
    });

    await t.step("a duplicate names the delivery that came first", async () => {
      const delivery = crypto.randomUUID();
      const first = await sendPush(daemon, push("main", 8), { delivery });
      const second = await sendPush(daemon, push("main", 8), { delivery });
      ok((await (await show(second)).innerText()).startsWith("A duplicate: the same event"));
      await page.getByRole("link", { name: "another delivery" }).click();
      await page.getByText(first).first().waitFor();
      await page.getByRole("link", { name: "Arrived again" }).waitFor();
    });
  },
);
