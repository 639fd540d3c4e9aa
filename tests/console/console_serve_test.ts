/**
 * `svc console serve` from outside: what it refuses to start with, and a login through a proxy to a real
 * daemon, whose admin changes who the person is in the midst of it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { NO_OPENSSL } from "../helpers/certificate.ts";
import { trigger } from "../helpers/manifests.ts";
import { NO_DATABASE, programTest, runSvc } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { within } from "../helpers/within.ts";
import { ada, SECRET, teamRig } from "../rigs/team_rig.ts";

programTest(
  "the console of a team: a login through a proxy, calls as the Person, a demotion, a stranger",
  async (program) => {
    await using rig = await teamRig(program);
    const { served, daemon } = rig;
    const asAda = { "x-forwarded-user": "ada", "x-svc-secret": SECRET };
    equal((await served.get("/login", { "x-forwarded-user": "ada" })).status, 401, "no secret");
    const stranger = await served.get("/login", { ...asAda, "x-forwarded-user": "eve" });
    equal(stranger.status, 403);
    match(stranger.body, /is: \[&quot;header:eve&quot;\]/);

    const page = await served.logIn("/login?return=%2Ftasks", asAda);
    equal(page.path, "/tasks");
    const status = await page.call("status", {});
    deepEqual(JSON.parse(status.body).caller, { name: "ada", role: "operator" });
    for (const name of ["token.create", "apply", "secret.set", "delete"]) {
      equal((await page.call(name, {})).status, 403, name);
    }
    await daemon.apply(ada("read_only"));
    equal((await page.call("task.cancel", { ids: ["x"] })).status, 403, "demoted");
    equal(JSON.parse((await page.call("status", {})).body).caller.role, "read_only");
    const { stdout } = await daemon.svc(["get", "control-audit", "-o", "wide"]);
    match(stdout, /ada \(console\)\s+read_only\s+denied/);

    await daemon.apply(ada("operator", "header:lovelace"));
    const gone = await page.call("status", {});
    deepEqual([gone.status, gone.headers.get("svc-login")], [401, "/login"]);
    equal(await served.end("SIGTERM"), 130);
    ok(!`${served.stdout}${served.stderr}`.includes(rig.token));
  },
  { skip: NO_OPENSSL },
);

programTest(
  "a stream of the console of a team ends when its Person gets a lower role",
  async (program) => {
    await using rig = await teamRig(program);
    const asAda = { "x-forwarded-user": "ada", "x-svc-secret": SECRET };
    const page = await rig.served.logIn("/login", asAda);
    const input = { subjects: [{ key: "s", get: { what: "tasks" } }] };
    using stream = await page.openRaw("watch", input);
    equal((await within(15_000, stream.answer()))?.status, 200);
    const closed = stream.closed();
    await rig.daemon.apply(ada("read_only"));
    await within(15_000, closed);
  },
  { skip: NO_OPENSSL },
);

programTest(
  "svc console serve says what it lacks, and does not start",
  async (program) => {
    await using dir = await tempDir();
    const file = `${dir.path}/login.yaml`;
    const login = (text: string) => Deno.writeTextFile(file, text);
    await login("login: [{name: p, header: {header: x-user}}]");
    const origin = ["--origin", "https://svc.example.com"];
    const all = [...origin, "--login", file];
    const tls = ["--tls-cert", "x", "--tls-key", "y"];
    for (
      const [args, code, says] of [
        [["--login", file], 2, /^error: Say with --origin where browsers find it/],
        [["--origin", "http://svc.example.com"], 2, /--origin takes https:\/\/HOST or/],
        [["--origin", "https://svc.example.com/"], 2, /: write https:\/\/svc\.example\.com$/m],
        [["--origin", "https://Svc.example.com:443/x"], 2, /: write https:\/\/svc\.example\.com$/m],
        [["--origin", "svc.example.com"], 2, /not "svc\.example\.com"/],
        [origin, 2, /Name the file of logins with --login FILE/],
        [[...all, "--bind", "0.0.0.0:1"], 2, /--bind 0\.0\.0\.0:1 needs --tls-cert and --tls-key/],
        [[...all, "--bind", "localhost:1"], 2, /needs --tls-cert/],
        [[...all, "--bind", "unix:x"], 2, /--bind takes HOST:PORT or unix:\/PATH, not "unix:x"/],
        [[...all, "--bind", "unix:/x", ...tls], 2, /is for a proxy that ends TLS/],
        [[...all, "--tls-cert", "x"], 2, /--tls-cert and --tls-key go together/],
        [all, 2, /add secretHeader and secretFile to it, or use --bind unix:PATH/],
        [[...all, "--bind", "0.0.0.0:1", ...tls], 2, /believes a header: with it, --bind takes/],
        [[...all, "--bind", "unix:/tmp/x"], 2, /--server takes https:\/\/HOST:PORT/],
        [[...all, "--bind", "unix:/tmp/x", "--server", "https://127.0.0.1:1"], 2, /SVC_TOKEN/],
        [[...origin, "--login", `${dir.path}/none`], 1, /Cannot read ".*none"/],
      ] as const
    ) {
      const run = await runSvc(program, ["console", "serve", ...args]);
      deepEqual([run.code, run.stdout], [code, ""], args.join(" "));
      match(run.stderr, says);
    }
  },
  { fileOnly: NO_DATABASE },
);

programTest(
  "svc console serve takes a gateway token only",
  async (program) => {
    await using rig = await teamRig(program);
    const { env, login } = rig.served;
    const ordinary = await rig.daemon.svc(["token", "create", "--name", "x"]);
    for (const token of [ordinary.stdout.trim(), "svct_unknown"]) {
      const args = ["console", "serve", "--origin", "https://svc.example.com", "--login", login];
      const run = await runSvc(program, args, { env: { ...env, SVC_TOKEN: token } });
      deepEqual([run.code, run.stdout], [5, ""]);
      match(run.stderr, /SVC_TOKEN is no gateway token: "svc token create --gateway/);
    }
  },
  { skip: NO_OPENSSL },
);

programTest(
  "who logs in to the console of a team approves as the Person, and only what asks for it",
  async (program) => {
    await using rig = await teamRig(program);
    const { daemon, served } = rig;
    const eve = {
      kind: "Person",
      metadata: { name: "eve" },
      spec: { role: "admin", is: ["header:eve"] },
    };
    const steps = [{ id: "ok", approval: { ask: "Deploy?", by: ["ada"] } }];
    await daemon.apply(
      eve,
      { kind: "Workflow", metadata: { name: "ship" }, spec: { steps } },
      trigger("ship", { webhook: { allowUnsigned: true }, workflow: "ship" }),
    );
    const { json } = await daemon.send("/webhook/ship", { body: "{}" });
    const id = String(json["task_id"]);
    const digest = await until("the question", async () => {
      const asked = await daemon.json("get", "approvals") as unknown as { digest: string }[];
      return asked[0]?.digest;
    });
    const answer = async (name: string) => {
      const headers = { "x-forwarded-user": name, "x-svc-secret": SECRET };
      const page = await served.logIn("/login", headers);
      return await page.call("approval.answer", { id, step: "ok", answer: "approved", digest });
    };
    const refused = await answer("eve");
    equal(refused.status, 422);
    match(refused.body, /eve \(console\) is not among those who may answer: ada/);
    equal((await answer("ada")).status, 200);
    equal((await daemon.svc(["task", "wait", id])).code, 0);
    match((await daemon.svc(["describe", `task/${id}`])).stdout, /approved by ada/);
    const audit = JSON.stringify(await daemon.json("get", "control-audits"));
    match(audit, new RegExp(`task/${id}.ok approved ${digest.slice(0, 8)} console`));
  },
  { skip: NO_OPENSSL },
);
