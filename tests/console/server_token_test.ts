/**
 * `svc console --server`: the daemon's credential stays in the command.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { programTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { ConsoleProcess, PageSession, post } from "../rigs/console_process.ts";

programTest("the token for --server is in no byte that the page gets", async (program) => {
  await using dir = await tempDir();
  const [cert, key] = [`${dir.path}/daemon.crt`, `${dir.path}/daemon.key`];
  await makePair(dir.path, "daemon");
  const tls = ["--control-tls-cert", cert, "--control-tls-key", key];
  await using daemon = await startDaemon(program, {
    args: ["--control-bind", "127.0.0.1:0", ...tls],
  });
  const token = (await daemon.svc(["token", "create", "--role", "operator"])).stdout.trim();
  match(token, /^svct_/);
  const env = { SVC_TOKEN: token, HOME: dir.path };
  const args = ["--no-open", "--server", daemon.controlUrl, "--ca-file", cert];
  await using process = new ConsoleProcess(program, { args, env });
  const link = await process.link();
  const page = await PageSession.open(link);
  const answers = await Promise.all([
    ...["/", "/app.js", "/style.css", "/nothing"].map((path) => fetch(page.url + path)),
    post(`${page.url}/session`, { ticket: "x" }),
    page.call("status", {}),
    page.call("get", { what: "tokens" }),
    page.call("get", { what: "control-audit" }),
    page.call("describe", { what: "token", name: "latest", reveal: true }),
    page.call("task", { id: "nothing" }),
    page.call("token.create", {}),
    page.call("status", { unknown: true }),
  ]);
  await daemon.crash();
  answers.push(await page.call("status", {}));
  equal(answers.at(-1)?.status, 503, "it is away, and the answer names what was called");
  equal(answers.at(5)?.status, 200, "the token is used");
  for (const answer of answers) {
    const text = `${answer.url}\n${[...answer.headers].join("\n")}\n${await answer.text()}`;
    ok(!text.includes(token.slice(5, 21)), text);
  }
  ok(!(process.stdout + process.stderr).includes(token));
}, { skip: NO_OPENSSL });
