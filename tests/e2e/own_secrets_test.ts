/**
 * A step that prints what it can read of the daemon's own secrets: its environment, that of the
 * daemon, the key file. They are read by others who may see logs.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { programTest } from "../helpers/program.ts";
import { loggedTexts, textsIn } from "../helpers/stored_texts.ts";

const GIVEN = {
  ANTHROPIC_API_KEY: "sk-ant-api03-2f8e1c",
  DEPLOY: "9f86d081884c7d659a2feaa0c55ad015",
  HTTPS_PROXY: "http://me:pw-of-the-proxy@127.0.0.1:9",
};
const OWN = {
  GITHUB_TOKEN: "ghs_16C7e42F292c6912E7",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20otl9key,x-team=hcaik_01abcd",
};
const SECRETS = [
  GIVEN.ANTHROPIC_API_KEY,
  GIVEN.DEPLOY,
  "pw-of-the-proxy",
  OWN.GITHUB_TOKEN,
  "otl9key",
  "hcaik_01abcd",
];

/** In one line: where the value stands in the output decides where it would be broken. */
const PRINT = `env; env | base64 | tr -d '\\n'; echo
tr '\\0' '\\n' <"/proc/$PPID/environ" || true
echo "Bearer otl""9key; x-team: hcaik_""01abcd"
cat "$SVC_DATA_DIR/secrets/secretstore.key"
printf 'token=%s\\n' "$ANTHROPIC_API_KEY" >"$SVC_OUTPUT"
echo the end`;

programTest(
  "a step that prints the daemon's own secrets shows none of them",
  async (program) => {
    await using daemon = await startDaemon(program, {
      args: ["--step-env", "ANTHROPIC_API_KEY", "DEPLOY", "HTTPS_PROXY"],
      env: { ...GIVEN, ...OWN },
    });
    const keyFile = await Deno.readTextFile(`${daemon.dataDir}/secrets/secretstore.key`);
    await daemon.apply(
      workflow("print", PRINT),
      trigger("print", { webhook: { allowUnsigned: true }, workflow: "print" }),
    );
    const fired = await daemon.svc(["trigger", "fire", "print", "-o", "json"]);
    equal(fired.code, 0, fired.stderr);
    await daemon.settled();
    const logs = (await daemon.svc(["task", "logs", "latest"])).stdout;
    match(logs, /ANTHROPIC_API_KEY=\*\*\*/);
    match(logs, /http:\/\/me:\*\*\*@127\.0\.0\.1:9/);
    match(logs, /the end/);
    const texts = [
      ["log of the task", logs] as const,
      ["log of the daemon", daemon.log] as const,
      ...await loggedTexts(daemon.dataDir),
      ...await textsIn(daemon.dataDir),
    ];
    for (const secret of [...SECRETS, keyFile.trim().split(" ")[1] ?? ""]) {
      for (const form of [secret, btoa(secret).slice(0, 16)]) {
        const found = texts.filter(([, text]) => text.includes(form));
        ok(found.length === 0, `${secret} in ${found.map(([where]) => where)}`);
      }
    }
  },
);
