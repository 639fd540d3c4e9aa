/**
 * Whether everyone can use what a page shows: with a screen reader, and in a window of any width.
 *
 * @module
 */

import axe from "axe-core";
import type { Page } from "playwright-core";

/** Rules of axe that a screen breaks, each with the first place; and how many were looked at. */
export async function violations(page: Page): Promise<{ found: string[]; looked: number }> {
  await page.evaluate(axe.source);
  return await page.evaluate(`(async () => {
    const { violations, passes } = await axe.run(document, {
      resultTypes: ["violations", "passes"],
    });
    return {
      looked: passes.length,
      found: violations.map(({ id, nodes: [{ html, failureSummary }] }) =>
        [id, html, failureSummary].join(": ")
      ),
    };
  })()`);
}

/** What reaches beyond the right edge of the window, if anything does. */
export async function overflow(page: Page): Promise<string[]> {
  return await page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    return ["the page: " + scrollWidth].concat([...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > clientWidth + 1)
      .slice(0, 5).map((element) => "<" + element.tagName + " class=" + element.className + ">"));
  })()`);
}
