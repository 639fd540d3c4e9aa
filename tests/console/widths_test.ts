/**
 * Lists and navigation at the widths that people have: what is seen of a row, what is cut, and what has
 * to be scrolled.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import { settled } from "./every_screen.ts";

const NAME = "github-pull-request-review-comments";

async function startFilled(): Promise<TestDaemon> {
  const daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(
    workflow("print", "echo one", "exit 2"),
    trigger(NAME, { workflow: "print", webhook: { allowUnsigned: true } }),
  );
  for (let number = 0; number < 40; number++) {
    const answer = await daemon.send(`/webhook/${NAME}`, {
      body: JSON.stringify({ number }),
      headers: { "content-type": "application/json", "x-github-event": "issue_comment" },
    });
    equal(answer.status, 200, answer.text);
  }
  await daemon.settled();
  return daemon;
}

/** What a row shows, by the header of its column: a cell without a box is not shown. */
interface Seen {
  readonly texts: Readonly<Record<string, string>>;
  readonly cut: readonly string[];
}

async function firstRow(page: Page): Promise<Seen> {
  return await page.evaluate(`(() => {
    const heads = [...document.querySelectorAll(".row.head > *")].map((one) => one.textContent);
    const cells = [...document.querySelector(".rows .all .row").children];
    const seen = cells.map((cell, at) => ({ cell, head: heads[at] })).filter(({ cell }) => {
      const { width, right, top, bottom } = cell.getBoundingClientRect();
      return width > 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
    });
    return {
      texts: Object.fromEntries(seen.map(({ cell, head }) => [head, cell.innerText.trim()])),
      cut: seen.filter(({ cell }) => cell.scrollWidth > cell.clientWidth + 1)
        .map(({ head }) => head),
    };
  })()`);
}

/** Boxes that scroll inside the page. */
async function innerScrolls(page: Page): Promise<string[]> {
  return await page.evaluate(`[...document.querySelectorAll("main *")]
    .filter((one) => one.scrollHeight > one.clientHeight + 1 &&
      /auto|scroll/.test(getComputedStyle(one).overflowY))
    .map((one) => one.className)`);
}

async function isSideways(page: Page): Promise<boolean> {
  return await page.evaluate("document.documentElement.scrollWidth > innerWidth");
}

browserTest("a list shows at every width how it stands, why and when", async (t) => {
  await using daemon = await startFilled();
  await using console = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  await settled(page);
  const lists: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
    deliveries: {
      Arrived: /^(now|\d+ [sm])$/,
      Event: /^issue_comment$/,
      Outcome: /^accepted$/,
      Task: /^failed$/,
      Why: /^step "s2": exit code 2$/,
    },
    tasks: {
      Created: /^(now|\d+ [sm])$/,
      State: /^failed$/,
      Took: /^\d+(ms|s)$/,
      Why: /^step "s2": exit code 2$/,
    },
  };
  for (const [list, wanted] of Object.entries(lists)) {
    for (const width of [1280, 390, 320]) {
      await t.step(`${list} at ${width} pixels`, async () => {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(`${console.origin}/${list}`);
        await settled(page);
        await page.locator(".rows .all .row").first().waitFor();
        // The values that a row looks up arrive a moment later.
        const first = list === "tasks" ? await firstRow(page) : await until(
          "the task",
          async () => {
            const row = await firstRow(page);
            return row.texts["Task"]?.startsWith("…") ? undefined : row;
          },
        );
        for (const [column, text] of Object.entries(wanted)) {
          match(first.texts[column] ?? "nothing", text, column);
        }
        if (width === 1280) {
          deepEqual(first.cut, [], "it fits");
          equal(first.texts["Trigger"], NAME);
          if (list === "deliveries") match(first.texts["Id"] ?? "", /^…[0-9A-Z]{6}$/);
        } else {
          deepEqual(first.cut.filter((one) => one in wanted && one !== "Why"), []);
        }
        equal(await isSideways(page), false);
        deepEqual(await innerScrolls(page), []);
        await picture(page, `${list}-${width}`);
      });
    }
  }

  await t.step("the rows go down to the end of the window, and their head stays", async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${console.origin}/deliveries`);
    await settled(page);
    const lowest = () =>
      page.evaluate(
        `Math.max(...[...document.querySelectorAll(".rows .all .row")]
          .map((one) => one.getBoundingClientRect().bottom))`,
      ) as Promise<number>;
    await until("rows down to the end", async () => await lowest() >= 800 || undefined);
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await settled(page);
    const { top, last } = await page.evaluate(`({
      top: document.querySelector(".row.head").getBoundingClientRect().top,
      last: document.querySelector(".rows .all .row:last-child").getAttribute("aria-rowindex"),
    })`) as { top: number; last: string };
    ok(top >= 0 && top < 100, `${top}`);
    equal(last, "41");
  });
});

browserTest("on a telephone the navigation is behind one button, in one row", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await using console = await startConsole(daemon);
  await using browser = await startBrowser({ viewport: { width: 320, height: 640 } });
  const page = await browser.open(console.link);
  await settled(page);
  const menu = page.getByRole("navigation", { name: "Screens" });
  const button = page.locator(".menu-button");
  const { height = 0 } = await page.locator("header").boundingBox() ?? {};
  ok(height <= 48, `${height} pixels`);
  equal(await menu.isVisible(), false);
  equal(await button.innerText(), "Now");
  await button.click();
  equal(await button.getAttribute("aria-expanded"), "true");
  for (const group of ["Activity", "Setup", "Security"]) {
    await menu.getByRole("region", { name: group }).waitFor();
  }
  await picture(page, "menu");
  await menu.getByRole("link", { name: "Secrets" }).click();
  await page.getByRole("heading", { level: 1, name: "Secrets" }).waitFor();
  equal(await menu.isVisible(), false, "it closes behind who has gone somewhere");
  equal(await button.innerText(), "Secrets");

  // The same by keys: / opens what the search is in, Escape closes it.
  await page.keyboard.press("/");
  await page.locator("input[type=search]:focus").waitFor();
  await page.keyboard.press("Escape");
  equal(await menu.isVisible(), false);
  await page.locator(".menu-button:focus").waitFor();

  // A filter that is taken away does not take the focus with it.
  await page.goto(`${console.origin}/tasks?state=failed`);
  const state = page.getByRole("combobox", { name: "State" });
  await state.focus();
  await state.selectOption("");
  await settled(page);
  await page.locator("select:focus").waitFor();

  await page.setViewportSize({ width: 1280, height: 800 });
  equal(await menu.isVisible(), true);
  equal(await button.isVisible(), false);
});
