/**
 * Notifications of a running daemon: each failure of a task arrives, also of one that never got as
 * far as a step, also after a stop; and `notification.test` tries every target.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { standardWebhooksSignature } from "../../src/signatures/standard_webhooks.ts";
import { runCli } from "../../src/cli/run.ts";
import { screen } from "../rigs/screen.ts";
import { fakeSmtp } from "../fakes/smtp.ts";
import { textsIn } from "../helpers/stored_texts.ts";
import { until } from "../helpers/until.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const BASE = `
kind: SecretStore
metadata: {name: keys}
spec: {data: {sign: "${WHSEC}", hook: "a secret of twenty bytes and more"}}
---
kind: Workspace
metadata: {name: w}
spec: {path: workspaces/default}
---
kind: Workflow
metadata: {name: bad}
spec: {steps: [{id: a, run: "exit 3"}]}
---
kind: Workflow
metadata: {name: good}
spec: {steps: [{id: a, run: "true"}]}
`;

function trigger(name: string, workflow: string, workspace = "w"): string {
  return `
---
kind: Trigger
metadata: {name: ${name}}
spec:
  event: {source: cron, cron: {schedule: "0 0 1 1 *"}}
  action: {workflow: ${workflow}, workspace: ${workspace}}
`;
}

function notification(url: string, more = ""): string {
  return `
kind: Notification
metadata: {name: me}
spec:
  on: [task.failed, task.recovered]
  every: 0
  to:
    - webhook: {url: "${url}", secret: {fromSecret: {store: keys, key: sign}}}
${more}`;
}

interface Told {
  readonly type: string;
  readonly title: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A receiver that checks the signature of what it takes. */
function receiver() {
  const told: Told[] = [];
  const ids: string[] = [];
  const it = { status: 204 };
  const running = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const body = new Uint8Array(await request.arrayBuffer());
      const verdict = await standardWebhooksSignature.verify(
        {
          body,
          header: (name) => request.headers.get(name) ?? undefined,
          now: Date.now(),
          url: "",
          arrivedUrl: "",
        },
        [{ name: "sign", value: WHSEC }],
        { signatureHeader: "webhook-signature", toleranceSecs: 300 },
      );
      if (!verdict.ok) return new Response(verdict.reason, { status: 401 });
      if (it.status < 300) {
        told.push(JSON.parse(new TextDecoder().decode(body)));
        ids.push(request.headers.get("webhook-id") ?? "");
      }
      return new Response(null, { status: it.status });
    },
  );
  return {
    url: `http://127.0.0.1:${running.addr.port}/hook`,
    told,
    ids,
    it,
    [Symbol.asyncDispose]: () => running.shutdown(),
  };
}

async function fire(rig: ControlRig, name: string): Promise<void> {
  await rig.client.call("trigger.fire", { name, payload: "{}" });
}

controlTest("every failure of a task is told, with a step or without", async (rig) => {
  await using hook = receiver();
  await rig.apply(
    BASE +
      trigger("fails", "bad") + trigger("works", "good") + trigger("planless", "missing") +
      trigger("homeless", "good", "gone"),
    notification(hook.url),
  );
  await rig.client.call("apply", {
    files: [{
      name: "w.yaml",
      text: "kind: Workspace\nmetadata: {name: gone}\nspec: {path: /nonexistent/here}",
    }],
    dry_run: false,
  });
  for (const name of ["fails", "works", "planless", "homeless"]) await fire(rig, name);
  await until("three messages", () => hook.told.length >= 3 ? true : undefined);
  const byTrigger = new Map(hook.told.map((one) => [one.data["trigger"], one]));
  deepEqual([...byTrigger.keys()].toSorted(), ["fails", "homeless", "planless"]);
  equal(byTrigger.get("fails")?.title, "Workflow bad of trigger fails failed");
  equal(byTrigger.get("fails")?.data["step"], "a");
  match(byTrigger.get("planless")?.message ?? "", /Workflow "missing"/);
  match(byTrigger.get("homeless")?.message ?? "", /nonexistent/);
  equal(new Set(hook.ids).size, 3, "each once");
});

controlTest(
  "a message that could not be sent waits on disk, and is sent after a restart",
  async (rig) => {
    await using hook = receiver();
    hook.it.status = 503;
    await rig.apply(BASE + trigger("fails", "bad"), notification(hook.url));
    await fire(rig, "fails");
    const outbox = async () => (await rig.client.call("get", { what: "outbox" })).items;
    await until(
      "a first try",
      async () => /503/.test(JSON.stringify(await outbox())) ? true : undefined,
    );
    equal(hook.told.length, 0);
    await rig.restart();
    hook.it.status = 204;
    const [message] = await outbox();
    ok(message !== undefined);
    await rig.client.call("outbox.retry", { id: String((message as { id: unknown }).id) });
    await until("message 1", () => hook.told.length === 1 ? true : undefined);
    equal(hook.told[0]?.data["trigger"], "fails");
  },
);

controlTest("the first success after a failure is told", async (rig) => {
  await using hook = receiver();
  await rig.apply(BASE + trigger("job", "bad"), notification(hook.url));
  await fire(rig, "job");
  await until("message 1", () => hook.told.length === 1 ? true : undefined);
  const mended = "kind: Workflow\nmetadata: {name: bad}\nspec: {steps: [{id: a, run: 'true'}]}";
  await rig.apply(mended);
  await fire(rig, "job");
  await until("message 2", () => hook.told.length === 2 ? true : undefined);
  deepEqual(hook.told.map(({ type }) => type), ["task.failed", "task.recovered"]);
  equal(hook.told[1]?.title, "Workflow bad of trigger job works again");
});

controlTest(
  "notification.test tries every target, and the reason says what is wrong",
  async (rig) => {
    await using hook = receiver();
    await using smtp = fakeSmtp();
    const more = `    - email: {server: "smtp://127.0.0.1:${smtp.port}", from: s@e.x, to: [a@e.x]}
    - webhook: {url: "${hook.url}"}
    - slack: {connection: chat, channel: C0123456789}
`;
    await rig.apply(BASE, notification(hook.url, more));
    const { messages } = await rig.client.call("notification.test", { name: "me" });
    deepEqual(messages.map(({ target }) => target), [
      "webhook 1",
      "email 2",
      "webhook 3",
      "slack 4",
    ]);
    const results = await Promise.all(messages.map(async ({ outbox_id: id }) => {
      for await (const { state, reason } of rig.client.stream("outbox.wait", { id })) {
        if (state !== "pending") return `${state} ${reason}`;
      }
      return "";
    }));
    deepEqual(results.slice(0, 2), ["sent ", "sent "]);
    match(results[2] ?? "", /^failed 127\.0\.0\.1:\d+ answered 401: signature_header_missing/);
    match(results[3] ?? "", /^failed No Connection "chat" to Slack/);
    deepEqual([hook.told[0]?.type, hook.told[0]?.title], ["test", "A test of Notification me"]);
    match(smtp.mails[0]?.data ?? "", /Subject: A test of Notification me/);
    const missing = await rig.client.call("notification.test", { name: "nobody" })
      .then(() => "", (error) => error.message);
    equal(missing, 'No Notification "nobody" in project "default"');
  },
);

/** A server that repeats the address in what it refuses, once as it is and once as nobody knows it. */
function echoing() {
  const running = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    const said = `${pathname}${search} is gone: ${[...pathname].reverse().join("")}`;
    return new Response(said, { status: 403 });
  });
  return {
    url: `http://127.0.0.1:${running.addr.port}`,
    [Symbol.asyncDispose]: () => running.shutdown(),
  };
}

controlTest("a secret address or password in a server's answer is shown nowhere", async (rig) => {
  await using hook = echoing();
  const password = "s3cret of the mail";
  const login = btoa(`\0svc\0${password}`);
  await using smtp = fakeSmtp({ auth: `535 5.7.8 ${password} of ${login} is wrong` });
  await rig.apply(
    `kind: SecretStore
metadata: {name: keys}
spec: {data: {url: "${hook.url}/hooks/blue-owl?via=k7zq", password: "${password}"}}`,
    `kind: Notification
metadata: {name: me}
spec:
  on: [task.failed]
  every: 0
  to:
    - webhook: {url: {fromSecret: {store: keys, key: url}}}
    - webhook: {url: "${hook.url}/plain/red-fox"}
    - email:
        server: "smtp://127.0.0.1:${smtp.port}"
        user: svc
        password: {fromSecret: {store: keys, key: password}}
        from: s@e.x
        to: [a@e.x]
`,
    BASE.replace("{name: keys}", "{name: others}") + trigger("fails", "bad"),
  );
  const { io, text } = screen(false);
  Object.assign(io, { onStop: () => ({ [Symbol.dispose]() {} }) });
  equal(await runCli(["notification", "test", "me", "--data-dir", rig.dirs.root], io), 1, text.err);
  const { host } = new URL(hook.url);
  match(text.out, new RegExp(`^webhook 1: not sent: ${host} answered 403$`, "m"));
  match(
    text.out,
    new RegExp(`^webhook 2: not sent: ${host} answered 403: /plain/red-fox is gone`, "m"),
  );
  match(text.out, /^email 3: not sent: .*535 5\.7\.8 \*\*\* of .* is wrong$/m);

  await fire(rig, "fails");
  const outbox = () => rig.client.call("get", { what: "outbox", limit: 99 });
  await until("all are given up", async () => {
    const { items } = await outbox();
    return items.length >= 6 && items.every((one) => one["state"] === "failed") ? true : undefined;
  });
  const [first, audit] = [await outbox(), await rig.client.call("get", { what: "audit" })];
  const texts = [
    ["svc notification test", text.out + text.err] as const,
    ["svc get outbox", JSON.stringify(first)] as const,
    ["svc get audit", JSON.stringify(audit)] as const,
    ["the log", rig.logged.join("\n")] as const,
    ...await textsIn(rig.dirs.root),
  ];
  match(JSON.stringify(first), /plain\/red-fox is gone/);
  const secret = ["blue-owl", "lwo-eulb", "k7zq", "qz7k", password, login];
  for (const one of secret) {
    const found = texts.filter(([, all]) => all.includes(one)).map(([where]) => where);
    deepEqual(found, [], one);
  }
});
