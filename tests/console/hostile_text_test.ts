/**
 * Whatever strangers can set is shown as text, on every screen that shows it: nothing in it runs, is
 * loaded, opens or hides something, and a huge one does not hold the page up.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { type Manifest, secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../helpers/slack.ts";
import { until } from "../helpers/until.ts";
import { settled } from "./every_screen.ts";

const SECRET = "a secret for this test";

/** Marks the place of each text, so that it can be seen that it was shown at all. */
const hostile = (mark: string) =>
  `${mark} <img src=//elsewhere.invalid/x onerror=alert(1)><script>alert(2)</script>` +
  `<a href="javascript:alert(3)">go</a>` +
  `\x1b]8;;https://elsewhere.invalid/\x07link\x1b]8;;\x07\x1b[2J ` +
  `user\u202egpj.exe\u200b \u0007 {{constructor.constructor('alert(4)')()}}`;

/** As it is sent in JSON, halves of surrogates with it, which are in no UTF-8. */
const inJson = (mark: string) => JSON.stringify(hostile(mark)).replace(/"$/, '\\ud800 \\udc00"');

/** A line of ten megabytes, without an end. */
const HUGE = 10 * 1024 * 1024;
/** How long the page may be busy with anything at once. */
const BUSY_MS = 2000;

const TALK: Manifest = {
  kind: "Trigger",
  metadata: { name: "chat" },
  spec: {
    event: {
      source: "webhook",
      webhook: { secret: { fromRef: "slack" }, signatureHeader: "X-Slack-Signature" },
    },
    action: { workflow: "echo", workspace: "default" },
  },
};

/** Writes what came, an output and an error, and fails with a reason that a step gave. */
const ECHO: Manifest = {
  kind: "Workflow",
  metadata: { name: "echo" },
  spec: {
    steps: [{
      id: "echo",
      env: { TEXT: "{{ payload.?text.orValue('none') }}" },
      run: `printf '%s\\n' "$TEXT"; printf 'said=%s\\n' "$TEXT" | head -n 1 >> "$SVC_OUTPUT"; ` +
        `printf '%s' "$TEXT" >&2; exit 1`,
    }],
  },
};

/** Sends everything; gives the addresses that show it, each with the marks to be found there. */
async function prepare(daemon: TestDaemon): Promise<ReadonlyMap<string, readonly string[]>> {
  await daemon.apply(
    secretStore("github", { key: SECRET }),
    secretStore("slack", { signing_secret: SLACK_SECRET }),
    ECHO,
    workflow("huge", `head -c ${HUGE} /dev/zero | tr '\\0' x; echo`),
    trigger("push", { workflow: "echo" }),
    trigger("huge", { workflow: "huge" }),
    workflow("slow", "sleep 600"),
    trigger("slow", { workflow: "slow" }),
    TALK,
  );
  const body = `{"text": ${inJson("in-body")}, ${inJson("in-key")}: 1}`;
  const headers = {
    ...githubHeaders(SECRET, body, "push"),
    "x-strange": "<b>in-header</b><img src=//elsewhere.invalid/h>",
    "x-github-event": "<b>in-event</b><img src=//elsewhere.invalid/e>",
  };
  equal((await daemon.send("/webhook/push", { body, headers })).status, 200);
  const otherBody = `{"text": ${inJson("in-other")}}`;
  const otherHeaders = githubHeaders(SECRET, otherBody, "push");
  equal(
    (await daemon.send("/webhook/push", { body: otherBody, headers: otherHeaders })).status,
    200,
  );
  const path = encodeURIComponent(hostile("in-path"));
  await daemon.send(`/webhook/${path}`, { body: "{}", headers: { "content-type": "text/plain" } });
  const wrong = `{"text": ${inJson("in-refused")}`;
  await daemon.send("/webhook/push", {
    body: wrong,
    headers: githubHeaders(SECRET, wrong, "push"),
  });
  const post = slackMessage({ text: "TEXT", ts: "1700000000.000100" })
    .replace('"TEXT"', inJson("in-slack")).replace('"U0001"', JSON.stringify("<b>U1</b>"));
  equal(
    (await daemon.send("/source/slack/default/chat", { body: post, headers: slackHeaders(post) }))
      .status,
    200,
  );
  const long = JSON.stringify({ text: "y".repeat(HUGE / 16) });
  equal(
    (await daemon.send("/webhook/huge", {
      body: long,
      headers: githubHeaders(SECRET, long, "push"),
    }))
      .status,
    200,
  );
  equal((await daemon.svc(["trigger", "fire", "slow"])).code, 0);
  const slow = await until(
    "the slow task",
    async () => (await daemon.tasks()).find((one) => one.trigger === "slow"),
  );
  const cancelled = ["task", "cancel", slow.id, "--reason", hostile("in-reason")];
  equal((await daemon.svc(cancelled)).code, 0);
  const tasks = await daemon.settled();
  // The newest is first.
  const [another, push] = tasks.filter((one) => one.trigger === "push");
  const other = another?.delivery_id;
  const huge = tasks.find((one) => one.trigger === "huge");
  ok(push !== undefined && huge !== undefined);
  using client = daemon.client();
  const [event] = await until("the event", async () => {
    const { items } = await client.call("get", { what: "source-events" });
    return items.length > 0 ? items : undefined;
  });
  return new Map([
    ["/", []],
    ["/deliveries", ["in-event"]],
    ["/deliveries?reason=" + encodeURIComponent(hostile("in-filter")), []],
    [`/delivery/${push.delivery_id}`, ["in-body", "in-header"]],
    [`/delivery/${push.delivery_id}?edit=1`, ["in-event"]],
    [`/delivery/${push.delivery_id}?with=${other}`, ["in-body", "in-key", "in-other", "in-event"]],
    [`/delivery/${huge.delivery_id}`, ["yyyy"]],
    ["/tasks", []],
    [`/task/${push.id}`, ["in-body"]],
    [`/task/${push.id}/log`, ["in-body"]],
    [`/task/${huge.id}`, []],
    [`/task/${huge.id}/log`, ["xxxx"]],
    [`/task/${slow.id}`, ["in-reason"]],
    ["/triggers", []],
    ["/threads", ["in-slack"]],
    [`/thread/${String(event?.["id"])}`, ["in-slack"]],
    ["/audit/control", []],
    [`/search?q=${encodeURIComponent(hostile("in-search"))}`, ["in-search"]],
    [`/resources?kind=${encodeURIComponent(hostile("in-address"))}`, []],
  ]);
}

/** What must never stand on the screen as it came. */
// deno-lint-ignore no-control-regex -- control characters are what is looked for
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069]|\p{Cs}/u;

/** The text of a screen, inputs and titles with it; and what of it became an element. */
async function shown(page: Page): Promise<{ readonly text: string; readonly made: string[] }> {
  return await page.evaluate(`({
    text: document.body.innerText + [...document.querySelectorAll("[title], [aria-label]")]
      .map((one) => (one.title ?? "") + (one.getAttribute("aria-label") ?? "")).join("\\n"),
    made: [...document.querySelectorAll("main img, main script, main iframe, main b, main object," +
      "main [onerror], a[href^='javascript'], a[href^='http'], a[href^='//']")]
      .map((one) => one.outerHTML),
  })`);
}

browserTest(
  "untrusted values are text on every screen: nothing runs and nothing loads",
  async (t) => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const screens = await prepare(daemon);
    await using console = await startConsole(daemon);
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    const strayed: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(`${console.origin}/`)) strayed.push(request.url());
    });
    page.on("dialog", (dialog) => {
      strayed.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    browser.context.on("page", () => strayed.push("another tab"));
    await settled(page);
    for (const [address, marks] of screens) {
      await t.step(address.slice(0, 40), async () => {
        await page.goto(console.origin + address);
        await page.evaluate(`globalThis.longest = 0;
        new PerformanceObserver((list) => {
          for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
        }).observe({ type: "longtask", buffered: true });`);
        await settled(page);
        for (const mark of marks) await page.getByText(mark).first().waitFor();
        if (marks.includes("yyyy")) {
          await page.getByRole("button", { name: /^Show all [\d,]+ characters$/ }).click();
          ok(await page.locator(".slice").count() > 20, "all of it is there");
          await settled(page);
        }
        const { text, made } = await shown(page);
        deepEqual(made, []);
        deepEqual(HIDDEN.exec(text)?.[0], undefined);
        const longest = Number(await page.evaluate("longest"));
        ok(longest < BUSY_MS, `the page was busy for ${longest} ms`);
        // The browser's report of a missing record.
        const faults = browser.faults.splice(0);
        deepEqual(faults.filter((one) => !one.includes("404 (Not Found)")), []);
      });
    }
    deepEqual(strayed, []);
  },
);
