/**
 * `svc console` from outside: its links, what it passes on, how it opens a browser, and its end.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { startDaemon } from "../helpers/daemon.ts";
import { workflow } from "../helpers/manifests.ts";
import { programTest, runSvc } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { ConsoleProcess, PageSession, post, readUntil, statusOf } from "../rigs/console_process.ts";

programTest(
  "the console: a link, a session, an operation, a stream, Ctrl-C",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(workflow("build", "make"));
    const env = { SVC_DATA_DIR: daemon.dataDir };
    await using process = new ConsoleProcess(program, { args: ["--no-open", "task/latest"], env });
    const url = await process.ready();
    const link = await process.link();
    equal(link.startsWith(`${url}/task/latest#ticket=`), true, link);

    const page = await PageSession.open(link);
    const status = await page.call("status", {});
    deepEqual([status.status, status.headers.get("content-type")], [200, "application/json"]);
    match(JSON.stringify(await status.json()), /"workflows":1/);

    const gone = new AbortController();
    const watch = await page.call(
      "watch",
      { subjects: [{ key: "flows", get: { what: "workflow" } }] },
      gone.signal,
    );
    await readUntil(watch, /^\{.*"workflow\/build".*\}\n$/);
    await daemon.apply(workflow("deploy", "make"));
    await readUntil(watch, /"workflow\/deploy"/);
    gone.abort();

    const spent = new URL(link).hash.slice("#ticket=".length);
    equal(await statusOf(post(`${url}/session`, { ticket: spent })), 401, "once only");
    await process.enter();
    const fresh = await PageSession.open(await process.link(2));
    equal(await statusOf(fresh.call("status", {})), 200);
    equal(await statusOf(page.call("status", {})), 200, "the first one is still good");

    equal(await process.end("SIGINT"), 130);
    // What a newer Deno says of its own, of every server that looks at a request's signal.
    equal(process.stderr.replace(/^Deno\.serve: request\.signal .*\n/, ""), "");
  },
);

programTest(
  "the console without a daemon, with a wrong page and a wrong port",
  async (program) => {
    await using dir = await tempDir();
    for (
      const [args, code, says] of [
        [
          [],
          3,
          /^error: The daemon is not running on .* is not initialised: run "svc init .*svc daemon/,
        ],
        [
          ["nowhere"],
          2,
          /^error: No page "nowhere" in the console: it has approvals, audit, connections,/,
        ],
        [["../etc/passwd"], 2, /^error: No page/],
        [["--port", "80"], 2, /^error: --port takes a whole number from 1024 to 65535/],
      ] as const
    ) {
      const run = await runSvc(program, ["console", ...args, "--data-dir", dir.path]);
      deepEqual([run.code, run.stdout], [code, ""], args.join(" "));
      match(run.stderr, says);
    }
  },
);
