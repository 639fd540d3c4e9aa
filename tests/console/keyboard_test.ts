/**
 * The console with a keyboard alone: from the address to a row, into a delivery, to its task, to a
 * step of the graph, into the log, and back. What checkers of pages cannot see: whether Tab gets
 * there, in an order that can be followed, and whether one sees where one is.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { startConsoleSamples } from "../helpers/console_samples.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import { settled } from "./every_screen.ts";

/** What has the focus. */
interface Focus {
  readonly tag: string;
  /** Its text, or its label. */
  readonly name: string;
  readonly href: string;
  /** Whether it stands out and lies within the window. */
  readonly isSeen: boolean;
}

async function focused(page: Page): Promise<Focus> {
  return await page.evaluate(`(() => {
    const element = document.activeElement;
    const { top, bottom, left, right, width } = element.getBoundingClientRect();
    const { outlineStyle } = getComputedStyle(element);
    return {
      tag: element.tagName.toLowerCase(),
      name: element.getAttribute("aria-label") ?? element.textContent.trim(),
      href: element.getAttribute("href") ?? "",
      isSeen: outlineStyle !== "none" && width > 0 &&
        bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
    };
  })()`);
}

/** Presses Tab until `fits` says that it is there; everything on the way has to be seen. */
async function tabTo(
  page: Page,
  what: string,
  fits: (focus: Focus) => boolean,
  most = 60,
): Promise<number> {
  const passed: string[] = [];
  for (let presses = 1; presses <= most; presses++) {
    await page.keyboard.press("Tab");
    const focus = await focused(page);
    ok(focus.tag !== "body" || presses === most, `Tab left the page before ${what}: ${passed}`);
    ok(focus.isSeen, `one does not see where one is: ${JSON.stringify(focus)}`);
    if (fits(focus)) return presses;
    passed.push(focus.name.slice(0, 30));
  }
  throw new Error(`Tab does not reach ${what} within ${most} presses: ${passed.join(" | ")}`);
}

browserTest(
  "with the keyboard alone: a row, its delivery, its task, a step, the log, and back",
  async () => {
    await using samples = await startConsoleSamples();
    await using console = await startConsole(samples.daemon);
    await using browser = await startBrowser();
    const { delivery, task } = samples;
    const page = await browser.open(console.link);
    await settled(page);
    await page.goto(`${console.origin}/deliveries`);
    await settled(page);

    // The first press offers the way past the navigation, and it leads there.
    await tabTo(page, "the way to the content", ({ name }) => name === "Skip to content", 1);
    await page.keyboard.press("Enter");
    const presses = await tabTo(page, "the row", ({ href }) => href === `/delivery/${delivery}`);
    ok(presses < 40, `${presses} presses`);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/delivery/${delivery}`);
    await settled(page);
    equal((await focused(page)).tag, "main", "one goes on where the new screen begins");

    await tabTo(page, "the task of the delivery", ({ href }) => href === `/task/${task}`);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/task/${task}`);
    await settled(page);

    await tabTo(page, "the step that failed", ({ name }) => name.startsWith("Step deploy: failed"));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: "Step deploy" }).waitFor();
    await tabTo(page, "its log", ({ href }) => href.startsWith(`/task/${task}/log`));
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/task/${task}/log*`);
    await settled(page);
    await page.getByText("Rolling out tidepool").first().waitFor();
    await tabTo(page, "the lines", ({ tag, name }) => tag !== "a" && /lines|log/i.test(name));

    // Back goes the same way, screen by screen.
    for (const address of [`/task/${task}`, `/delivery/${delivery}`, "/deliveries"]) {
      await page.goBack();
      while (new URL(page.url()).pathname !== address) await page.goBack();
      await settled(page);
      equal(new URL(page.url()).pathname, address);
    }

    // Rows by their own keys, and the list of keys.
    await page.locator(".rows .all .row").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    // playwright's own waiting evaluates text in the page, which its policy forbids
    await until(
      "a row with the focus",
      async () => /^\/delivery\//.test((await focused(page)).href) || undefined,
    );
    // From the row that has the focus, however it came there.
    await page.locator(".rows .all .row").nth(3).locator("a").first().focus();
    await page.keyboard.press("j");
    await page.locator('[aria-rowindex="6"] a:focus').first().waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    match((await focused(page)).name, /^Search/);
  },
);

browserTest("a key works from the moment in which the page can be seen", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await using console = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  await settled(page);
  // Pressed as soon as the search is in the page, before it is painted.
  await page.addInitScript(`
    new MutationObserver((_, watching) => {
      const search = document.querySelector("header [role=search] input");
      if (search === null) return;
      watching.disconnect();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
      globalThis.pressed = document.activeElement === search;
    }).observe(document, { subtree: true, childList: true });
  `);
  await page.reload();
  await settled(page);
  equal(await page.evaluate("pressed"), true);
});
