/**
 * `svc delivery show`: what was kept of a delivery, exactly, and nothing with which somebody could
 * send in its name.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const SECRET = "correct-horse-battery-staple";
const SIGNED = { secret: { fromRef: "github" }, signatureHeader: "X-Hub-Signature-256" };
/** A body whose spelling no parser keeps, with text that would drive a terminal. */
const BODY = '{ "ref":"refs/heads/main",\t"n":1.0, "it\'s":"\u202e\u009b2J é" }\n';

async function prepared(daemon: TestDaemon, run = "true"): Promise<void> {
  await daemon.apply(
    secretStore("github", { webhook_secret: SECRET }),
    workflow("record", run),
    trigger("push", { webhook: SIGNED }),
    trigger("kept", { webhook: { ...SIGNED, recordRejected: true } }),
  );
}

async function send(daemon: TestDaemon, body = BODY, name = "push"): Promise<string> {
  const more = { "x-github-event": "push", "x-empty": "" };
  const headers = { ...githubHeaders(SECRET, body), ...more, "x-note": `it is ${SECRET}` };
  const { json, text } = await daemon.send(`/webhook/${name}`, { body, headers });
  equal(json["status"], "accepted", text);
  return String(json["delivery_id"]);
}

async function rejected(daemon: TestDaemon, name: string): Promise<string> {
  return await until("the record of the refusal", async () => {
    const found = await daemon.json("get", "deliveries", "--outcome", "rejected") as {
      id: string;
      trigger: string;
    }[];
    return found.find((one) => one.trigger === name)?.id;
  });
}

/** The words of a command line, as a shell reads them. */
async function wordsOf(line: string): Promise<string[]> {
  const script = `curl() { printf '%s\\0' "$@"; }\n${line}`;
  const { stdout } = await new Deno.Command("/bin/sh", { args: ["-c", script] }).output();
  return new TextDecoder().decode(stdout).split("\0").slice(0, -1);
}

programTest("delivery show prints headers and body, the signature masked", async (program) => {
  await using daemon = await startDaemon(program);
  await prepared(daemon);
  const id = await send(daemon);
  const show = async (...args: string[]) => {
    const { code, stdout, stderr } = await daemon.svc(["delivery", "show", id, ...args]);
    deepEqual([code, stderr], [0, ""]);
    return stdout;
  };
  equal(await show("--body"), BODY);
  const headers = await show("--headers");
  match(headers, /^content-type: application\/json$/m);
  match(headers, /^x-github-event: push$/m);
  match(headers, /^x-hub-signature-256: \*\*\*$/m);
  match(headers, /^x-note: it is \*\*\*$/m);
  const all = await show();
  match(
    all,
    new RegExp(`^delivery/${id} to trigger push: accepted\\nreceived .*, [0-9]+ bytes\\nPOST http`),
  );
  ok(all.endsWith(`${headers}\n${BODY}`), all);
  const json = JSON.parse(await show("-o", "json"));
  deepEqual([json.body, json.body_encoding, json.delivery.id], [BODY, "text", id]);
  equal(json.headers["x-hub-signature-256"], "***");
  equal(json.url, `${daemon.url}/webhook/push`);
  equal((await daemon.svc(["delivery", "show", id.slice(0, 20), "--body"])).stdout, BODY);
  const query = `?n=1&token=t1&x=${SECRET}`;
  const { json: asked } = await daemon.send(`/webhook/default/push${query}`, {
    body: "{}",
    headers: githubHeaders(SECRET, "{}"),
  });
  const shown = await daemon.json("delivery", "show", String(asked["delivery_id"]));
  const { url } = shown as { url: string };
  equal(url, `${daemon.url}/webhook/default/push?n=1&token=***&x=***`);

  for (const args of [["--body", "--curl"], ["--headers", "-o", "json"]]) {
    equal((await daemon.svc(["delivery", "show", id, ...args])).code, 2);
  }
  const none = await daemon.svc(["delivery", "show", "01ZZZZ"]);
  equal(none.code, 4);
  match(none.stderr, /^error: No delivery "01ZZZZ": "svc get deliveries" lists them; .*\n$/);
});

programTest("delivery show --curl is a line that sends the same again", async (program) => {
  await using daemon = await startDaemon(program);
  await prepared(daemon);
  const plain = '{"it\'s": "$(reboot) `x` \\" @file"}';
  const line = (await daemon.svc(["delivery", "show", await send(daemon, plain), "--curl"])).stdout;
  const words = await wordsOf(line);
  equal(words.at(-1), `${daemon.url}/webhook/push`);
  equal(words[words.indexOf("--data-raw") + 1], plain);
  const headers = words.filter((_, at) => words[at - 1] === "-H");
  ok(headers.includes("x-github-event: push"), line);
  ok(headers.includes("x-hub-signature-256: ***"), line);
  ok(headers.includes("x-empty;"), line);
  equal(headers.some((one) => /^(host|content-length|connection):/.test(one)), false, line);

  const id = await send(daemon); // no command line holds this body
  const piped = (await daemon.svc(["delivery", "show", id, "--curl"])).stdout;
  match(piped, new RegExp(`^svc delivery show ${id} --body \\| curl .* --data-binary @- http`));

  const fired = await daemon.svc(["trigger", "fire", "push", "-f", "-", "-o", "json"], {
    stdin: '{"by":"hand"}',
  });
  const firedId = JSON.parse(fired.stdout).delivery_id;
  match((await daemon.svc(["delivery", "show", firedId, "--body"])).stdout, /"by": ?"hand"/);
  const refused = await daemon.svc(["delivery", "show", firedId, "--curl"]);
  equal(refused.code, 1);
  match(refused.stderr, new RegExp(`svc delivery redeliver ${firedId}`));
});

programTest("delivery show tells why nothing was kept, and shows what was", async (program) => {
  await using daemon = await startDaemon(program);
  await prepared(daemon);
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const headers = { "content-type": "application/json", "x-hub-signature-256": "sha256=00" };
  for (const name of ["push", "kept"]) {
    equal((await daemon.send(`/webhook/${name}`, { body: bytes, headers })).status, 401);
  }
  const without = await rejected(daemon, "push");
  const nothing = await daemon.svc(["delivery", "show", without]);
  equal(nothing.code, 4);
  equal(
    nothing.stderr,
    `error: Nothing of delivery ${without} was kept: it was rejected; set ` +
      "spec.event.webhook.recordRejected: true and let the sender try again\n",
  );
  const kept = await rejected(daemon, "kept");
  const { body, body_encoding } = await daemon.json("delivery", "show", kept) as {
    body: string;
    body_encoding: string;
  };
  deepEqual([body, body_encoding], [btoa(String.fromCharCode(...bytes)), "base64"]);
  match(
    (await daemon.svc(["delivery", "show", kept])).stdout,
    new RegExp(`\\(256 bytes that are not text: svc delivery show ${kept} --body >FILE\\)\n$`),
  );
  const file = join(daemon.dataDir, "body");
  const shell = await new Deno.Command("/bin/sh", {
    args: ["-c", `"$SVC" delivery show ${kept} --body >"$FILE"`],
    env: { SVC: join(daemon.dataDir, "bin/svc"), FILE: file, SVC_DATA_DIR: daemon.dataDir },
  }).output();
  equal(shell.success, true, new TextDecoder().decode(shell.stderr));
  deepEqual(await Deno.readFile(file), bytes);
});

programTest("delivery show is for operators, and for the task it started", async (program) => {
  await using daemon = await startDaemon(program);
  await prepared(
    daemon,
    'svc delivery show "$SVC_DELIVERY_ID" --body; other=$(cat "$SVC_DATA_DIR/other"); ' +
      'svc delivery show "$other" --body || echo "code $?"',
  );
  await Deno.writeTextFile(join(daemon.dataDir, "other"), "01");
  const other = await send(daemon, '{"other": true}');
  await daemon.settled();
  await Deno.writeTextFile(join(daemon.dataDir, "other"), other);
  const id = await send(daemon, '{"own": true}');
  const task = (await daemon.settled()).find((one) => one.delivery_id === id);
  const { stdout } = await daemon.svc(["task", "logs", task?.id ?? ""]);
  match(stdout, /^\{"own": true\}/);
  match(
    stdout,
    /The run token of a step allows this only with the delivery that started its own task/,
  );
  match(stdout, /code 5/);
  equal(stdout.includes('other": true'), false);

  await Deno.writeTextFile(
    join(daemon.dataDir, "control-plane/uds-policy.yaml"),
    "max_role: read_only\n",
  );
  const refused = await daemon.svc(["delivery", "show", id]);
  equal(refused.code, 5);
  equal(refused.stdout, "");
});
