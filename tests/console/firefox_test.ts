/**
 * The same page in Firefox, where it is installed: opened by its link, under its policy, with rows.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import { startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { FIREFOX, startFirefox } from "../helpers/firefox.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

Deno.test({
  ...skippable("Firefox shows the same pages", FIREFOX === "" ? "no Firefox" : undefined),
  sanitizeOps: false, // the timers of its socket
  sanitizeResources: false,
  async fn() {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await daemon.apply(
      workflow("greet", "echo good morning"),
      trigger("greet", { workflow: "greet", webhook: { allowUnsigned: true } }),
    );
    const fired = await daemon.json("trigger", "fire", "greet") as { readonly task_id: string };
    await daemon.settled();
    await using console = await startConsole(daemon);
    await using firefox = await startFirefox();
    await firefox.go(console.link);
    await firefox.shows("● live");
    equal(await firefox.evaluate("location.hash"), "");
    await firefox.go(`${console.origin}/deliveries`);
    await firefox.shows("accepted");
    await firefox.go(`${console.origin}/task/${fired.task_id}`);
    await firefox.shows("good morning");
    await firefox.go(`${console.origin}/task/${fired.task_id}/log`);
    await firefox.shows("good morning");
    const refused = await firefox.evaluate(
      "(() => { try { document.body.innerHTML = '<i>'; return 'taken'; } catch (e) { return String(e); } })()",
    );
    match(String(refused), /TypeError/);
  },
});
