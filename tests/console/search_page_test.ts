/**
 * The search: an id goes straight to its screen, words find what they name.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { push, sendPush, startWithPush } from "./stored_deliveries.ts";

browserTest("a pasted id goes to its screen, and words find what they name", async (t) => {
  await using daemon = await startWithPush();
  const id = await sendPush(daemon, push("main"));
  await sendPush(daemon, push("topic"));
  await sendPush(daemon, push("main"), { secret: "another" });
  const [task] = await daemon.settled();
  await using served = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(served.link);
  await page.getByText("● live").waitFor();
  const search = async (text: string) => {
    await page.keyboard.press("/");
    const field = page.getByRole("searchbox", { name: "Search, or paste an id" });
    await field.fill(text);
    await field.press("Enter");
  };
  const arrive = (path: string) => page.waitForURL(`${served.origin}${path}`);

  await t.step("a whole id, the end of one, and one with its type before it", async () => {
    for (const text of [id, id.slice(-8), `delivery/${id}`, id.toLowerCase()]) {
      await search(text);
      await arrive(`/delivery/${id}`);
      await page.goto(`${served.origin}/deliveries`);
      await page.getByText("● live").waitFor();
    }
  });

  await t.step("a task's id goes to the task, and back leads to where one was", async () => {
    await search(task?.id ?? "");
    await arrive(`/task/${task?.id}`);
    await page.goBack();
    await arrive("/deliveries");
    browser.faults.splice(0); // ids that other types do not have are refused, which Chromium writes down
  });

  await t.step("an id that several records begin with shows them", async () => {
    await search(id.slice(0, 6));
    await page.getByRole("heading", { name: "Ids" }).waitFor();
    ok(await page.getByRole("link", { name: `Delivery ${id}` }).count() === 1);
    ok(await page.getByRole("link", { name: `Task ${task?.id}` }).count() === 1);
    browser.faults.splice(0);
  });

  await t.step("a name finds the trigger, its deliveries and its tasks", async () => {
    await search("PUS");
    await page.getByRole("heading", { name: "Search: PUS" }).waitFor();
    const main = page.getByRole("main");
    await main.getByRole("heading", { name: "Deliveries to push" }).waitFor();
    equal(await main.getByRole("link", { name: "push", exact: true }).count(), 1 + 3);
    await main.getByRole("heading", { name: "Tasks of push" }).waitFor();
    await picture(page, "search");
    await main.getByRole("link", { name: "push", exact: true }).first().click();
    await arrive("/trigger/default/push");
  });

  await t.step("words of a reason find the delivery", async () => {
    await search("fits no key");
    await page.getByRole("heading", { name: "Deliveries whose reason contains it" }).waitFor();
    await page.getByRole("main").getByText("the signature fits no key of").waitFor();
  });

  await t.step("a search without a match says so", async () => {
    await search("nothing-like-it");
    await page.getByText("No name and no reason matches").waitFor();
  });
});
