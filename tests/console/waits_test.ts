/**
 * The waits on the page of a task, in a browser: which events came near, and a question about a budget.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import { browserTest, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const OPEN = { webhook: { allowUnsigned: true } };

browserTest(
  "a task shows which events came near, and leads to the question of a step",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const ci = { trigger: "checks", match: { "payload.sha": "a1" }, timeout: "2h" };
    await daemon.apply(
      {
        kind: "Agent",
        metadata: { name: "claude" },
        spec: {
          command: "cat",
          timeout: 60,
          sandbox: "none",
          budget: [{ runs: 1, per: "month" }],
          onBudget: { ask: { by: ["socket"] } },
        },
      },
      {
        kind: "Trigger",
        metadata: { name: "checks" },
        spec: { event: { source: "webhook", ...OPEN } },
      },
      {
        kind: "Workflow",
        metadata: { name: "fix" },
        spec: {
          steps: [
            { id: "one", agent: "claude", prompt: "p" },
            { id: "two", agent: "claude", prompt: "p", needs: ["one"] },
            { id: "ci", waitFor: ci, needs: ["one"] },
          ],
        },
      },
      trigger("fix", { ...OPEN, workflow: "fix" }),
    );
    const { json } = await daemon.send("/webhook/fix", { body: "{}" });
    const id = String(json["task_id"]);
    await until("a task that waits", async () => {
      const task = await daemon.json("get", "task", id) as Record<string, unknown>;
      return task["state"] === "waiting" || undefined;
    });
    equal((await daemon.send("/webhook/checks", { body: '{"sha":"zz"}' })).status, 200);
    await using console = await startConsole(daemon);
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    await page.goto(`${console.origin}/task/${id}`);
    const waits = page.getByRole("region", { name: "Waits", exact: true });
    await waits.getByText("payload.sha is").waitFor();
    match(await waits.innerText(), /payload\.sha is "zz", and it wants "a1"/);
    await waits.getByRole("link", { name: "Answer" }).click();
    await page.getByText("Another 1 run this month for agent/claude?").first().waitFor();
  },
);
