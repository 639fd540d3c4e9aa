/**
 * What is paused, in a browser: a bar on every page, with who and why, until somebody ends it.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { settled } from "./every_screen.ts";

browserTest("every page says what is paused", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  equal((await daemon.svc(["pause", "--reason", "<b>a new kernel</b>"])).code, 0);
  await using console = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  await settled(page);
  const bar = page.getByRole("region", { name: "Paused" });
  for (const path of ["/", "/tasks", "/audit"]) {
    await page.goto(console.origin + path);
    await settled(page);
    match(await bar.innerText(), /^Paused: no task starts since \S+, by socket.*: <b>a new kernel/);
  }
  await picture(page, "paused");
  equal((await daemon.svc(["resume"])).code, 0);
  await bar.waitFor({ state: "detached" });
});
