/**
 * A daemon with one of each thing that the console shows: deliveries of every outcome, a task with
 * branches and a failed step, an answered thread, unsent messages, runs of a plugin.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { githubHeaders } from "./github.ts";
import { hookKind, type Manifest, secretStore, trigger, workflow } from "./manifests.ts";
import { ONE_PROGRAM, ROOT } from "./program.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "./slack.ts";
import { slackApi } from "../fakes/slack_api.ts";
import { until } from "./until.ts";

/** Secret of the trigger `github-push`. */
export const GITHUB_SECRET = "an example's secret";
/** The `ts` of a post of so many seconds ago. */
const postedAgo = (secs: number) => `${Math.floor(Date.now() / 1000) - secs}.000100`;

/** The daemon, and one of each thing that has a screen. */
export interface ConsoleSamples extends AsyncDisposable {
  readonly daemon: TestDaemon;
  /** A delivery that started {@linkcode task}. */
  readonly delivery: string;
  /** A delivery with a signature that matches no key. */
  readonly rejected: string;
  /** A task whose step `deploy` has failed. */
  readonly task: string;
  /** An event of a thread that belongs to a task and was answered. */
  readonly event: string;
  /** A message that Slack refused. */
  readonly message: string;
  /** A row of the audit of plugins. */
  readonly audit: string;
  /** A row of the audit of the control plane. */
  readonly control: string;
  /** Sends a push of GitHub; returns the status of the answer. */
  readonly push: (
    options?: { readonly branch?: string; readonly secret?: string },
  ) => Promise<number>;
}

const log = (lines: readonly string[]) => lines.map((line) => `echo '${line}'`).join("\n");

const RELEASE: Manifest = {
  kind: "Workflow",
  metadata: { name: "release" },
  spec: {
    steps: [
      {
        id: "checkout",
        run: `${
          log(["Cloning into tidepool...", "HEAD is now at e31f6c8 Warm the cache"])
        }\nsleep 0.4`,
      },
      {
        id: "lint",
        needs: ["checkout"],
        run: `${log(["Checked 212 files", "No fixes applied."])}\nsleep 0.5`,
      },
      {
        id: "unit-tests",
        needs: ["checkout"],
        run:
          `for n in 1 2 3 4 5 6 7 8; do printf '\\033[32mok\\033[0m      tidepool/part%s\\n' $n; ` +
          `sleep 0.1; done; echo "passed=412" >> "$SVC_OUTPUT"`,
      },
      {
        id: "docs",
        needs: ["checkout"],
        when: "payload.ref == 'refs/heads/docs'",
        run: "make docs",
      },
      {
        id: "build",
        needs: ["lint", "unit-tests"],
        run: `${log(["Building image tidepool:e31f6c8", "=> exporting layers"])}\nsleep 0.5\n` +
          `echo "image=tidepool:e31f6c8" >> "$SVC_OUTPUT"`,
      },
      {
        id: "deploy",
        needs: ["build"],
        retry: { attempts: 2, backoffSecs: 1 },
        run: `${log(["Rolling out tidepool:e31f6c8 to production"])}\nsleep 0.3\n` +
          `printf '\\033[31mError: 2 of 3 instances did not become healthy within 60s\\033[0m\\n' ` +
          `>&2\nexit 3`,
      },
    ],
    finally: [{ id: "report", run: 'echo "The release has ended: $SVC_TASK_ID"' }],
  },
};

const CHAT: Manifest = {
  kind: "Trigger",
  metadata: { name: "chat" },
  spec: {
    event: {
      source: "webhook",
      webhook: {
        secret: { fromRef: "slack-signing" },
        signatureHeader: "X-Slack-Signature",
        slack: { botToken: { fromSecret: { store: "slack", key: "bot" } } },
      },
    },
    action: { workflow: "talk", workspace: "default" },
  },
};

const CONNECTION: Manifest = {
  kind: "Connection",
  metadata: { name: "slack" },
  spec: { slack: { botToken: { fromSecret: { store: "slack", key: "bot" } } } },
};

const NIGHTLY: Manifest = {
  kind: "Trigger",
  metadata: { name: "nightly" },
  spec: {
    event: { source: "cron", cron: { schedule: "0 3 * * *" } },
    action: { workflow: "release", workspace: "default" },
  },
};

const MANIFESTS: readonly Manifest[] = [
  secretStore("github", { current: GITHUB_SECRET, previous: "what it was before" }),
  secretStore("slack-signing", { signing_secret: SLACK_SECRET }),
  secretStore("slack", { bot: "xoxb-an-example" }),
  RELEASE,
  workflow("talk", 'cat "$SVC_PAYLOAD_FILE" > /dev/null'),
  workflow("review", "git fetch --quiet", "make review"),
  hookKind({
    name: "check",
    type: "interceptor",
    phase: "webhook.authenticate",
    command: "scripts/check",
  }),
  trigger("github-push", {
    webhook: {
      secret: { fromRef: "github" },
      signatureHeader: "X-Hub-Signature-256",
      recordRejected: true,
    },
    condition: "payload.ref == 'refs/heads/main'",
    workflow: "release",
  }),
  trigger("partner", { webhook: { crdRef: "Hook" }, workflow: "talk" }),
  trigger("pull-requests", { suspend: true, workflow: "missing-workflow" }),
  CHAT,
  CONNECTION,
  NIGHTLY,
];

/** Starts the daemon, and resolves when every sample is there. */
export async function startConsoleSamples(): Promise<ConsoleSamples> {
  await using opening = new AsyncDisposableStack();
  const slack = opening.use(
    slackApi((_post, nth) =>
      nth === 1
        ? Response.json({ ok: true, ts: "1700000100.000001" })
        : Response.json({ ok: false, error: "channel_not_found" })
    ),
  );
  const daemon = opening.use(
    await startDaemon(ONE_PROGRAM, { args: ["--slack-api-url", slack.url] }),
  );
  await allowPlugins(daemon);
  await daemon.apply(...MANIFESTS);
  const push = await pusher(daemon);
  equal(await push({ branch: "topic/cache" }), 200);
  equal(await push({ secret: "the wrong secret" }), 401);
  equal(await push(), 200);
  await daemon.send("/webhook/partner", { body: "{}", headers: JSON_TYPE });
  await daemon.send("/webhook/nobody-has-this", { body: "{}", headers: JSON_TYPE });
  await talk(daemon);
  const tasks = await daemon.settled();
  const task = tasks.find(({ trigger }) => trigger === "github-push");
  const chat = tasks.find(({ trigger }) => trigger === "chat");
  ok(task !== undefined && chat !== undefined);
  for (const text of ["Staging is up to date: *e31f6c8*", "And so is production"]) {
    equal((await daemon.svc(["slack", "reply", chat.id, "--text", text])).code, 0);
  }
  using client = daemon.client();
  await client.call("describe", { what: "secretstore", name: "github", reveal: true });
  const find = (what: string, fits: (item: Record<string, unknown>) => boolean) =>
    until(`a record among ${what}`, async () => {
      const { items } = await client.call("get", { what, limit: 1000 });
      return items.find(fits)?.["id"] as string | undefined;
    });
  const found = {
    daemon,
    push,
    delivery: task.delivery_id,
    task: task.id,
    rejected: await find(
      "deliveries",
      ({ trigger, outcome }) => trigger === "github-push" && outcome === "rejected",
    ),
    event: await find("source-events", ({ task_id }) => task_id === chat.id),
    message: await find("outbox", ({ state }) => state === "failed"),
    audit: await find("audits", ({ action }) => action === "execute"),
    control: await find("control-audits", () => true),
  };
  const open = opening.move();
  return Object.assign(found, { [Symbol.asyncDispose]: () => open.disposeAsync() });
}

const JSON_TYPE = { "content-type": "application/json" };

async function allowPlugins({ dataDir }: TestDaemon): Promise<void> {
  const policy = "mode: allowlist\nallowed_command_prefixes: [scripts/]\nmax_timeout_secs: 60\n";
  await Deno.writeTextFile(join(dataDir, "plugin-policy.yaml"), policy);
  await Deno.chmod(join(dataDir, "plugin-policy.yaml"), 0o600);
  const script = "#!/bin/sh\necho 'this partner is not known' >&2\nexit 1\n";
  await Deno.mkdir(join(dataDir, "scripts"), { recursive: true });
  await Deno.writeTextFile(join(dataDir, "scripts/check"), script, { mode: 0o700 });
}

async function pusher(daemon: TestDaemon): Promise<ConsoleSamples["push"]> {
  const text = await Deno.readTextFile(join(ROOT, "tests/fixtures/github/push.json"));
  return async ({ branch = "main", secret = GITHUB_SECRET } = {}) => {
    const body = text.replace('"refs/heads/main"', JSON.stringify(`refs/heads/${branch}`));
    const headers = githubHeaders(secret, body, "push");
    return (await daemon.send("/webhook/github-push", { body, headers })).status;
  };
}

/** A thread with a reply, a post that Slack tells of twice, and a join that is ignored. */
async function talk(daemon: TestDaemon): Promise<void> {
  const thread = postedAgo(180);
  const posts = [
    slackMessage({ text: "Deploy docs, please", ts: postedAgo(200), channel: "C0002" }),
    slackMessage({ text: "Nobody listens here", ts: postedAgo(190), channel: "C0003" })
      .replace('"type":"message"', '"type":"message","subtype":"channel_join"'),
    slackMessage({ text: "Which commit is on staging?", ts: thread }),
    slackMessage({ text: "I mean the one with the cache", ts: postedAgo(170), thread }),
  ];
  for (const body of posts) {
    const answer = await daemon.send("/source/slack/default/chat", {
      headers: slackHeaders(body),
      body,
    });
    equal(answer.status, 200, answer.text);
  }
}
