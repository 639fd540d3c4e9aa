/**
 * Threads, the outbox, the audits and resources in a browser, on a real daemon.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { parse } from "yaml";
import { browserTest, startBrowser, startConsole } from "../helpers/browser.ts";
import { startConsoleSamples } from "../helpers/console_samples.ts";
import { until } from "../helpers/until.ts";
import { settled } from "./every_screen.ts";

browserTest(
  "threads, messages, audits and resources: what is shown, and what can be done",
  async (t) => {
    await using samples = await startConsoleSamples();
    const { daemon } = samples;
    await using served = await startConsole(daemon);
    await using browser = await startBrowser();
    const page = await browser.open(served.link);
    await settled(page);
    using client = daemon.client();
    const list = async (what: string) => (await client.call("get", { what, limit: 100 })).items;

    await t.step("a thread is a conversation, with what was answered", async () => {
      await page.goto(`${served.origin}/threads`);
      await page.getByRole("link", { name: "Which commit is on staging?" }).click();
      const posts = page.getByRole("list").filter({ hasText: "Which commit" }).getByRole(
        "listitem",
      );
      await until("four posts", async () => await posts.count() === 4 || undefined);
      const texts = await posts.allInnerTexts();
      deepEqual(
        texts.map((text) =>
          text.split("\n").find((line) => / .* /.test(line) && !/ago/.test(line))
        ),
        [
          "Which commit is on staging?",
          "I mean the one with the cache",
          "Staging is up to date: *e31f6c8*",
          "And so is production",
        ],
      );
      ok(texts.at(-1)?.includes("channel_not_found"));
      await page.getByText("It belongs to task").waitFor();
    });

    await t.step("an event that went nowhere is bound to a task, and routed again", async () => {
      const ignored = (await list("source-events")).find(({ state }) => state === "ignored");
      await page.goto(`${served.origin}/thread/${String(ignored?.["id"])}`);
      await page.getByRole("button", { name: "Route again" }).click();
      const dialog = page.getByRole("dialog", { name: "Route again" });
      await dialog.getByText(`svc source replay ${String(ignored?.["id"])}`).waitFor();
      await dialog.getByRole("button", { name: "Route again" }).click();
      await page.getByText("It is being routed").waitFor();
      await page.getByLabel("Task", { exact: true }).fill(samples.task);
      await page.getByRole("button", { name: "Bind the thread" }).click();
      const bind = page.getByRole("dialog", { name: "Bind the thread" });
      await bind.getByText(`Binds this thread to task ${samples.task}`).waitFor();
      await bind.getByRole("button", { name: "Bind the thread" }).click();
      await until(
        "the binding",
        async () =>
          (await list("bindings")).some(({ task_id }) => task_id === samples.task) || undefined,
      );
      await page.getByRole("link", { name: `task ${samples.task}` }).waitFor();
    });

    await t.step("a message that was refused says why, and is dropped", async () => {
      await page.goto(`${served.origin}/connections?state=failed`);
      await page.getByRole("table").getByText("Slack refused the post").waitFor();
      await page.getByRole("table").getByRole("link").first().click();
      await page.getByRole("button", { name: "Drop", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Drop" });
      await dialog.getByRole("button", { name: "Drop", exact: true }).click();
      await page.getByText("It was dropped").first().waitFor();
      const message = (await list("outbox")).find(({ id }) => id === samples.message);
      equal(message?.["state"], "dropped");
    });

    await t.step(
      "the chain of the audit is checked, and a row shows what a plugin said",
      async () => {
        await page.goto(`${served.origin}/audit`);
        await page.getByRole("button", { name: "Check the chain" }).click();
        await page.getByText("2 rows: nothing but the daemon").waitFor();
        await page.goto(`${served.origin}/audit/plugins/${samples.audit}`);
        await page.getByText("this partner is not known").waitFor();
        await page.goto(`${served.origin}/audit/control`);
        await page.getByRole("table").getByText("secretstore/github").first().waitFor();
      },
    );

    await t.step("a resource is shown as it was applied, and no secret with it", async () => {
      await page.goto(`${served.origin}/resource/workflow/default/release`);
      const shown = parse(await page.getByLabel("Manifest").innerText());
      const applied = await daemon.json("get", "workflow", "release") as Record<string, unknown>;
      deepEqual(shown.spec, applied["spec"]);
      await page.getByRole("link", { name: "trigger/github-push" }).waitFor();
      await page.getByRole("button", { name: "JSON" }).click();
      await until(
        "JSON",
        async () => (await page.getByLabel("Manifest").innerText()).startsWith("{") || undefined,
      );
      await page.goto(`${served.origin}/resource/secretstore/default/github`);
      equal(parse(await page.getByLabel("Manifest").innerText()).spec.data.current, "***");
      await page.goto(`${served.origin}/resource/trigger/default/pull-requests`);
      await page.getByText('Workflow "missing-workflow" does not exist').waitFor();
    });
  },
);
