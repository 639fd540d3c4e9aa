/**
 * What holds on every screen: whoever cannot see it or has no mouse can use it, in light and in dark,
 * and it fits from a telephone to the widest display.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { PAGES } from "../../src/console/pages.ts";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startConsoleSamples } from "../helpers/console_samples.ts";
import { everyScreen, settled } from "./every_screen.ts";
import { overflow, violations } from "./for_everyone.ts";

const WIDTHS = [360, 1280, 3840];
const SCHEMES = ["light", "dark"] as const;

browserTest("every screen is accessible in light and dark, and fits every width", async (t) => {
  await using samples = await startConsoleSamples();
  await using console = await startConsole(samples.daemon);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  await settled(page);
  const screens = Object.entries(everyScreen(samples));
  const firstParts = screens.map(([, address]) => address.split(/[/?]/)[1]);
  deepEqual(PAGES.filter((name) => !firstParts.includes(name)), [], "a screen is not looked at");
  for (const [name, address] of screens) {
    await t.step(name, async () => {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(console.origin + address);
      await settled(page);
      ok(!(await page.innerText("main")).includes("This page does not exist"));
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        const { found, looked } = await violations(page);
        ok(looked > 15, `only ${looked} rules applied`);
        deepEqual(found, [], colorScheme);
        await picture(page, `${name}, ${colorScheme}`);
      }
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        await settled(page);
        deepEqual(await overflow(page), [], `at ${width} pixels`);
        if (width < 1280) await picture(page, `${name}, narrow`);
      }
      // The browser also reports missing records.
      if (name === "Nothing found") browser.faults.splice(0);
    });
  }
});
