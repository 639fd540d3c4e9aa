/**
 * The bars of budgets on the first screen, in a browser on a real daemon.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import { browserTest, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";

browserTest("Now shows how much is used of each budget", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply({
    kind: "Agent",
    metadata: { name: "claude" },
    spec: {
      command: "claude --print",
      timeout: 60,
      budget: [{ runs: 40, per: "month" }, { usd: 2.5, per: "month", perRun: 0.5 }],
    },
  });
  await using console = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  const region = page.getByRole("region", { name: "Budgets", exact: true });
  await region.waitFor();
  const text = await region.innerText();
  match(text, /agent\/claude[\s\S]*0 of 40 runs per month, resets in/);
  match(text, /0 of 2\.5 usd per month, resets in/);
  equal(await region.getByRole("progressbar").count(), 2);
});
