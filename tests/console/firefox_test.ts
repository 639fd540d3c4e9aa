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
    await using firefox = await startFirefox();
    // Where there is 127.0.0.1 alone, which Firefox asks no resolver for either.
    await using named = await startConsole(daemon, [], { env: { WSL_DISTRO_NAME: "Debian" } });
    await firefox.go(named.link);
    await firefox.shows("● live");
    equal(await firefox.evaluate("isSecureContext"), true, "the clipboard needs it");
    await using console = await startConsole(daemon);
    await firefox.go(console.link);
    await firefox.shows("● live");
    equal(await firefox.evaluate("isSecureContext"), true);
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
