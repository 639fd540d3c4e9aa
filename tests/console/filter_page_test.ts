/**
 * The workbench: what a condition would have done to what has come, while it is typed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { parse } from "yaml";
import type { Page } from "playwright-core";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { until } from "../helpers/until.ts";
import { CONDITION, push, sendPush, startWithPush } from "./stored_deliveries.ts";

/** The sums: of each change how many. */
async function sums(page: Page): Promise<Record<string, number>> {
  const rows = await page.locator(".counts tbody tr").allInnerTexts();
  return Object.fromEntries(rows.map((row) => {
    const [count, ...words] = row.split(/\s+/);
    return [words.join(" "), Number(count)];
  }));
}

function become(page: Page, wanted: Record<string, number>): Promise<true> {
  return until(`the sums ${JSON.stringify(wanted)}`, async () => {
    const found = await sums(page);
    const isEqual = Object.keys(found).length === Object.keys(wanted).length &&
      Object.entries(wanted).every(([change, count]) => found[change] === count);
    return isEqual || undefined;
  });
}

browserTest("another condition is tried on stored deliveries while it is typed", async (t) => {
  await using daemon = await startWithPush();
  for (let n = 1; n <= 3; n++) await sendPush(daemon, push("main", n));
  for (let n = 1; n <= 4; n++) await sendPush(daemon, push("fix-login", n));
  const topic = await sendPush(daemon, push("topic"));
  await sendPush(daemon, push("main"), { secret: "another" });
  await daemon.settled();
  // The record of a refusal is written a moment after its answer, and the page counts once.
  await until("every record", async () => {
    const deliveries = await daemon.json("get", "deliveries") as unknown[];
    return deliveries.length === 9 || undefined;
  });
  await using served = await startConsole(daemon);
  await using browser = await startBrowser();
  // A half-typed condition is refused, and Chromium logs the answer.
  browser.expects(/status of 400/);
  const page = await browser.open(served.link);
  await page.getByText("● live").waitFor();
  await page.goto(`${served.origin}/filter/default/push`);
  const area = page.getByRole("textbox", { name: "Condition, in CEL" });

  await t.step("the condition as it is applied changes nothing", async () => {
    equal(await area.inputValue(), CONDITION);
    await become(page, {
      "filtered the same": 5,
      "accepted the same": 3,
      "rejected the same": 1,
    });
    await page.getByText("The outcome would change for none of 9 deliveries in the last 7d.")
      .waitFor();
    equal(await page.getByText("Apply it").count(), 0);
  });

  await t.step("another one: the numbers, and the deliveries one by one", async () => {
    await area.fill('payload.ref.startsWith("refs/heads/fix")');
    await become(page, {
      "filtered accepted": 4,
      "accepted filtered": 3,
      "filtered the same": 1,
      "rejected the same": 1,
    });
    await page.getByText("The outcome would change for 7 of 9 deliveries in the last 7d.")
      .waitFor();
    const changed = page.getByRole("table").filter({ hasText: "Would be" }).last();
    equal(await changed.getByRole("row").count(), 1 + 7);
    equal(await changed.getByRole("row", { name: "the condition is false" }).count(), 3);
    await picture(page, "filter");
  });

  await t.step("it is in the address, and survives a reload", async () => {
    ok(new URL(page.url()).searchParams.get("condition")?.includes("refs/heads/fix"));
    await page.reload();
    await page.getByText("The outcome would change for 7 of 9 deliveries").waitFor();
    equal(await area.inputValue(), 'payload.ref.startsWith("refs/heads/fix")');
  });

  await t.step(
    "the YAML and the command that apply it are shown, and nothing is applied",
    async () => {
      const text = await page.getByLabel("The condition as YAML").innerText();
      deepEqual(parse(text), {
        spec: { event: { filter: { condition: 'payload.ref.startsWith("refs/heads/fix")' } } },
      });
      await page.getByText("svc edit trigger push -p default").waitFor();
      const trigger = await daemon.json("get", "trigger", "push") as {
        spec: { event: { filter: { condition: string } } };
      };
      equal(trigger.spec.event.filter.condition, CONDITION);
    },
  );

  await t.step("a fault says where it is", async () => {
    await area.fill('payload.ref == "refs/heads/main" &&\n  payload.ref.startWith("x")');
    const problem = page.getByRole("alert");
    await problem.getByText('there is no function "startWith", did you mean "startsWith"?')
      .waitFor();
    await page.getByRole("button", { name: "Go to column 15 of line 2" }).click();
    const at = await area.evaluate((element) =>
      (element as unknown as { readonly selectionStart: number }).selectionStart
    );
    equal(at, 'payload.ref == "refs/heads/main" &&\n'.length + 14);
  });

  await t.step("a value of a delivery is put into the condition by a click", async () => {
    await area.fill("");
    await page.getByRole("combobox", { name: "Sample delivery" }).selectOption(topic);
    await page.getByRole("button", { name: '"refs/heads/topic"' }).click();
    equal(await area.inputValue(), "payload.ref");
    await area.pressSequentially(' == "refs/heads/topic"');
    await become(page, {
      "accepted filtered": 3,
      "filtered accepted": 1,
      "filtered the same": 4,
      "rejected the same": 1,
    });
  });

  await t.step("the delivery beside the condition shows the result of each part", async () => {
    await area.fill('payload.ref.endsWith("topic") && payload.created');
    const beside = page.getByRole("region", { name: "The sample delivery, part by part" });
    await beside.getByRole("heading", { name: "filtered" }).waitFor();
    const rows = beside.getByRole("row");
    await beside.getByText('payload.ref.endsWith("topic")').waitFor();
    equal(await rows.count(), 1 + 2);
    ok((await rows.nth(1).innerText()).includes("true"));
    ok((await rows.nth(2).innerText()).includes("false"));
    await area.fill('payload.ref.endsWith("topic")');
    await beside.getByRole("heading", { name: "accepted" }).waitFor();
  });

  await t.step("a read-only console says why no condition is tried", async () => {
    await using reading = await startConsole(daemon, ["--read-only"]);
    const other = await browser.open(reading.link);
    await other.getByText("● live").waitFor();
    await other.goto(`${reading.origin}/filter/default/push`);
    await other.getByText("This console is read-only").first().waitFor();
    equal(await other.locator(".counts").count(), 0);
    await other.close();
  });
});
