/**
 * The list of deliveries: its filters are its address, run in the daemon, and it is live.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { trigger } from "../helpers/manifests.ts";
import { until } from "../helpers/until.ts";
import { push, sendPush, startWithPush } from "./stored_deliveries.ts";

/** Outcomes that are listed, newest first. */
async function outcomes(page: Page): Promise<string> {
  const rows = page.getByRole("table", { name: "Deliveries" }).getByRole("row");
  return (await rows.locator(".lead .chip").allInnerTexts()).join(" ");
}

function listed(page: Page, wanted: string): Promise<true> {
  return until(`the list ${wanted}`, async () => (await outcomes(page)) === wanted || undefined);
}

browserTest("deliveries are listed live, and their filters are the address", async (t) => {
  await using daemon = await startWithPush();
  await using served = await startConsole(daemon);
  await using browser = await startBrowser();
  await sendPush(daemon, push("main"));
  const filtered = await sendPush(daemon, push("fix-login"));
  await sendPush(daemon, push("main"), { secret: "another" });
  const page = await browser.open(served.link);
  await page.getByRole("link", { name: "Deliveries", exact: true }).click();
  await listed(page, "rejected filtered accepted");

  await t.step("a delivery that arrives while the list is shown is added", async () => {
    await sendPush(daemon, push("other"), { trigger: "open" });
    await listed(page, "accepted rejected filtered accepted");
    await picture(page, "deliveries");
  });

  await t.step("a filter is in the address, and says its command", async () => {
    await page.getByRole("combobox", { name: "Outcome" }).selectOption("filtered");
    await listed(page, "filtered");
    equal(new URL(page.url()).search, "?outcome=filtered");
    await page.getByText("svc get deliveries --watch --outcome filtered").waitFor();
  });

  await t.step("it survives reload, a look at one delivery, and back", async () => {
    await page.reload();
    await listed(page, "filtered");
    equal(await page.getByRole("combobox", { name: "Outcome" }).inputValue(), "filtered");
    await page.getByRole("row").getByRole("link", { name: "push" }).click();
    await page.getByText(filtered).first().waitFor();
    await page.goBack();
    await listed(page, "filtered");
    equal(new URL(page.url()).search, "?outcome=filtered");
  });

  await t.step("every filter of the daemon can be in the address", async () => {
    const filters: Record<string, string> = {
      "trigger=open": "accepted",
      "status=401": "rejected",
      "reason=NO%20KEY": "rejected",
      "key=webhook": "accepted filtered accepted",
      "remote=127.0.0.1": "accepted rejected filtered accepted",
      "remote=192.0.2.1": "",
      "min_duration_ms=600000": "",
      "until=2020-01-01T00:00:00Z": "",
      "since_secs=3600&trigger=push": "rejected filtered accepted",
      "project=default&outcome=rejected": "rejected",
    };
    for (const [query, wanted] of Object.entries(filters)) {
      await page.goto(`${served.origin}/deliveries?${query}`);
      if (wanted === "") await page.getByText("No delivery matches").waitFor();
      await listed(page, wanted);
    }
  });

  await t.step("an unknown filter is refused with a message", async () => {
    await page.goto(`${served.origin}/deliveries?outcome=blue`);
    const problem = page.getByRole("alert");
    ok((await problem.innerText()).includes('Unknown outcome "blue"'));
  });

  await t.step(
    "all matching deliveries are sent again, after their number is confirmed",
    async () => {
      const action = page.getByRole("button", { name: "Send all matches again" });
      await page.goto(`${served.origin}/deliveries?outcome=filtered`);
      await page.getByText("Choose a time range first").waitFor();
      equal(await action.getAttribute("aria-disabled"), "true");
      await page.getByRole("combobox", { name: "Time range" }).selectOption("3600");
      await action.click();
      const dialog = page.getByRole("dialog", { name: "Send all matches again" });
      await dialog.getByText("1 delivery goes through").waitFor();
      await dialog.getByText("svc delivery redeliver --outcome filtered --since 1h").waitFor();
      equal(await outcomes(page), "filtered", "nothing is sent before the answer");
      await dialog.getByRole("button", { name: "Send all matches again" }).click();
      await page.getByText("Sent again: 1 filtered").waitFor();
      await listed(page, "filtered filtered");
    },
  );

  await t.step("j and Enter open the row below", async () => {
    await page.goto(`${served.origin}/deliveries`);
    await listed(page, "filtered accepted rejected filtered accepted");
    for (const row of [2, 3, 4, 5]) {
      await page.keyboard.press("j");
      await page.locator(`[aria-rowindex="${row}"] a:focus`).waitFor();
    }
    await page.keyboard.press("Enter");
    await page.getByText(filtered).first().waitFor();
  });

  await t.step("a request that was refused, and not kept, says its event", async () => {
    await daemon.apply(
      trigger("strict", { webhook: { secret: { fromRef: "github" }, scheme: "github" } }),
    );
    await sendPush(daemon, push("main"), { trigger: "strict", secret: "another" });
    await page.goto(`${served.origin}/deliveries?trigger=strict`);
    await listed(page, "rejected");
    await page.getByRole("cell", { name: "push", exact: true }).waitFor();
  });
});
