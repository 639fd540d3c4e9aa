/**
 * docs/from-webhook.md: the hook and its manifests do the same, each line of its tables gives what
 * adnanh/webhook would, and each way to sign is accepted and refused as it says.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { parseJson } from "../../src/base/json.ts";
import { compileExpression, scopeOf } from "../../src/cel/expression.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { githubHeaders, signGithub } from "../helpers/github.ts";
import { secretStore, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest, ROOT } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const PAGE = await Deno.readTextFile(join(ROOT, "docs/from-webhook.md"));
const SECRET = "it's a secret of GitHub's";
const TOKEN = "a-long-token-without-spaces";

/** The two cells of each row of a section's table, as they are meant. */
function rowsOf(title: string): [string, string][] {
  const section = PAGE.split(/^## /m).find((one) => one.startsWith(`${title}\n`)) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| ")).slice(1)
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()))
    .map(([left = "", right = ""]): [string, string] => [codeOf(left), codeOf(right)]);
  ok(rows.length > 0, title);
  return rows;
}

const codeOf = (cell: string) => cell.replace(/^`([^`]*)`$/, "$1").replaceAll("\\|", "|");

function blockOf(language: string): string {
  return new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "m").exec(PAGE)?.[1] ?? "";
}

// --- The rules of webhook, as its documentation has them -----------------------------------------

interface Asked {
  readonly payload: Record<string, unknown>;
  readonly header: Record<string, string>;
  readonly url: Record<string, string>;
  readonly remote: string;
}

interface Parameter {
  readonly source: string;
  readonly name: string;
}

interface Rule {
  readonly and?: readonly Rule[];
  readonly or?: readonly Rule[];
  readonly not?: Rule;
  readonly match?: {
    readonly type: string;
    readonly value?: string;
    readonly regex?: string;
    readonly parameter: Parameter;
  };
}

function valueOf({ source, name }: Parameter, asked: Asked): unknown {
  switch (source) {
    case "payload":
      return name.split(".").reduce<unknown>(
        (value, part) => (value as Record<string, unknown> | undefined)?.[part],
        asked.payload,
      );
    case "header":
      return asked.header[name];
    case "url":
      return asked.url[name];
    case "string":
      return name;
    default:
      return name === "method" ? "POST" : asked.remote;
  }
}

function holds(rule: Rule, asked: Asked): boolean {
  if (rule.and !== undefined) return rule.and.every((one) => holds(one, asked));
  if (rule.or !== undefined) return rule.or.some((one) => holds(one, asked));
  if (rule.not !== undefined) return !holds(rule.not, asked);
  const { type, value, regex = "", parameter } = rule.match ?? {};
  if (parameter === undefined) return false;
  const found = valueOf(parameter, asked);
  if (found === undefined) return false;
  if (type === "value") return String(found) === value;
  if (type === "regex") return new RegExp(regex).test(String(found));
  return true; // a signature, which is tried below
}

const ASKED: readonly Asked[] = [
  ...["main", "release-2", "other"].map((branch) => ({
    payload: {
      ref: `refs/heads/${branch}`,
      number: branch === "main" ? 42 : 7,
      deleted: branch === "release-2",
      commits: [{ id: branch }],
    },
    header: { "X-GitHub-Event": branch === "release-2" ? "ping" : "push" },
    url: { region: branch === "main" ? "eu" : "us" },
    remote: "192.0.2.1",
  })),
];

function evaluate(expression: string, { payload, header, url, remote }: Asked): unknown {
  const headers = Object.fromEntries(
    Object.entries(header).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const scope = scopeOf({ payload, headers, query: url, remote, method: "POST" } as never);
  const result = compileExpression(expression).run(scope);
  return result.ok ? result.value : result.error;
}

for (const [from, to] of rowsOf("Values")) {
  Deno.test(`docs/from-webhook.md: ${from} is ${to}`, () => {
    for (const asked of ASKED) {
      deepEqual(evaluate(to, asked), valueOf(parseJson(from) as never, asked));
    }
  });
}

const [A, B] = [rowsOf("Conditions")[0], rowsOf("Conditions")[4]];

for (const [from, to] of rowsOf("Conditions")) {
  Deno.test(`docs/from-webhook.md: ${from} is ${to}`, () => {
    const rule = from.replace(/\bA\b/, A?.[0] ?? "").replace(/\bB\b/, B?.[0] ?? "");
    const condition = to.replace(/\bA\b/, A?.[1] ?? "").replace(/\bB\b/, B?.[1] ?? "");
    const expected = ASKED.map((asked) => holds(parseJson(rule) as Rule, asked));
    deepEqual(ASKED.map((asked) => evaluate(condition, asked)), expected);
    equal(new Set(expected).size, 2, "it lets something through, and something not");
  });
}

Deno.test("docs/from-webhook.md names every property of its hook", () => {
  const named = rowsOf("Properties").map(([name]) => name).join();
  const [hook = {}] = parseJson(blockOf("json")) as unknown as Record<string, unknown>[];
  for (const property of Object.keys(hook)) ok(named.includes(property), property);
});

// --- The whole hook ------------------------------------------------------------------------------

/** What a script sees of its call. */
const SCRIPT = `#!/bin/sh
printf '%s\\n' "$PWD" "$#" "$1" "$2" "$BRANCH" "$REGION" >seen
cp "$EVENT_FILE" event.json
`;

programTest("docs/from-webhook.md: the manifests do what the hook does", async () => {
  await using app = await tempDir();
  await using daemon = await startDaemon(ONE_PROGRAM);
  await Deno.chmod(await app.write("deploy.sh", SCRIPT), 0o755);
  const manifest = blockOf("yaml").replaceAll("/srv/app", app.path);
  const applied = await daemon.svc(["apply", "-f", "-"], { stdin: manifest });
  equal(applied.code, 0, applied.stderr);
  deepEqual(applied.stderr, "");
  const [{ "trigger-rule": rule } = { "trigger-rule": {} }] = parseJson(
    blockOf("json"),
  ) as unknown as { "trigger-rule": Rule }[];
  for (const { payload, ...asked } of ASKED) {
    for (const deleted of [false, true]) {
      const body = JSON.stringify({ ...payload, deleted, head_commit: { id: "abc; reboot" } });
      const { status, json } = await daemon.send("/webhook/deploy?region=eu%20west", {
        body,
        headers: githubHeaders(SECRET, body),
      });
      equal(status, 200);
      const starts = holds(rule, {
        ...asked,
        payload: { ...payload, deleted },
        header: { ...asked.header, "X-Hub-Signature-256": "" },
      });
      equal(json["status"], starts ? "accepted" : "filtered");
      if (!starts) continue;
      const tasks = await daemon.settled();
      equal(tasks.find(({ id }) => id === json["task_id"])?.state, "succeeded");
      deepEqual((await Deno.readTextFile(`${app.path}/seen`)).split("\n").slice(1), [
        "2",
        "abc; reboot",
        "production",
        String(payload["ref"]),
        "eu west",
        "",
      ]);
      equal(await Deno.readTextFile(`${app.path}/event.json`), body);
    }
  }
  const forged = await daemon.send("/webhook/deploy", {
    body: "{}",
    headers: githubHeaders("another secret", "{}"),
  });
  equal(forged.status, 401);
  equal((await daemon.send("/webhook/deploy", { method: "GET" })).status, 405);
});

/** What a sender of such a rule puts into its header. */
function signed(rule: string, secret: string, body: string): Record<string, string> {
  const [, algorithm, header = ""] = /(?:hmac-(sha\d+)`|`value`) (?:in|of the header) `([^`]+)`/
    .exec(rule) ?? [];
  if (rule.startsWith("`ip-whitelist`")) return { "x-webhook-signature": signGithub(secret, body) };
  if (header === "") return {};
  const value = algorithm === undefined
    ? secret
    : `${algorithm}=${createHmac(algorithm, secret).update(body).digest("hex")}`;
  return { [header]: value };
}

programTest("docs/from-webhook.md: each way to sign is accepted and refused", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(secretStore("keys", { webhook: TOKEN }), workflow("none", ":"));
  let count = 0;
  for (const [rule, webhook] of rowsOf("Signatures and addresses")) {
    const name = `way-${++count}`;
    const manifest = `
kind: Trigger
metadata: {name: ${name}}
spec:
  event: {source: webhook, webhook: ${webhook}}
  action: {workflow: none, workspace: default}
`;
    const applied = await daemon.svc(["apply", "-f", "-"], { stdin: manifest });
    equal(applied.code, 0, applied.stderr);
    const status = async (secret: string, sent = rule) => {
      const body = JSON.stringify({ rule, secret });
      const headers = { "content-type": "application/json", ...signed(sent, secret, body) };
      return (await daemon.send(`/webhook/${name}`, { body, headers })).status;
    };
    equal(await status(TOKEN), 200, rule);
    if (rule === "no rule at all") continue;
    equal(await status("another"), 401, rule);
    equal(await status(TOKEN, "nothing"), 401, rule);
  }
  ok(count >= 8);
  const described = await daemon.svc(["get", "deliveries", "--trigger", "way-1"]);
  match(described.stdout, /accepted/);
});
