/**
 * The list of tasks in a browser, with a real daemon: live, filtered by its address, and what is done
 * to all that match.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

async function fire(daemon: TestDaemon, name: string): Promise<string> {
  const { task_id } = await daemon.json("trigger", "fire", name) as { readonly task_id: string };
  return task_id;
}

const rows = (page: Page) =>
  page.getByRole("table", { name: "Tasks, newest first" }).getByRole("row")
    .filter({ has: page.getByRole("cell") });

/** Presses a button that asks, and answers yes. */
async function act(page: Page, name: string, question: RegExp): Promise<void> {
  await page.getByRole("button", { name, exact: true }).click();
  const dialog = page.getByRole("dialog", { name });
  await dialog.getByText(question).waitFor();
  await dialog.getByRole("button", { name, exact: true }).click();
}

browserTest(
  "tasks come into the list, and those that match are cancelled or retried at once",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const names = ["slow", "broken", "other"];
    await daemon.apply(
      secretStore("github", { webhook_secret: "sesame-sesame-sesame" }),
      workflow("slow", "until [ -e never ]; do sleep 0.05; done"),
      workflow("broken", "[ -e mended ]"),
      workflow("other", "exit 7"),
      ...names.map((name) => trigger(name, { workflow: name })),
    );
    await using console = await startConsole(daemon, ["tasks"]);
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    await page.getByText("No task matches.").waitFor();

    for (const name of ["broken", "broken", "other", "slow", "slow", "slow"]) {
      await fire(
        daemon,
        name,
      );
    }
    await until("all in the list", async () => await rows(page).count() === 6 || undefined);
    await rows(page).filter({ hasText: "failed" }).nth(2).waitFor();
    await picture(page, "tasks");

    // Nothing is done to all tasks there are.
    const cancel = page.getByRole("button", { name: "Cancel all matches" });
    equal(await cancel.getAttribute("aria-disabled"), "true");
    await page.getByText("Choose a state, a trigger, a workflow or a time range first").first()
      .waitFor();

    await page.getByLabel("State").selectOption("running");
    await until("those that run", async () => await rows(page).count() === 3 || undefined);
    equal(new URL(page.url()).search, "?state=running");
    await act(page, "Cancel all matches", /This cancels 3 tasks/);
    await page.getByText("3 tasks cancelled").waitFor();
    await until("none to run", async () => await rows(page).count() === 0 || undefined);

    // The address is the filter: another tab shows the same.
    await Deno.writeTextFile(`${daemon.workspace}/mended`, "");
    await page.goto(`${console.origin}/tasks?state=failed&workflow=broken`);
    await until("those that failed", async () => await rows(page).count() === 2 || undefined);
    await act(page, "Retry all matches", /This runs 2 tasks again/);
    await page.getByText("2 tasks retried").waitFor();
    const states = (await daemon.settled()).map((task) => `${task.trigger} ${task.state}`);
    deepEqual(states.toSorted(), [
      "broken failed",
      "broken failed",
      "broken succeeded",
      "broken succeeded",
      "other failed",
      "slow cancelled",
      "slow cancelled",
      "slow cancelled",
    ]);
    await act(page, "Retry all matches", /This runs 0 tasks again/);
  },
);
