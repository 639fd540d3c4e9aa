/**
 * The way of a team in a browser: a link in a message leads through the login at a real provider of OpenID
 * Connect to the question, which is answered there in the name of the Person; and a Person who gets a
 * lower role in the midst of it can answer no more.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { Page } from "playwright-core";
import {
  BROWSER,
  browserTest,
  picture,
  startBrowser,
  type TestBrowser,
} from "../helpers/browser.ts";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { trigger } from "../helpers/manifests.ts";
import { freePort } from "../helpers/postgres_server.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import {
  CLIENT,
  logInAtProvider,
  type RealProvider,
  startProvider,
} from "../rigs/real_provider.ts";
import { ada, type TeamRig, teamRig } from "../rigs/team_rig.ts";

const DEPLOY = {
  kind: "Workflow",
  metadata: { name: "deploy" },
  spec: {
    steps: [
      { id: "ok", approval: { ask: "Deploy to production?", by: ["@ops"] } },
      { id: "deploy", run: "true", needs: ["ok"] },
    ],
  },
};

/** The console of a team whose people log in at a real provider, and a browser. */
interface Scene extends AsyncDisposable {
  readonly rig: TeamRig;
  readonly provider: RealProvider;
  readonly browser: TestBrowser;
  /** Where browsers find the console. */
  readonly origin: string;
}

async function open(): Promise<Scene> {
  await using opening = new AsyncDisposableStack();
  const dir = opening.use(await tempDir());
  await makePair(dir.path, "page", "DNS:svc.example.com");
  const port = freePort();
  const origin = `https://svc.example.com:${port}`;
  const provider = opening.use(await startProvider(freePort(), `${origin}/login/id/callback`));
  const rig = opening.use(
    await teamRig(ONE_PROGRAM, {
      origin,
      bind: `127.0.0.1:${port}`,
      args: ["--tls-cert", `${dir.path}/page.crt`, "--tls-key", `${dir.path}/page.key`],
      login: `login:
  - name: id
    oidc: {issuer: "${provider.issuer}", clientId: ${CLIENT.id}, clientSecretFile: secret}
`,
      env: { DENO_CERT: provider.certFile },
    }),
  );
  await rig.daemon.apply(ada("operator", `oidc:${provider.issuer}#ada`, ["ops"]), DEPLOY);
  await rig.daemon.apply(trigger("go", { workflow: "deploy" }));
  const browser = opening.use(
    await startBrowser({
      args: ["--ignore-certificate-errors", "--host-resolver-rules=MAP svc.example.com 127.0.0.1"],
    }),
  );
  const moved = opening.move();
  return { rig, provider, browser, origin, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

/** Fires the trigger; gives the id of the task once it asks. */
async function ask({ daemon }: TeamRig): Promise<string> {
  equal((await daemon.svc(["trigger", "fire", "go"])).code, 0);
  return await until("the question", async () => {
    const [task] = await daemon.tasks();
    return task?.state === "waiting" ? task.id : undefined;
  });
}

/** Opens a message of another site, and clicks its link to a page of the console. */
async function clickLink({ browser, origin }: Scene, path: string): Promise<Page> {
  const message = `<p>ada: <a href="${origin}${path}">Deploy to production?</a></p>`;
  await browser.context.route(
    "https://chat.example/",
    (route) => route.fulfill({ contentType: "text/html", body: message }),
  );
  const page = await browser.open("https://chat.example/");
  await page.getByRole("link", { name: "Deploy to production?" }).click();
  return page;
}

const skip = BROWSER === "" ? undefined : NO_OPENSSL;

browserTest(
  "a link in a message leads through a real provider to the question and its answer",
  async () => {
    await using scene = await open();
    const { rig, provider, origin } = scene;
    scene.browser.expects(/Failed to load resource: (.*401|net::ERR_NAME_NOT_RESOLVED)/);
    const task = await ask(rig);
    const page = await clickLink(scene, `/approvals/${task}/ok`);
    await page.getByPlaceholder("Enter any login").waitFor();
    equal(new URL(page.url()).origin, provider.issuer);
    await picture(page, "team-login-at-provider");
    await logInAtProvider(page, "ada");

    await page.getByRole("heading", { name: "deploy: ok" }).waitFor();
    const place = new URL(page.url());
    deepEqual([place.origin, place.pathname, place.hash], [origin, `/approvals/${task}/ok`, ""]);
    await picture(page, "team-approval");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Approve" });
    await dialog.getByRole("button", { name: "Approve", exact: true }).click();
    await until("the end", async () => {
      const [{ state = "" } = {}] = await rig.daemon.tasks();
      return state === "succeeded" || undefined;
    });
    const answers = page.getByRole("list", { name: "Answers" });
    await answers.getByText("ada (console): approved").waitFor();
    await picture(page, "team-approved");

    await answers.getByRole("link", { name: "ada (console)" }).click();
    const rows = page.getByRole("table");
    await rows.getByText("approval.answer").waitFor();
    await rows.getByText("person.login").waitFor();
    equal(new URL(page.url()).search, "?caller=ada");
    await page.getByText("svc get control-audits --caller ada").waitFor();
    equal(await rows.getByText("token.create").count(), 0, "an admin did that");
    await picture(page, "team-audit");
    const shown = await rig.daemon.svc(["get", "control-audit", "--caller", "ada", "-o", "json"]);
    const done = JSON.parse(shown.stdout) as Record<string, unknown>[];
    deepEqual(done.map(({ operation, caller, client }) => [operation, caller, client]), [
      ["approval.answer", "ada", "console"],
      ["person.login", "ada", "console"],
    ]);

    const beside = await scene.browser.open(`${origin}/task/${task}?step=ok`);
    await beside.getByRole("link", { name: "ada (console)" }).waitFor();
    await picture(beside, "team-task");
    await page.getByRole("button", { name: "ada", exact: true }).click();
    const mine = page.getByRole("dialog", { name: "Your login" });
    await mine.getByText("You are logged in as ada, with the role operator.").waitFor();
    await picture(page, "team-who");
    await mine.getByRole("button", { name: "Log out" }).click();
    for (const one of [page, beside]) await one.getByText("You are logged out").waitFor();
    await picture(page, "team-logged-out");
    // The provider still knows her: no password, and back where she was.
    await beside.getByRole("button", { name: "Log in again" }).click();
    await beside.getByRole("link", { name: "ada (console)" }).waitFor();
    equal(new URL(beside.url()).pathname + new URL(beside.url()).search, `/task/${task}?step=ok`);
  },
  { isLong: true, skip },
);

browserTest(
  "a Person who gets a lower role while a question is open can neither answer nor act any more",
  async () => {
    await using scene = await open();
    const { rig, provider } = scene;
    scene.browser.expects(/Failed to load resource: .*(401|403|422)|stream|net::ERR/i);
    const task = await ask(rig);
    const page = await clickLink(scene, `/approvals/${task}/ok`);
    await logInAtProvider(page, "ada");
    await page.getByRole("heading", { name: "deploy: ok" }).waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Approve" });
    await rig.daemon.apply(ada("read_only", `oidc:${provider.issuer}#ada`));
    await dialog.getByRole("button", { name: "Approve", exact: true }).click();
    await dialog.getByText(/ada \(console\) is not among those who may answer/).waitFor();
    await picture(page, "team-demoted");
    await dialog.getByRole("button", { name: "Keep it as it is" }).click();
    await page.getByRole("link", { name: task }).click();
    const cancel = page.getByRole("button", { name: "Cancel", exact: true });
    await page.locator("button[title='Your role is read_only, and this needs operator']").first()
      .waitFor();
    equal(await cancel.isDisabled(), true);
    await picture(page, "team-demoted-task");
    const [{ state = "" } = {}] = await rig.daemon.tasks();
    equal(state, "waiting");
  },
  { isLong: true, skip },
);
