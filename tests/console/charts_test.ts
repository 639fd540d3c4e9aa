/**
 * The charts, in a browser on a real daemon: their colours, and the tables under them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const KEY = "the-key-of-these-deliveries";

/** What the table under a chart says, summed over its rows: the minute may change meanwhile. */
async function tableOf(page: Page, chart: string): Promise<Record<string, number>> {
  const region = page.getByRole("region", { name: `${chart} as figures` });
  const heads = await region.locator("thead th").allInnerTexts();
  const rows = await region.locator("tbody tr").all();
  const sums: Record<string, number> = {};
  for (const row of rows) {
    const cells = await row.locator("td").allInnerTexts();
    cells.forEach((cell, at) => {
      const head = heads[at + 1] ?? "";
      sums[head] = (sums[head] ?? 0) + Number(cell);
    });
  }
  return sums;
}

/** Whether the chart of deliveries has the colour that its legend has for a series, as a script. */
const isDrawn = (label: string) =>
  `(() => {
  const chart = [...document.querySelectorAll("figure")]
    .find((one) => one.querySelector("h3").textContent === "Deliveries");
  const sign = [...chart.querySelectorAll(".legend li")]
    .find((one) => one.textContent.includes(${JSON.stringify(label)})).querySelector(".swatch");
  const canvas = chart.querySelector("canvas");
  if (canvas === null || canvas.width === 0) return false;
  const wanted = getComputedStyle(sign).color.match(/[0-9]+/g).map(Number);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4) {
    if (wanted.every((part, index) => data[at + index] === part) && data[at + 3] === 255) return true;
  }
  return false;
})()`;

browserTest("charts show what arrived, and the tables under them say the same", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(
    secretStore("github", { key: KEY }),
    workflow("record", "true"),
    trigger("push", { condition: 'payload.ref == "main"' }),
    trigger("nightly"),
  );
  const send = async (ref: string, key: string, status: number) => {
    const body = JSON.stringify({ ref });
    const headers = githubHeaders(key, body);
    equal((await daemon.send("/webhook/push", { body, headers })).status, status);
  };
  for (let times = 0; times < 5; times++) await send("main", KEY, 200);
  for (let times = 0; times < 3; times++) await send("other", KEY, 200);
  for (let times = 0; times < 2; times++) await send("main", "a wrong key", 401);
  equal((await daemon.svc(["trigger", "fire", "nightly"])).code, 0);
  await daemon.settled();

  await using console = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  const legend = page.locator("figure", { hasText: "Deliveries as a table" }).locator(".legend li");
  await legend.first().waitFor();
  const summed = (await legend.allInnerTexts()).map((text) => text.trim());
  deepEqual(summed, ["accepted 6", "filtered 3", "rejected 2"]);
  await page.getByText("Deliveries as a table").click();
  deepEqual(await tableOf(page, "Deliveries"), { accepted: 6, filtered: 3, rejected: 2 });
  await page.getByText("Response time as a table").click();
  const region = page.getByRole("region", { name: "Response time as figures" });
  match(
    await region.innerText(),
    /p50\s+p95\s+p99\s+[0-9:]+\s+[0-9.]+m?s\s+[0-9.]+m?s\s+[0-9.]+m?s/,
  );

  const plot = page.locator("figure", { hasText: "Deliveries as a table" }).locator(".u-over");
  const { width = 0, height = 0 } = await plot.boundingBox() ?? {};
  await plot.hover({ position: { x: width - 2, y: height / 2 } });
  await page.getByText(/^[0-9]{2}:[0-9]{2}–[0-9]{2}:[0-9]{2}$/).waitFor();
  await page.getByRole("heading", { name: "Now" }).hover();
  await page.getByText("each minute, 11 in total").waitFor();

  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const label of ["accepted", "filtered", "rejected"]) {
      await until(
        `${label} in ${colorScheme}`,
        async () => await page.evaluate(isDrawn(label)) ? true : undefined,
      );
    }
    await picture(page, `charts-${colorScheme}`);
  }

  await page.getByRole("button", { name: "24h" }).click();
  await page.getByRole("heading", { name: "The last 24h" }).waitFor();
  await page.getByText("Each 15m with data").first().waitFor();
  equal(new URL(page.url()).search, "?span=24h");
  deepEqual(await tableOf(page, "Deliveries"), { accepted: 6, filtered: 3, rejected: 2 });

  // Later deliveries are in the same table without a reload.
  await send("main", KEY, 200);
  await until(
    "another delivery in the table",
    async () => (await tableOf(page, "Deliveries"))["accepted"] === 7 ? true : undefined,
  );

  await page.goto(`${console.origin}/trigger/default/push`);
  await page.getByText("Deliveries as a table").click();
  deepEqual(await tableOf(page, "Deliveries"), { accepted: 6, filtered: 3, rejected: 2 });
});
