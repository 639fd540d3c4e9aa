/**
 * The console as somebody uses it whose webhook does not work: a refused delivery of GitHub is found,
 * its cause read, the secret mended in the terminal, the delivery sent again, its task followed to its
 * end, and retried from the step that failed. Pictures of each are kept where they are asked for.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { type Manifest, secretStore, trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";

const SECRET = "the secret that GitHub really has";

const DEPLOY: Manifest = {
  kind: "Workflow",
  metadata: { name: "deploy" },
  spec: {
    steps: [
      { id: "build", run: "echo built" },
      {
        id: "publish",
        run: "until [ -e go ]; do sleep 0.05; done\n" +
          "[ -e credentials ] || { echo 'no credentials'; exit 1; }\necho published",
      },
    ],
  },
};

browserTest(
  "a refused delivery is found, explained, corrected, sent again, followed and retried",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await daemon.apply(
      secretStore("github", { webhook_secret: "what somebody typed by mistake" }),
      DEPLOY,
      trigger("deploy", {
        workflow: "deploy",
        condition: 'payload.ref == "refs/heads/main"',
        webhook: {
          secret: { fromRef: "github" },
          signatureHeader: "X-Hub-Signature-256",
          recordRejected: true,
        },
      }),
    );
    const body = JSON.stringify({ ref: "refs/heads/main", after: "4f0c61d" });
    const headers = githubHeaders(SECRET, body, "push");
    equal((await daemon.send("/webhook/deploy", { body, headers })).status, 401);

    await using console = await startConsole(daemon);
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    await page.getByRole("link", { name: "Deliveries", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Deliveries" }).waitFor();
    await page.getByLabel("Outcome").selectOption("rejected");
    await picture(page, "1-refused-deliveries");
    await page.getByRole("row", { name: "rejected" }).getByRole("link", { name: "deploy" }).click();

    const verdict = page.getByRole("region", { name: "What happened, and what would change it" });
    await verdict.waitFor();
    const cause = await verdict.innerText();
    ok(cause.startsWith("Rejected with 401: the signature fits no key"), cause);
    ok(cause.includes("svc secret set github"), cause);
    await picture(page, "2-its-cause");

    const set = ["secret", "set", "github", "webhook_secret"];
    const mended = await daemon.svc(set, { stdin: SECRET });
    equal(mended.code, 0, mended.stderr);
    await page.getByRole("button", { name: "Send again" }).click();
    const asked = page.getByRole("dialog", { name: "Send again" });
    await asked.getByRole("button", { name: "Send again" }).click();
    await page.getByText("Sent again: accepted").waitFor();
    await picture(page, "3-sent-again");
    await page.getByRole("link", { name: "Open the new delivery" }).click();
    const [task] = await daemon.tasks();
    await page.getByRole("link", { name: task?.id.slice(-6) ?? "" }).click();

    const step = (name: string) => page.getByRole("button", { name: `Step ${name}` });
    await step("build: succeeded").waitFor();
    await step("publish: running").waitFor();
    await picture(page, "4-its-task-runs");
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    await page.getByRole("heading", { level: 1, name: "deploy failed at step publish" }).waitFor();
    await page.getByLabel("Last lines of publish").getByText("no credentials").waitFor();
    await picture(page, "5-it-failed");

    await Deno.writeTextFile(`${daemon.workspace}/credentials`, "");
    await page.getByRole("button", { name: "Retry from publish" }).click();
    const again = page.getByRole("dialog", { name: "Retry from publish" });
    await again.getByRole("button", { name: "Retry from publish" }).click();
    await page.getByRole("heading", { level: 1, name: "deploy succeeded" }).waitFor();
    await picture(page, "6-retried");
    const tasks = await daemon.settled();
    equal(tasks.length, 2);
    equal(tasks[0]?.state, "succeeded");
    await page.close(); // it would report, some time later, that the console has gone
    equal(await console.stop(), 130, "Ctrl-C ends it");
  },
  { isLong: false },
);
