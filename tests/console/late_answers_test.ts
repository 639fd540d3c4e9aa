/**
 * Answers that come late: what was asked for one list or one resource never shows in another
 * one, and nothing is drawn without it.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import type { Page, Route } from "playwright-core";
import { browserTest, startBrowser, startConsole } from "../helpers/browser.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { until } from "../helpers/until.ts";
import { settled } from "./every_screen.ts";
import { push, sendPush, startWithPush } from "./stored_deliveries.ts";

/** Requests to an operation that the test lets go when it likes. */
interface Held {
  readonly count: () => number;
  readonly release: () => Promise<void>;
}

/** Holds back the requests to an operation whose input fits. */
async function hold(
  page: Page,
  operation: string,
  fits: (input: Record<string, unknown>) => boolean,
): Promise<Held> {
  const held: Route[] = [];
  const address = `**/v1/${operation}`;
  await page.route(address, async (route) => {
    if (fits(route.request().postDataJSON())) held.push(route);
    else await route.continue();
  });
  return {
    count: () => held.length,
    async release() {
      await page.unroute(address);
      // The page has given up those that it has asked for anew.
      for (const route of held) await route.continue().catch(() => {});
    },
  };
}

browserTest("an answer that comes late shows nowhere else", async (t) => {
  await using daemon = await startWithPush();
  await daemon.apply(workflow("open", "true"), trigger("other"));
  await sendPush(daemon, push("main"));
  await sendPush(daemon, push("topic"));
  const third = await sendPush(daemon, push("other"), { trigger: "open" });
  await using served = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(served.link);
  await settled(page);
  const rows = page.locator(".rows .all .row");

  await t.step("older rows of one filter are not among those of another", async () => {
    await page.goto(`${served.origin}/deliveries?reason=e`);
    await settled(page);
    await rows.first().waitFor();
    const older = await hold(page, "get", ({ before }) => before !== undefined);
    await page.getByRole("button", { name: "Show older" }).click();
    await until("the request", () => older.count() === 1 || undefined);
    await page.getByRole("combobox", { name: "Outcome" }).selectOption("accepted");
    await page.getByRole("searchbox", { name: "Reason contains" }).fill("");
    await page.keyboard.press("Enter");
    await settled(page);
    await until("the rows of the other filter", async () => await rows.count() === 2 || undefined);
    const answered = page.waitForResponse("**/v1/get");
    await older.release();
    await (await answered).finished();
    await settled(page);
    equal((await rows.allInnerTexts()).length, 2);
  });

  await t.step(
    "a resource of the same name and another kind is not shown in its place",
    async () => {
      await page.goto(`${served.origin}/resource/trigger/default/open`);
      await page.getByRole("heading", { level: 1, name: "Trigger open" }).waitFor();
      const described = await hold(page, "describe", ({ what }) => what === "workflow");
      await page.evaluate(`history.pushState(null, "", "/resource/workflow/default/open");
        dispatchEvent(new PopStateEvent("popstate"))`);
      await until("the request", () => described.count() > 0 || undefined);
      equal(await page.getByRole("heading", { level: 1 }).innerText(), "workflow open");
      equal(await page.getByText("kind: Trigger").count(), 0);
      await described.release();
      await page.getByRole("heading", { level: 1, name: "Workflow open" }).waitFor();
    },
  );

  await t.step("none is compared when none is chosen", async () => {
    await page.goto(`${served.origin}/delivery/${third}?with=choose`);
    const compared = page.getByRole("region", { name: "Compared with another delivery" });
    const choice = compared.getByRole("combobox");
    await page.evaluate(`history.replaceState(null, "", "?with=${third}");
      dispatchEvent(new PopStateEvent("popstate"))`);
    await compared.getByText("each the same in both").first().waitFor();
    match(await choice.inputValue(), new RegExp(third));
    await choice.selectOption("");
    await compared.getByRole("heading", { level: 3 }).first().waitFor({ state: "detached" });
    equal(await choice.inputValue(), "");
  });

  await t.step("steps are not drawn before it is known which needs which", async () => {
    const [task] = await daemon.tasks();
    const plan = await hold(page, "task.plan", () => true);
    await page.goto(`${served.origin}/task/${task?.id}`);
    await page.getByText("Drawing…").waitFor();
    await until("the request", () => plan.count() > 0 || undefined);
    await settled(page);
    equal(await page.locator(".drawing").count(), 0);
    await plan.release();
    await page.locator(".drawing").waitFor();
  });
});
