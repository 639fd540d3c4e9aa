/**
 * A real Gitea, as `.ci/gitea` builds it, with one repository and a user for svc that may do anything
 * there. It differs from GitHub where no stand-in of GitHub would.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { freePort } from "../helpers/postgres_server.ts";
import { ROOT } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

const FOLDER = new TextDecoder().decode(
  new Deno.Command(join(ROOT, ".ci/gitea"), { stderr: "null" }).outputSync().stdout,
).trim();

/** Why tests of it are skipped; undefined where there is one. */
export const NO_GITEA = FOLDER === "" ? "no Gitea: .ci/gitea --install builds one" : undefined;

/** A Gitea that runs until it is disposed. */
export interface RealGitea extends AsyncDisposable {
  /** Address of its API. */
  readonly api: string;
  /** Where git finds the repository. */
  readonly git: {
    readonly directory: () => string;
    readonly find: () => Promise<undefined>;
  };
  /** Token of the user of svc. */
  readonly token: string;
  /** Calls the API as that user, which has to succeed. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
}

/** Starts one with a repository that has a branch `main` and one issue. */
export async function realGitea(repository: string): Promise<RealGitea> {
  await using opening = new AsyncDisposableStack();
  const dir = opening.use(await tempDir());
  const port = freePort();
  const root = `http://127.0.0.1:${port}`;
  const config = join(dir.path, "app.ini");
  await Deno.writeTextFile(config, settings(dir.path, port));
  const command = (...args: readonly string[]) =>
    new Deno.Command(join(FOLDER, "gitea"), {
      args: ["--config", config, ...args],
      env: { HOME: dir.path, GITEA_WORK_DIR: dir.path, GITEA_VERSION: "1.26.0" },
      stdout: "piped",
      stderr: "piped",
    });
  const run = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await command(...args).output();
    equal(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trim();
  };
  await run("migrate");
  const user = ["--username", "svc-bot", "--email", "svc@example.com"];
  const secret = ["--random-password", "--must-change-password=false"];
  await run("admin", "user", "create", "--admin", ...user, ...secret);
  const named = ["--username", "svc-bot", "--token-name", "t", "--scopes", "all", "--raw"];
  const made = await run("admin", "user", "generate-access-token", ...named);
  const token = /[0-9a-f]{40}$/.exec(made)?.[0] ?? "";
  const child = command("web").spawn();
  opening.defer(async () => {
    child.kill("SIGTERM");
    await child.status;
  });
  for (const stream of [child.stdout, child.stderr]) {
    void stream.pipeTo(new WritableStream()).catch(() => {});
  }
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${root}/api/v1${path}`, {
      method,
      headers: { authorization: `token ${token}`, "content-type": "application/json" },
      ...body === undefined ? {} : { body: JSON.stringify(body) },
    });
    const text = await answer.text();
    equal(answer.ok, true, `${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text) as unknown;
  };
  await until("Gitea", () => call("GET", "/version").catch(() => undefined));
  const [owner = "", name = ""] = repository.split("/");
  await call("POST", "/orgs", { username: owner });
  await call("POST", `/orgs/${owner}/repos`, { name, auto_init: true, default_branch: "main" });
  await call("POST", `/repos/${repository}/issues`, { title: "It is broken" });
  const open = opening.move();
  return {
    api: `${root}/api/v1`,
    git: {
      directory: () => `${root}/${repository}.git`,
      find: () => Promise.resolve(undefined),
    },
    token,
    call,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function settings(dir: string, port: number): string {
  return `
RUN_USER = ${Deno.uid() === 0 ? "root" : ""}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
RUN_MODE = prod
WORK_PATH = ${dir}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
STATIC_ROOT_PATH = ${FOLDER}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = ${dir}/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = a-key-of-this-test
INTERNAL_TOKEN = a-token-of-this-test
[log]
MODE = console
LEVEL = warn
[repository]
ROOT = ${dir}/repositories
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
[actions]
ENABLED = false
[webhook]
ALLOWED_HOST_LIST = *
`.replace("RUN_USER = \n", "");
}
