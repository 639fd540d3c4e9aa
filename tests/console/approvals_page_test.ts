/**
 * Approvals in a browser: the question is shown as text, with its fields, and answered there, once.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { git } from "../rigs/git_repository.ts";

const MARKUP = "<img src=//elsewhere.invalid/x onerror=alert(1)>";
const WORKFLOW = {
  kind: "Workflow",
  metadata: { name: "deploy" },
  spec: {
    steps: [{
      id: "ok",
      approval: {
        ask: `Deploy ${MARKUP} to production?`,
        by: ["socket"],
        fields: { where: { type: "choice", of: ["eu", "us"], default: "eu" } },
      },
    }, { id: "deploy", run: "true", needs: ["ok"] }],
  },
};

browserTest("a question is shown as text with its fields, and answered once", async (t) => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(WORKFLOW, trigger("go", { workflow: "deploy" }));
  equal((await daemon.svc(["trigger", "fire", "go"])).code, 0);
  using client = daemon.client();
  const stateOf = async () => (await client.call("get", { what: "tasks" })).items[0]?.["state"];
  await until("the question", async () => await stateOf() === "waiting" || undefined);
  await using served = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(served.link);

  await t.step(
    "the first screen and the page of its task say what waits, and for whom",
    async () => {
      const questions = page.getByRole("region", { name: "Questions" });
      await questions.getByText(`Deploy ${MARKUP} to production?`).waitFor();
      const waiting = page.getByRole("region", { name: "Waiting" });
      await waiting.getByText(/^step ok asks socket until /).waitFor();
      await picture(page, "now-waiting");
      await waiting.getByRole("link", { name: "deploy" }).click();
      const waits = page.getByRole("region", { name: "Waits", exact: true });
      await waits.getByText(/asks socket until /).waitFor();
      await picture(page, "task-waiting");
      await waits.getByRole("link", { name: "Answer" }).click();
      await page.getByRole("heading", { name: "deploy: ok" }).waitFor();
      await page.getByText("1 of socket").waitFor();
    },
  );

  await t.step("the list names it, and leads to it", async () => {
    await page.getByRole("link", { name: "Approvals" }).first().click();
    const link = page.getByRole("link", { name: `Deploy ${MARKUP} to production?` });
    await link.waitFor();
    await picture(page, "approvals");
    await link.click();
    await page.getByRole("heading", { name: "deploy: ok" }).waitFor();
    equal(await page.locator("img").count(), 0);
  });

  await t.step(
    "an answer with its field lets the task go on, and is shown as its end",
    async () => {
      await page.getByLabel("where").selectOption("us");
      await page.getByLabel("Comment").fill("go");
      await picture(page, "approval");
      await page.getByRole("button", { name: "Approve", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Approve" });
      await dialog.getByRole("button", { name: "Approve", exact: true }).click();
      await until("answered", async () => await stateOf() !== "waiting" || undefined);
      await until("the end", async () => await stateOf() === "succeeded" || undefined);
      equal(await page.getByRole("button", { name: "Reject", exact: true }).isDisabled(), true);
    },
  );
});

browserTest("a change that is not shown whole is approved in a terminal", async () => {
  await using home = await tempDir();
  await git(home.path, "init", "--quiet");
  await git(home.path, "commit", "--quiet", "--allow-empty", "-m", "one");
  await using daemon = await startDaemon(ONE_PROGRAM);
  const approval = { ask: "Push?", by: ["socket"], diff: true };
  await daemon.apply(
    {
      kind: "Workspace",
      metadata: { name: "default" },
      spec: { path: home.path, isolation: "worktree" },
    },
    {
      kind: "Workflow",
      metadata: { name: "deploy" },
      spec: { steps: [{ id: "fix", run: 'printf "\\0" >picture' }, { id: "ok", approval }] },
    },
    trigger("go", { workflow: "deploy" }),
  );
  equal((await daemon.svc(["trigger", "fire", "go"])).code, 0);
  const { id } = await until("the question", async () => {
    const [task] = await daemon.tasks();
    return task?.state === "waiting" ? task : undefined;
  });
  await using served = await startConsole(daemon);
  await using browser = await startBrowser();
  const page = await browser.open(served.link);
  await page.getByRole("link", { name: "Approvals" }).first().click();
  await page.getByRole("link", { name: "Push?" }).click();
  await page.getByText('[Not shown: what is in "picture": no text]').waitFor();
  const isDisabled = (name: string) => page.getByRole("button", { name, exact: true }).isDisabled();
  equal(await isDisabled("Approve"), true);
  equal(await isDisabled("Reject"), false);
  await page.getByText(`svc task approve ${id} ok`, { exact: true }).waitFor();
}, { skip: missing("git") });
