/**
 * A delivery is edited and tried, then fired for real, in one place; and set beside another one.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { until } from "../helpers/until.ts";
import { settled } from "./every_screen.ts";
import { push, sendPush, startWithPush } from "./stored_deliveries.ts";

browserTest("a delivery is edited, tried and fired where it is looked at", async (t) => {
  await using daemon = await startWithPush();
  const filtered = await sendPush(daemon, push("topic"));
  const refused = await sendPush(daemon, push("main"), { secret: "quite-another" });
  await using served = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(served.link);
  await settled(page);
  const editor = page.getByRole("region", { name: "Edit and try" });
  const payload = editor.getByRole("textbox", { name: "Payload" });

  await t.step(
    "the editor begins with the payload that arrived, and is in the address",
    async () => {
      await page.goto(`${served.origin}/delivery/${filtered}`);
      await page.getByRole("button", { name: "Edit and try" }).click();
      equal(new URL(page.url()).search, "?edit=1");
      await payload.waitFor();
      const text = await payload.inputValue();
      equal(JSON.parse(text).ref, "refs/heads/topic");
      ok(text.includes("9007199254740993"), "all digits are there");
      equal(await editor.getByLabel("Event, if").inputValue(), "push");
    },
  );

  await t.step(
    "a test shows the outcome stage by stage, and starts nothing",
    async () => {
      const text = await payload.inputValue();
      await editor.getByRole("button", { name: "Test", exact: true }).click();
      await editor.getByText("It would be filtered").waitFor();
      await editor.locator("button:focus", { hasText: "Test" }).waitFor();
      await payload.fill(text.replace("refs/heads/topic", "refs/heads/main"));
      await editor.getByRole("button", { name: "Test", exact: true }).click();
      await editor.getByText("It would be accepted").waitFor();
      const stages = editor.getByRole("table", { name: "Stages of the test" });
      match(await stages.innerText(), /key "webhook" matched/);
      await editor.getByText('payload.ref == "refs/heads/main"', { exact: true }).waitFor();
      await picture(page, "edit-and-try");
      deepEqual(await daemon.tasks(), []);
    },
  );

  await t.step("fired, it starts its task, with its headers and none that are hidden", async () => {
    await editor.getByRole("button", { name: "Fire", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Fire" });
    await dialog.getByText("This is not a test").waitFor();
    deepEqual(await daemon.tasks(), [], "nothing is started before the answer");
    await dialog.getByRole("button", { name: "Fire", exact: true }).click();
    const task = await until("the task", async () => (await daemon.tasks())[0]);
    await page.waitForURL(`**/task/${task.id}`);
    const shown = await daemon.json("delivery", "show", task.delivery_id) as {
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    };
    equal(shown.headers["x-github-event"], "push");
    equal(Object.hasOwn(shown.headers, "x-hub-signature-256"), false);
    ok(shown.body.includes("9007199254740993"));
  });

  await t.step(
    "sending again is not offered first for a delivery that would be refused again",
    async () => {
      await page.goto(`${served.origin}/delivery/${refused}`);
      await page.getByRole("heading", { level: 1, name: "Delivery to push was rejected" })
        .waitFor();
      await page.getByText("It would be rejected again now").waitFor();
      const actions = page.locator(".actions").first().locator("> button, > a, > .action > button");
      deepEqual(await actions.allInnerTexts(), [
        "Edit and try",
        "Compare",
        "Try another filter",
        "Send again",
      ]);
      equal(await page.locator(".actions > .action > .primary").count(), 0);
      const set = await daemon.svc(["secret", "set", "github", "theirs"], {
        stdin: "quite-another",
      });
      equal(set.code, 0, set.stderr);
      await page.reload();
      await page.locator(".actions > .action > .primary").waitFor();
      equal((await actions.allInnerTexts())[0], "Send again");
    },
  );

  await t.step("one stage is a sentence and no bar", async () => {
    await page.getByText("It got as far as received").waitFor();
    equal(await page.locator(".stages").count(), 0);
  });
});

browserTest("two deliveries are compared", async (t) => {
  await using daemon = await startWithPush();
  const first = await sendPush(daemon, push("main", 1));
  const second = await sendPush(daemon, push("topic", 2));
  await using served = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(served.link);
  await settled(page);
  const compared = page.getByRole("region", { name: "Compared with another delivery" });

  await t.step("another one of the trigger is chosen, and stands in the address", async () => {
    await page.goto(`${served.origin}/delivery/${first}`);
    await page.getByRole("button", { name: "Compare" }).click();
    const choice = compared.getByRole("combobox");
    await choice.locator(`option[value="${second}"]`).waitFor({ state: "attached" });
    await choice.selectOption(second);
    equal(new URL(page.url()).search, `?with=${second}`);
  });

  await t.step("a difference is named as a condition names it", async () => {
    const body = compared.getByRole("table", { name: "Payload that differ" });
    const row = body.getByRole("row", { name: "payload.ref" });
    await row.waitFor();
    deepEqual(await row.getByRole("cell").allInnerTexts(), [
      "payload.ref",
      '"refs/heads/main"',
      '"refs/heads/topic"',
    ]);
    await body.getByRole("row", { name: "payload.commits[0].id" }).waitFor();
    equal(await body.getByText("payload.created").count(), 0, "what is the same is counted only");
    await compared.getByText("values the same").waitFor();
    const headers = compared.getByRole("table", { name: "Headers that differ" });
    await headers.getByRole("row", { name: "x-github-delivery" }).waitFor();
    await picture(page, "compare");
  });

  await t.step("it survives a reload, and leads to the other one", async () => {
    await page.reload();
    await compared.getByRole("link", { name: second.slice(-6) }).click();
    await page.waitForURL(`**/delivery/${second}`);
  });

  await t.step("a read-only console has neither button", async () => {
    await using reading = await startConsole(daemon, ["--read-only", `delivery/${first}`]);
    const other = await browser.open(reading.link);
    await other.getByText("This console is read-only").first().waitFor();
    for (const name of ["Edit and try", "Compare"]) {
      equal(await other.getByRole("button", { name }).count(), 0);
    }
    await other.close();
  });
});
