/**
 * Where secrets could end up, from outside: plugins, a hook and a step print what they know, before
 * and after it is replaced; then everything that is stored and shown is read.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { secretStore, trigger } from "../helpers/manifests.ts";
import { programTest } from "../helpers/program.ts";
import { loggedTexts, textsIn } from "../helpers/stored_texts.ts";
import { untilFile } from "../helpers/until.ts";

const HOOK_KEY = "wh-8f742231/b10e+8888=abcd";
const OLD = "tok-it's-old-0123456789";
const NEW = "tok-it's-new-9876543210";
const FIRST_LINE = "MIIEvQIBADANBgkqhkiG9w0BAQ";
const KEY_FILE = `-----BEGIN KEY-----\n${FIRST_LINE}\n-----END KEY-----`;
const VALUES = [HOOK_KEY, OLD, NEW, KEY_FILE];

/** What may be found of a value nowhere; the parts that no border of a base64 group changes. */
const FORMS = [
  ...VALUES.flatMap((value) => [value, btoa(value).slice(0, 20), encodeURIComponent(value)]),
  FIRST_LINE,
];

const READ = "S=$(svc describe secretstore/hooks -o json | svc tool payload-extract --path key)";
const SAY = 'echo "I know $S" >&2; printf %s "$S" | base64 >&2; printf %s "$S" | od -c >/dev/null';

const SCRIPTS: Readonly<Record<string, string>> = {
  "check.sh": `set -x\n${READ}\n${SAY}\n[ "$WEBHOOK_HEADER_X_PASS" = yes ]`,
  "change.sh": `${READ}\n${SAY}\necho "$S"\ncase $WEBHOOK_BODY in *bad*) exit 1 ;; esac`,
  "good.sh": `${READ}\n${SAY}\ncat`,
  "hook.sh": `${READ}\n${SAY}\nexit 1`,
};

const STEP = `set -x
say() { echo "$1"; printf %s "$1" | base64; echo "$1" >&2; echo "$KEY_FILE"; }
say "$TOKEN"
echo > "$SVC_DATA_DIR/began"
until [ -e "$SVC_DATA_DIR/go" ]; do sleep 0.05; done
say "$TOKEN"
printf 'token=%s\\nbase=%s\\n' "$TOKEN" "$(printf %s "$TOKEN" | base64)" >"$SVC_OUTPUT"
echo "$TOKEN: no line of a file of outputs" >>"$SVC_OUTPUT"
svc task cancel "$SVC_TASK_ID" --reason "no more of $TOKEN" || true
sleep 60`;

const LAST = 'echo "was given $GIVEN and knows $TOKEN"; exit 1';

async function prepare(daemon: TestDaemon): Promise<void> {
  for (const [name, text] of Object.entries(SCRIPTS)) {
    const path = join(daemon.dataDir, "scripts", name);
    await Deno.writeTextFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o700 });
  }
  const policy = join(daemon.dataDir, "plugin-policy.yaml");
  const text = "mode: allowlist\nallowed_command_prefixes: [scripts/]\nmax_timeout_secs: 60\n";
  await Deno.writeTextFile(policy, text, { mode: 0o600 });
  await daemon.apply(
    secretStore("hooks", { key: HOOK_KEY }),
    secretStore("tokens", { token: OLD, file: KEY_FILE }),
    crd("Hook", "check.sh", "change.sh"),
    crd("Good", "good.sh", "good.sh"),
    {
      kind: "Workflow",
      metadata: { name: "say" },
      spec: {
        env: { TOKEN: { fromSecret: { store: "tokens", key: "token" } } },
        steps: [{
          id: "say",
          run: STEP,
          env: { KEY_FILE: { fromSecret: { store: "tokens", key: "file" } } },
        }],
        finally: [{
          id: "last",
          run: LAST,
          env: { GIVEN: "{{ steps.say.outputs.token }}" },
        }],
      },
    },
    trigger("hook", { webhook: { crdRef: "Hook" }, workflow: "say" }),
    trigger("good", { webhook: { crdRef: "Good" }, workflow: "say" }),
  );
}

function crd(kind: string, check: string, change: string) {
  const lower = kind.toLowerCase();
  const plugin = (name: string, type: string, script: string, more: object) => ({
    name,
    type,
    command: `scripts/${script}`,
    timeout: 60,
    ...more,
  });
  return {
    kind: "CustomResourceDefinition",
    metadata: { name: `${lower}s.example.com` },
    spec: {
      kind,
      plural: `${lower}s`,
      group: "example.com",
      versions: [{ name: "v1", schema: { type: "object" } }],
      plugins: [
        plugin("check", "interceptor", check, { phase: "webhook.authenticate" }),
        plugin("change", "transformer", change, { phase: "webhook.transform" }),
      ],
      hooks: { onCreate: { command: "scripts/hook.sh", timeout: 60 } },
    },
  };
}

function findIn(texts: Iterable<readonly [where: string, text: string]>): string[] {
  const found: string[] = [];
  for (const [where, text] of texts) {
    for (const form of FORMS) if (text.includes(form)) found.push(`${form} in ${where}: ${text}`);
  }
  return found;
}

programTest(
  "nothing that plugins, hooks and steps print gives a secret away",
  async (program) => {
    await using daemon = await startDaemon(program, { args: ["--log-level", "debug"] });
    await prepare(daemon);
    const send = (path: string, body: string, pass: string) =>
      daemon.send(path, {
        body,
        headers: { "content-type": "application/json", "x-pass": pass },
      });
    const shown: [string, string][] = [];
    const show = async (...args: string[]) => {
      const { stdout, stderr } = await daemon.svc(args);
      shown.push([args.join(" "), stdout + stderr]);
      return stdout + stderr;
    };

    equal((await send("/webhook/hook", "{}", "no")).status, 401);
    equal((await send("/webhook/hook", '{"a":"bad"}', "yes")).status, 502); // the transformer fails
    equal((await send("/webhook/hook", '{"a":"fine"}', "yes")).status, 502); // it prints no JSON
    equal((await send("/webhook/good", '{"a":"good"}', "yes")).json["status"], "accepted");
    const instance = join(daemon.dataDir, "instance.yaml");
    await Deno.writeTextFile(instance, "kind: Good\nmetadata: {name: one}\nspec: {}\n");
    match(await show("apply", "-f", instance), /hook failed: .*I know \*\*\*/s);

    await untilFile(join(daemon.dataDir, "began"));
    await daemon.svc(["tool", "secret-rotate", "tokens", "token", "--value", NEW]);
    await daemon.apply(secretStore("tokens", { token: NEW })); // the other values are gone
    await Deno.writeTextFile(join(daemon.dataDir, "go"), "");
    const [task] = await daemon.settled();
    equal(task?.state, "cancelled");
    const id = task?.id ?? "";
    const log = await show("task", "logs", id);
    match(log, /\*\*\*: no line|line 3 of \$SVC_OUTPUT/);
    match(log, /was given \*\*\* and knows \*\*\*/);
    ok(log.split("***").length > 10, log);
    match(await show("get", "audit", "-o", "json"), /I know \*\*\*/);
    match(await show("get", "deliveries", "-o", "json"), /I know \*\*\*/);
    match(await show("get", "tasks", "-o", "json"), /"token": "\*\*\*"/);
    for (const { id } of await daemon.json("get", "deliveries") as { id: string }[]) {
      await show("delivery", "explain", id);
      await show("delivery", "explain", id, "-o", "json");
    }
    equal(await daemon.stop(), 0); // what was to be written is
    match(daemon.log, /I know \*\*\*/);
    deepEqual(findIn(shown), []);
    deepEqual(findIn([["the daemon's log", daemon.log]]), []);
    deepEqual(findIn(await loggedTexts(daemon.dataDir)), []);
    deepEqual(findIn(await textsIn(daemon.dataDir)), []);
  },
);
