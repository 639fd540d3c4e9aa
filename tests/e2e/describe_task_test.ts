/**
 * `svc describe task` says in which sandbox a step really ran, also where the machine could not make
 * the one that it has by default.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { trigger } from "../helpers/manifests.ts";
import { NO_DATABASE, programTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** Runs a workflow of these steps; gives the lines of its sandboxes. */
async function sandboxesOf(daemon: TestDaemon, ...steps: readonly object[]): Promise<string[]> {
  await daemon.apply(
    { kind: "Agent", metadata: { name: "coder" }, spec: { command: "echo done" } },
    { kind: "Workflow", metadata: { name: "record" }, spec: { steps } },
    trigger("now", { webhook: { allowUnsigned: true } }),
  );
  equal((await daemon.send("/webhook/now", { body: "{}" })).status, 200);
  await daemon.settled();
  const { code, stdout, stderr } = await daemon.svc(["describe", "task", "latest"]);
  equal(code, 0, stderr);
  const [, lines = ""] = /^Sandboxes:\n((?: {2}.*\n)*)/m.exec(stdout) ?? [];
  return lines.trimEnd().split("\n");
}

programTest("a step without the sandbox that it has by default says why", async (program) => {
  await using empty = await tempDir();
  await using daemon = await startDaemon(program, { env: { PATH: empty.path } });
  const [first = "", second = "", ...more] = await sandboxesOf(
    daemon,
    { id: "fix", agent: "coder", prompt: "p" },
    { id: "push", sandbox: "none", run: "echo pushed" },
  );
  match(first, /^ {2}fix: none, bubblewrap is not installed\. To have one: \w+/);
  match(second, /^ {2}push: none, the manifest says so$/);
  deepEqual(more, []);
}, { fileOnly: NO_DATABASE });

programTest("a step has the sandbox that its daemon requires", async (program) => {
  await using daemon = await startDaemon(program, { args: ["--require-sandbox", "all"] });
  const [first = ""] = await sandboxesOf(daemon, { id: "a", run: "echo" });
  match(first, /^ {2}a: default, this daemon requires one$/);
}, { fileOnly: NO_DATABASE });
