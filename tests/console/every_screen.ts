/**
 * The address of every screen, with a daemon that has something for each, and how to wait for one.
 *
 * @module
 */

import type { Page } from "playwright-core";
import type { ConsoleSamples } from "../helpers/console_samples.ts";

/** Addresses by what they show; each first part of a path that the gate knows is among them. */
export function everyScreen(samples: ConsoleSamples): Readonly<Record<string, string>> {
  const { delivery, rejected, task, event, message, audit, control } = samples;
  return {
    "Now": "/",
    "Deliveries": "/deliveries",
    "Delivery that was accepted": `/delivery/${delivery}`,
    "Delivery that was rejected": `/delivery/${rejected}`,
    "Delivery that is edited": `/delivery/${delivery}?edit=1`,
    "Deliveries that are compared": `/delivery/${delivery}?with=${rejected}`,
    "Try a filter": "/filter",
    "Another filter": `/filter/default/github-push?condition=${
      encodeURIComponent("payload.x == 1")
    }`,
    "Tasks": "/tasks",
    "Task": `/task/${task}`,
    "Task over time": `/task/${task}?view=time`,
    "Log": `/task/${task}/log`,
    "Triggers": "/triggers",
    "Trigger": "/trigger/default/github-push",
    "Trigger on a schedule": "/trigger/default/nightly",
    "Approvals": "/approvals",
    "Threads": "/threads",
    "Thread": `/thread/${event}`,
    "Connections": "/connections",
    "Message": `/outbox/${message}`,
    "Secrets": "/secrets",
    "Secret": "/secret/default/github",
    "Resources": "/resources",
    "Resource": "/resource/workflow/default/release",
    "Resource with something missing": "/resource/trigger/default/pull-requests",
    "Audit of plugins": "/audit",
    "Audit of the control plane": "/audit/control",
    "Row of the audit": `/audit/plugins/${audit}`,
    "Row of the control plane's audit": `/audit/control/${control}`,
    "Search": "/search?q=github",
    "Nothing found": "/task/01AAAAAAAAAAAAAAAAAAAAAAAA",
  };
}

/** How long a screen has to be still. */
const STILL_MS = 200;

/** Waits until a screen is there and does not change any more, but for its clocks. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector("main h1");
  await page.locator(".connection:not(.lost)").waitFor();
  await page.evaluate(`new Promise((done) => {
    const quiet = () => {
      changes.disconnect();
      done();
    };
    let timer = setTimeout(quiet, ${STILL_MS});
    const changes = new MutationObserver((found) => {
      if (found.every(({ target }) => target.parentElement?.closest("time") != null)) return;
      clearTimeout(timer);
      timer = setTimeout(quiet, ${STILL_MS});
    });
    changes.observe(document.body, { subtree: true, childList: true, characterData: true });
  })`);
}
