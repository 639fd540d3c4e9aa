/**
 * The first screen, the triggers and the secrets, in a browser on a real daemon.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import {
  type DataDirectory,
  initDataDirectory,
  startDaemon,
  type TestDaemon,
} from "../helpers/daemon.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { changeFile } from "../helpers/sqlite_file.ts";
import { until } from "../helpers/until.ts";

const SECRETS = { current: "the-old-value-of-the-key", next: "the-new-value-of-the-key" };

async function startPrepared(directory?: DataDirectory): Promise<TestDaemon> {
  const daemon = await startDaemon(ONE_PROGRAM, directory === undefined ? {} : { directory });
  await daemon.apply(
    secretStore("github", SECRETS),
    workflow("record", "true"),
    workflow("broken", "exit 3"),
    trigger("push", { condition: 'payload.ref == "main"' }),
    trigger("nightly", { workflow: "broken" }),
    {
      kind: "Trigger",
      metadata: { name: "early" },
      spec: {
        event: { source: "cron", cron: { schedule: "0 3 * * *", timezone: "Asia/Tokyo" } },
        action: { workflow: "record", workspace: "default" },
      },
    },
  );
  return daemon;
}

/** Keeps every byte of every answer that the page gets, streams included. */
function keepAnswers(): void {
  const answers: string[] = [];
  const { fetch } = globalThis;
  Object.assign(globalThis, {
    answers,
    async fetch(...given: Parameters<typeof fetch>) {
      const response = await fetch(...given);
      const [own, kept] = response.body?.tee() ?? [];
      void kept?.pipeThrough(new TextDecoderStream())
        .pipeTo(new WritableStream({ write: (text) => void answers.push(text) })).catch(() => {});
      return new Response(own, response);
    },
  });
}

/** Text of a region, as a reader hears its name. */
async function textOf(page: Page, region: string): Promise<string> {
  return await page.getByRole("region", { name: region, exact: true }).innerText();
}

browserTest(
  "Now shows a failed task, a refused delivery and an address that was meant",
  async () => {
    await using daemon = await startPrepared();
    await using console = await startConsole(daemon);
    await using browser = await startBrowser();
    const page = await browser.open(console.link);
    await page.getByText("Nothing. Since yesterday no task has failed").waitFor();

    // A record that arrives while the screen is open is shown without a reload.
    equal((await daemon.svc(["trigger", "fire", "nightly"])).code, 0);
    for (let times = 0; times < 3; times++) {
      equal((await daemon.send("/webhook/push", { body: "{}" })).status, 401);
    }
    equal((await daemon.send("/webhook/pusch", { body: "{}" })).status, 404);
    await daemon.settled();
    const [failed] = await daemon.tasks();

    await page.getByRole("link", { name: "broken" }).waitFor();
    match(
      await textOf(page, "Failed tasks since yesterday"),
      /broken[\s\S]*from nightly[\s\S]*exit code 3/,
    );
    await until("three refusals as one trouble", async () => {
      const text = await textOf(page, "Rejected deliveries since yesterday");
      return /push[\s\S]*has no header x-hub-signature-256[\s\S]*3 times/.test(text)
        ? true
        : undefined;
    });
    await page.getByRole("link", { name: "/webhook/push" }).waitFor();
    match(await textOf(page, "Requests to unknown paths"), /POST \/webhook\/pusch/);
    await picture(page, "now");

    await page.getByRole("link", { name: "broken" }).click();
    equal(new URL(page.url()).pathname, `/task/${failed?.id}`);
    await page.goBack();
    await page.getByRole("link", { name: "/webhook/push" }).click();
    equal(new URL(page.url()).pathname, "/trigger/default/push");
  },
);

browserTest("a trigger is suspended and resumed, tested and fired in the page", async () => {
  await using daemon = await startPrepared();
  await using console = await startConsole(daemon);
  await using browser = await startBrowser();
  for (let times = 0; times < 2; times++) {
    equal((await daemon.send("/webhook/push", { body: "{}" })).status, 401);
  }
  const page = await browser.open(console.link);
  await page.getByRole("link", { name: "Triggers" }).click();
  const row = page.getByRole("row", { name: /^push/ });
  await row.getByText("2 rejected").waitFor();
  await row.getByText("rejected", { exact: true }).waitFor();
  await page.getByRole("row", { name: /^early/ }).getByText("none yet").waitFor();
  await picture(page, "triggers");
  await page.getByRole("link", { name: "push" }).click();
  await page.getByText(`${daemon.url}/webhook/push`).waitFor();
  await page.getByText('payload.ref == "main"').waitFor();
  const isSuspended = async () => {
    const { spec } = await daemon.json("describe", "trigger", "push") as {
      spec: { suspend?: boolean };
    };
    return spec.suspend === true;
  };
  const press = async (name: string) => {
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
  };

  await press("Suspend");
  await page.locator(".headline").getByText("suspended", { exact: true }).waitFor();
  equal(await isSuspended(), true);
  await press("Resume");
  await page.getByRole("button", { name: "Suspend", exact: true }).waitFor();
  equal(await isSuspended(), false);

  const payload = page.getByRole("textbox", { name: "Payload" });
  await payload.fill('{"ref":"other"}');
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText("It would be filtered").waitFor();
  match(await textOf(page, "Try it"), /key "(current|next)" matched/);
  await picture(page, "trigger");
  deepEqual(await daemon.tasks(), [], "a test starts nothing");

  await payload.fill('{"ref":');
  equal(
    await page.getByRole("button", { name: "Fire", exact: true }).getAttribute("aria-disabled"),
    "true",
  );
  await payload.fill('{"ref":"other"}');
  await press("Fire");
  await page.getByRole("region", { name: "Try it" }).getByText("Fired: filtered").waitFor();
  deepEqual(await daemon.tasks(), []);
  await payload.fill("{}");
  const take = page.getByRole("button", { name: "Use the last delivery's payload" });
  await take.click();
  await until(
    "the payload of the last delivery",
    async () => await payload.inputValue() === '{\n  "ref": "other"\n}' ? true : undefined,
  );
  await payload.fill('{"ref":"main"}');
  await press("Fire");
  const task = await until("the task that was fired", async () => (await daemon.tasks())[0]);
  await page.waitForURL(`**/task/${task.id}`);
  equal(task.trigger, "push");
});

browserTest("a read-only console says so at the actions that it does not offer", async () => {
  await using daemon = await startPrepared();
  await using console = await startConsole(daemon, ["trigger/push", "--read-only"]);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  await page.getByText("This console is read-only: it was started with --read-only").first()
    .waitFor();
  for (const name of ["Suspend", "Fire", "Test"]) {
    const button = page.getByRole("button", { name, exact: true });
    equal(await button.getAttribute("aria-disabled"), "true", name);
    await button.click({ force: true });
  }
  equal(await page.getByRole("dialog").count(), 0);
  equal(await page.getByRole("button", { name: "Use the last delivery's payload" }).count(), 0);
});

browserTest("a schedule shows its next five times", async () => {
  await using daemon = await startPrepared();
  await using console = await startConsole(daemon, ["triggers"]);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  await page.getByRole("link", { name: "early" }).click();
  const times = page.locator(".times li > time");
  await times.nth(4).waitFor();
  const shown = await times.evaluateAll((found) =>
    found.map((one) => one.getAttribute("datetime") ?? "")
  );
  equal(shown.length, 5);
  ok(shown.every((at) => at.endsWith("T18:00:00.000Z")), shown.join());
  const read = await times.allInnerTexts();
  ok(read.every((text) => text.includes("03:00")), `in its own zone: ${read.join()}`);
  equal(new Set(shown).size, 5);
});

browserTest("secrets show which key matched and when, and no value reaches the page", async () => {
  await using daemon = await startPrepared();
  const sent = await daemon.svc(["trigger", "send", "push", "--key", "current", "-f", "-"], {
    stdin: '{"ref":"main"}',
  });
  equal(sent.code, 0, sent.stderr);
  const spares = Array.from({ length: 20 }, (_, at) => secretStore(`spare-${at}`, { token: "t" }));
  await daemon.apply(...spares);
  await using console = await startConsole(daemon);
  await using browser = await startBrowser();
  await browser.context.addInitScript(keepAnswers);
  const page = await browser.open(console.link);
  await page.getByRole("link", { name: "Secrets" }).click();
  const row = page.getByRole("row", { name: /^current/ });
  await row.getByText("in use").waitFor();
  match(await row.innerText(), /current\s+(just now|\d+ [sm] ago)\s+1\s+push\s+in use/);
  match(
    await page.getByRole("row", { name: /^next/ }).innerText(),
    /never\s+0\s+nothing\s+no signature has matched it yet/,
  );
  await page.getByText("svc secret set github KEY").waitFor();
  await picture(page, "secrets");
  // Many stores are no more to watch than one, and a change of one is shown at once.
  await page.getByText("● live").waitFor();
  const spare = page.getByRole("region", { name: "SecretStore spare-19", exact: true });
  await spare.getByRole("row", { name: /^token/ }).waitFor();
  await daemon.apply(secretStore("spare-19", { token: "t", second: "s" }));
  await spare.getByRole("row", { name: /^second/ }).waitFor();

  await page.getByRole("link", { name: "github" }).click();
  await page.getByRole("heading", { name: "github", level: 1 }).waitFor();
  await page.getByRole("row", { name: /^current/ }).waitFor();
  const all = await page.evaluate(
    "globalThis.answers.join('') + document.body.outerHTML",
  ) as string;
  ok(all.includes('"current"') && all.includes('"whole":true'), "it has answers and streams");
  for (const value of Object.values(SECRETS)) {
    equal(all.includes(value), false);
    equal(all.includes(btoa(value)), false);
  }
});

const DAY_MS = 86_400_000;

browserTest("secrets show which key can go, with the command that takes it out", async () => {
  await using directory = await initDataDirectory(ONE_PROGRAM);
  {
    await using daemon = await startPrepared(directory);
    for (const key of ["current", "next"]) {
      const sent = await daemon.svc(["trigger", "send", "push", "--key", key, "-f", "-"], {
        stdin: `{"ref":"main","key":"${key}"}`,
      });
      equal(sent.code, 0, sent.stderr);
    }
    await daemon.settled();
  }
  // The records are moved back by three days.
  changeFile(
    `${directory.path}/svc.db`,
    `UPDATE key_uses SET last_at = last_at - ${4 * DAY_MS} WHERE key = 'current';
     UPDATE resources SET updated_at = updated_at - ${5 * DAY_MS} WHERE kind = 'SecretStore';`,
  );
  await using daemon = await startDaemon(ONE_PROGRAM, { directory });
  await using console = await startConsole(daemon, ["secret/default/github"]);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  const row = page.getByRole("row", { name: /^current/ });
  await row.getByText("it can be removed").waitFor();
  match(await row.innerText(), /4 d ago/);
  const command = await row.locator(".command code").innerText();
  equal(command, "svc tool secret-rotate github --remove current");
  match(await page.getByRole("row", { name: /^next/ }).innerText(), /in use/);

  const removed = await daemon.svc(command.split(" ").slice(1));
  equal(removed.code, 0, removed.stderr);
  await row.waitFor({ state: "detached" });
});
