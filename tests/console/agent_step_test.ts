/**
 * A step that ran an agent, in a browser: its sandbox in words, what it reached, what the agent told, and
 * its events as the agent printed them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { browserTest, picture, startBrowser, startConsole } from "../helpers/browser.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore, trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { always, ok as answered, rawServer } from "../rigs/egress_rig.ts";
import { settled } from "./every_screen.ts";
import { overflow, violations } from "./for_everyone.ts";

const KEY = "sesame-of-the-api";
const RESULT = "All <b>done</b>.\nSee \u202egpj.exe";
const EVENTS = [
  { type: "system", subtype: "init", session_id: "s-1" },
  { type: "assistant", message: { content: [{ type: "text", text: "I <i>look</i>" }] } },
  { type: "result", is_error: false, result: RESULT, total_cost_usd: 0.25 },
];

/** An agent that asks its API, tries another host, and prints events. */
const CODER = `#!/bin/bash
request() { # PORT LINE HOST: bash connects by itself, a fresh machine has no curl
  exec 3<>"/dev/tcp/$1/3128"
  printf '%s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' "$2" "$3" >&3
  cat <&3 >/dev/null
}
if [ -n "$API" ]; then
  request 127.0.0.2 "POST /v1/messages" "\${API#http://}"
  request 127.0.0.1 "CONNECT evil.example:443" evil.example:443
fi
cat <<'EVENTS'
${EVENTS.map((event) => JSON.stringify(event)).join("\n")}
EVENTS
`;

async function runTask(daemon: TestDaemon, ...manifests: readonly Manifest[]): Promise<string> {
  await Deno.writeTextFile(join(daemon.workspace, "coder"), CODER);
  await daemon.apply(
    secretStore("keys", { api: KEY }),
    ...manifests,
    trigger("fix", { workflow: "fix", webhook: { allowUnsigned: true } }),
  );
  const { json } = await daemon.send("/webhook/fix", { body: "{}" });
  await daemon.settled();
  return String(json["task_id"]);
}

const agent = (sandbox?: unknown): Manifest => ({
  kind: "Agent",
  metadata: { name: "coder" },
  spec: { command: "bash coder", output: "claude", ...sandbox === undefined ? {} : { sandbox } },
});

const workflow = (fields: object = {}, ...more: readonly object[]): Manifest => ({
  kind: "Workflow",
  metadata: { name: "fix" },
  spec: { steps: [{ id: "fix", agent: "coder", prompt: "p", ...fields }, ...more] },
});

/** The facts of the panel, by name. */
async function facts(page: Page): Promise<Record<string, string>> {
  return await page.evaluate(`Object.fromEntries([...document.querySelectorAll(".panel dt")]
    .map((name) => [name.innerText, name.nextElementSibling.innerText]))`);
}

const panel = (page: Page) => page.locator(".panel");

browserTest("a step that ran an agent shows what held it, what it reached and told", async () => {
  await using api = rawServer(
    always(answered(
      '{"usage":{"input_tokens":1200,"output_tokens":34}}',
      "Content-Type: application/json",
    )),
  );
  await using daemon = await startDaemon(ONE_PROGRAM);
  const url = `http://127.0.0.1:${api.port}`;
  const headers = { "x-api-key": { fromSecret: { store: "keys", key: "api" } } };
  const manifests: readonly Manifest[] = [
    {
      kind: "Sandbox",
      metadata: { name: "agents" },
      spec: { network: { inject: [{ url, env: "API", headers, paths: ["/v1/messages"] }] } },
    },
    agent("agents"),
    workflow({ session: { key: "'one'" } }, { id: "push", sandbox: "none", run: "echo pushed" }),
  ];
  const before = await runTask(daemon, ...manifests);
  const id = await runTask(daemon, ...manifests);
  await using console = await startConsole(daemon, [`task/${id}`]);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  await page.getByRole("button", { name: "Step fix: succeeded" }).click();
  await settled(page);

  const shown = await facts(page);
  deepEqual(
    [shown["Kind"], shown["Tokens"], shown["Cost"], shown["Sandbox"], shown["Limits"]],
    ["agent coder", "1200 in, 34 out", "0.25 USD", "agents", "4096 processes unless svc is root"],
  );
  equal(
    shown["Network"],
    `${url} as $API, key added by svc (x-api-key), /v1/messages\nnothing else`,
  );
  const hosts = page.getByRole("table", { name: "Hosts of fix" }).getByRole("row");
  const rows = (await hosts.allInnerTexts()).map((row) => row.split(/\s*\t\s*/));
  deepEqual(
    rows.map(([host, requests, refused, , , tokens]) => [host, requests, refused, tokens]),
    [
      ["Host", "Requests", "Refused", "Tokens"],
      [url, "1", "0", "1200/34"],
      ["evil.example:443", "0", "1", ""],
    ],
  );
  ok(!(await page.content()).includes(KEY));
  match(shown["Session"] ?? "", /^[0-9a-f-]{36}$/);
  await page.getByRole("heading", { name: "Other tasks in its session" }).waitFor();
  const others = panel(page).getByRole("listitem").getByRole("link");
  equal(await others.count(), 1);
  ok((await others.getAttribute("href"))?.endsWith(before));

  // What the agent said is text, with what it hides spelled out.
  const result = page.getByRole("group", { name: "Result of fix" });
  equal(await result.innerText(), "All <b>done</b>.\nSee \\u202egpj.exe");
  const lines = page.getByLabel("Last lines of fix");
  await lines.getByText("I <i>look</i>").waitFor();
  equal(await panel(page).locator("i, b").count(), 0);

  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    deepEqual((await violations(page)).found, [], colorScheme);
    await picture(page, `step of an agent, ${colorScheme}`);
  }
  for (const width of [360, 1280, 3840]) {
    await page.setViewportSize({ width, height: 800 });
    await settled(page);
    deepEqual(await overflow(page), [], `at ${width} pixels`);
    if (width === 360) await picture(page, "step of an agent, narrow");
  }
  await page.setViewportSize({ width: 1280, height: 800 });

  // As the agent printed it, by the keyboard, here and in the log.
  await page.getByRole("button", { name: "Log", exact: true }).focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await lines.getByText('"subtype":"init"').waitFor();
  await page.getByRole("link", { name: "The log of fix" }).click();
  const whole = page.getByRole("region", { name: "Lines of the log" });
  await whole.getByText('"total_cost_usd":0.25').waitFor();
  match(page.url(), /[?&]raw=1/);
  await page.getByText(`svc task logs ${id} --step fix --raw`).waitFor();
  await page.getByRole("checkbox", { name: "As agents printed it" }).click();
  await whole.getByText("I <i>look</i>").waitFor();
  equal(await whole.getByText("total_cost_usd").count(), 0);

  await page.goto(`${console.origin}/task/${id}?step=push`);
  await page.getByText("none, the manifest says so").waitFor();
  await page.getByRole("link", { name: "Tasks" }).first().waitFor();
  equal((await facts(page))["Network"], undefined);

  // The Sandbox is one click away.
  await page.goto(`${console.origin}/task/${id}?step=fix`);
  await panel(page).getByRole("link", { name: "agents" }).click();
  await page.getByRole("heading", { level: 1, name: /agents/ }).waitFor();
}, { skip: NO_SANDBOX });

browserTest("a step says why it runs without the sandbox that it has by default", async () => {
  await using empty = await tempDir();
  for (const name of ["bash", "cat"]) await Deno.symlink(`/bin/${name}`, `${empty.path}/${name}`);
  await using daemon = await startDaemon(ONE_PROGRAM, { env: { PATH: empty.path } });
  const id = await runTask(daemon, agent(), workflow());
  await using console = await startConsole(daemon, [`task/${id}`]);
  await using browser = await startBrowser();
  const page = await browser.open(console.link);
  await page.getByRole("button", { name: "Step fix: succeeded" }).click();
  await page.getByText(/^none, bubblewrap is not installed\. To have one: /).waitFor();
  const shown = await facts(page);
  deepEqual([shown["Network"], shown["Tokens"], shown["Cost"]], [undefined, undefined, "0.25 USD"]);
});
