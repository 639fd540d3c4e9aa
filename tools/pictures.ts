/**
 * `make pictures`: makes the pictures of docs/console.md, from a real daemon with deliveries and
 * tasks, and its console in Chromium. Only ids and durations differ from run to run.
 *
 * @module
 */

import { join } from "node:path";
import type { Page } from "playwright-core";
import { startBrowser, startConsole } from "../tests/helpers/browser.ts";
import {
  type ConsoleSamples,
  GITHUB_SECRET,
  startConsoleSamples,
} from "../tests/helpers/console_samples.ts";
import { ROOT } from "../tests/helpers/program.ts";
import { until } from "../tests/helpers/until.ts";
import { settled } from "../tests/console/every_screen.ts";

const TO = join(ROOT, "docs/console");
/** Most bytes of a picture, because the pictures are in the repository. */
const MAX_BYTES = 150_000;
/** Age of the records on the pictures. */
const LATER_MS = 4 * 60_000;

/**
 * Sends the requests that fill the screens; returns the id of the rejected delivery on the
 * pictures.
 */
async function prepare({ push, daemon }: ConsoleSamples): Promise<string> {
  for (const branch of ["topic/cache", "release/1.4", "topic/cache", "release/1.4", "docs"]) {
    await push({ branch });
  }
  await push();
  await push({ secret: `${GITHUB_SECRET}\n` }); // as it comes out of a file
  await daemon.settled();
  using client = daemon.client();
  return await until("the refused delivery", async () => {
    const { items } = await client.call("get", {
      what: "deliveries",
      trigger: "github-push",
      outcome: "rejected",
    });
    return items.length > 1 ? String(items[0]?.["id"]) : undefined;
  });
}

async function shoot(
  page: Page,
  name: string,
  address: string,
  ready: string,
): Promise<void> {
  await page.goto(address);
  await page.getByText(ready).first().waitFor();
  await settled(page);
  const path = join(TO, `${name}.png`);
  const { byteLength } = await page.screenshot({ path, animations: "disabled", caret: "hide" });
  if (byteLength > MAX_BYTES) throw new Error(`${path} has ${byteLength} bytes`);
  console.log(`${path}: ${byteLength} bytes`);
}

await using samples = await startConsoleSamples();
const refused = await prepare(samples);
await using served = await startConsole(samples.daemon);
await using browser = await startBrowser({ viewport: { width: 1200, height: 680 } });
const page = await browser.open(served.link);
await settled(page);
await page.clock.setFixedTime(Date.now() + LATER_MS);
await Deno.mkdir(TO, { recursive: true });
await shoot(page, "delivery", `${served.origin}/delivery/${refused}`, "What arrived");
await shoot(page, "task", `${served.origin}/task/${samples.task}`, "The log of deploy");
const condition =
  'payload.ref == "refs/heads/main" ||\n  payload.ref.startsWith("refs/heads/release/")';
const query = new URLSearchParams({ condition });
await page.emulateMedia({ colorScheme: "dark" });
await shoot(
  page,
  "filter",
  `${served.origin}/filter/default/github-push?${query}`,
  "The outcome would change for",
);
