/**
 * The daemon ends while somebody looks at the console, and comes back.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { browserTest, startBrowser, startConsole } from "../helpers/browser.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

/** After this long the page has to say that the daemon is gone. */
const SAID_WITHIN_MS = 3000;

async function fire(daemon: TestDaemon): Promise<void> {
  equal((await daemon.svc(["trigger", "fire", "by-hand"])).code, 0);
}

browserTest(
  "a page says within three seconds that the daemon is gone, keeps what it shows, and goes on",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const first = await startDaemon(ONE_PROGRAM, { directory });
    await first.apply(workflow("record", "true"), trigger("by-hand"));
    await fire(first);
    await using console = await startConsole(first);
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    await page.getByRole("link", { name: "Deliveries", exact: true }).click();
    const rows = page.getByRole("table").getByRole("link", { name: "by-hand" });
    await rows.first().waitFor();
    equal(await rows.count(), 1);
    await page.getByText("● live").waitFor();

    await first.stop();
    const gone = performance.now();
    const said = page.getByText("The daemon does not answer: this data is old");
    await said.waitFor();
    const took = performance.now() - gone;
    ok(took < SAID_WITHIN_MS, `it took ${Math.round(took)} ms`);
    equal(await rows.count(), 1, "what was shown is still there");
    // Another screen says so, too, and the one before is there again.
    await page.getByRole("link", { name: "Triggers", exact: true }).click();
    await said.waitFor();
    await page.goBack();

    await using second = await startDaemon(ONE_PROGRAM, { directory });
    await page.getByText("● live").waitFor();
    await fire(second);
    await until("the new row", async () => await rows.count() === 2 || undefined);
    const text = await page.innerText("main");
    ok(!/does not answer|undefined|NaN/.test(text), text);
    await page.close(); // before the daemon goes away again
    // The browser reports unanswered requests by itself, and nothing else.
    browser.expects(/Failed to load resource/);
  },
);
