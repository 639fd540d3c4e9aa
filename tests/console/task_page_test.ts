/**
 * The screens of tasks in a browser, with a real daemon: the list and what is done to all that match;
 * one task, its steps as they go on, why it failed, and how it is run again.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";

/** Waits for a file of the workspace, so that a test says when a step goes on. */
const waitFor = (file: string) => `until [ -e ${file} ]; do sleep 0.05; done`;

const DEPLOY: Manifest = {
  kind: "Workflow",
  metadata: { name: "deploy" },
  spec: {
    steps: [
      { id: "build", needs: [], run: 'echo compiled; echo "image=app:1" >> "$SVC_OUTPUT"' },
      { id: "lint", needs: ["build"], run: "echo tidy" },
      {
        id: "test",
        needs: ["build"],
        run: `echo testing; ${waitFor("go")}; printf '\\033[1;31mFAIL\\033[0m orders: 500\\n'
          printf 'see \\033]8;;javascript:alert(1)\\007the report\\033]8;;\\007\\n'
          [ -e mended ] || exit 3`,
      },
      { id: "publish", needs: ["lint", "test"], run: "echo published" },
    ],
    finally: [{ id: "clean", run: "echo cleaned" }],
  },
};

async function fire(daemon: TestDaemon, name: string): Promise<string> {
  const { task_id } = await daemon.json("trigger", "fire", name) as { readonly task_id: string };
  return task_id;
}

async function applyAll(daemon: TestDaemon, ...flows: readonly Manifest[]): Promise<void> {
  const triggers = flows.map(({ metadata: { name } }) => trigger(name, { workflow: name }));
  const secrets = secretStore("github", { webhook_secret: "sesame-sesame-sesame" });
  await daemon.apply(secrets, ...flows, ...triggers);
}

/** The step whose name for a screen reader begins so. */
const step = (page: Page, name: string) => page.getByRole("button", { name: `Step ${name}` });

browserTest(
  "a task is followed from its steps to why it failed, and run again from there",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await applyAll(daemon, DEPLOY);
    const id = await fire(daemon, "deploy");
    await using console = await startConsole(daemon);
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    await page.getByRole("link", { name: "Tasks" }).click();
    await page.getByRole("link", { name: "deploy" }).click();

    // Its steps as they go on, without anything being pressed.
    await step(page, "lint: succeeded").waitFor();
    await step(page, "test: running").waitFor();
    await step(page, "publish: pending").waitFor();
    equal(new URL(page.url()).pathname, `/task/${id}`);
    await page.getByLabel("Last lines of test").getByText("testing").waitFor();
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    await page.getByRole("heading", { level: 1, name: "deploy failed at step test" }).waitFor();
    await step(page, "publish: skipped").waitFor();

    // Why it failed is on the screen, text is text, and colours are colours.
    const lines = page.getByLabel("Last lines of test");
    await lines.getByText("see the report").waitFor();
    equal(await lines.getByText("FAIL", { exact: true }).getAttribute("class"), "bold fg-red");
    equal(await lines.getByRole("link").count(), 0);
    ok(!(await page.content()).includes("javascript:"));
    match(await page.locator(".verdict").innerText(), /^step "test": exit code 3/);
    ok(((await lines.boundingBox())?.y ?? Infinity) < 800, "without scrolling");
    await picture(page, "task-failed");

    // Every step by Tab, in the order of the plan.
    const reached: string[] = [];
    await page.getByRole("button", { name: "Time" }).focus();
    for (let presses = 0; presses < 5; presses++) {
      await page.keyboard.press("Tab");
      const name = String(await page.evaluate("document.activeElement.getAttribute('aria-label')"));
      reached.push(/^Step (\w+): (\w+)/.exec(name)?.[0] ?? name);
    }
    deepEqual(reached, [
      "Step build: succeeded",
      "Step lint: succeeded",
      "Step test: failed",
      "Step publish: skipped",
      "Step clean: succeeded",
    ]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Step clean" }).waitFor();
    await page.getByRole("button", { name: "Time" }).click();
    equal(await page.locator(".gantt li").count(), 5);
    await step(page, "test: failed").click();

    // From the failed step on, as a new task, which says where it comes from.
    await Deno.writeTextFile(`${daemon.workspace}/mended`, "");
    await page.getByRole("button", { name: "Retry from test" }).click();
    const dialog = page.getByRole("dialog", { name: "Retry from test" });
    await dialog.getByText(`svc task retry ${id} --from test`).waitFor();
    await dialog.getByRole("button", { name: "Retry from test" }).click();
    await page.getByRole("heading", { level: 1, name: "deploy succeeded" }).waitFor();
    ok(!page.url().includes(id));
    await page.getByRole("link", { name: id }).click();
    await page.getByRole("heading", { level: 1, name: "deploy failed at step test" }).waitFor();
    await page.getByRole("heading", { name: "Retries" }).waitFor();
  },
);

browserTest("a task that runs takes messages and is cancelled, after one question", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await applyAll(daemon, workflow("slow", waitFor("never"), "echo after"));
  const id = await fire(daemon, "slow");
  await using console = await startConsole(daemon, ["task/latest"]);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  await step(page, "s1: running").waitFor();
  equal(new URL(page.url()).pathname, `/task/${id}`, "the address says which one is the latest");

  await page.getByLabel("Message to the task").fill("<b>hurry</b>");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("listitem").getByText("<b>hurry</b>").waitFor();

  await page.getByRole("button", { name: "Cancel" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel" });
  await dialog.getByText(`svc task cancel ${id}`).waitFor();
  await dialog.getByRole("button", { name: "Keep it as it is" }).click();
  equal((await daemon.tasks())[0]?.state, "running");
  await page.getByRole("button", { name: "Cancel" }).click();
  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "slow was cancelled" }).waitFor();
  equal((await daemon.tasks())[0]?.state, "cancelled");
});

browserTest("a reader sees why no action is possible", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await applyAll(daemon, workflow("quick", "exit 1"));
  const id = await fire(daemon, "quick");
  await daemon.settled();
  await using console = await startConsole(daemon, ["--read-only", `task/${id}`]);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  const retry = page.getByRole("button", { name: "Retry", exact: true });
  await retry.waitFor();
  equal(await retry.getAttribute("aria-disabled"), "true");
  await page.getByText("started with --read-only").first().waitFor();
});
