/**
 * What lies outside of a sandbox, for the escapes to reach: a secret in files, sockets, processes and
 * variables; a repository with two worktrees; a process to kill. Everything is removed at the end.
 *
 * @module
 */

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { networkInterfaces } from "node:os";
import { systemClock } from "../../src/base/clock.ts";
import { cleanEnv, run } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

/** Paths and values that an escape tries to reach, and what shows that it did. */
export interface Outside extends AsyncDisposable {
  /** The text that must not come out. */
  readonly secret: string;
  /** A word that nothing else has in its name. */
  readonly name: string;
  /** A git worktree, or a repository; the directory of the step. */
  readonly workspace: string;
  /** The repository of the worktree; the workspace itself if that is one. */
  readonly repository: string;
  readonly otherWorktree: string;
  readonly otherTask: string;
  /** The kept home directory of the step, where it has a session. */
  readonly sessionHome: string;
  /** A file that is made when a program of the step runs outside. */
  readonly proof: string;
  /** A directory in the place of /etc, for when that can be written. */
  readonly etc: string;
  /** Whether the process that must go on has ended. */
  victimEnded(): boolean;
  /** What came in by UDP. */
  readonly datagrams: readonly string[];
  /** Where each is, as variables of the step. */
  readonly variables: Readonly<Record<string, string>>;
  pause(ms: number): Promise<void>;
}

/** Makes everything anew. */
export async function makeOutside(kind: "worktree" | "repository" = "worktree"): Promise<Outside> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await tempDir());
  const secret = `secret-${crypto.randomUUID()}`;
  const name = `svc-escape-${crypto.randomUUID().slice(0, 8)}`;
  const at = (path: string) => `${dir.path}/${path}`;

  const folders = ["private", "home", "data/secrets", "data/run", "other-task", "etc", "agent"];
  folders.push("data/sessions/mine", "data/sessions/other");
  for (const folder of folders) await Deno.mkdir(at(folder), { recursive: true });
  const files = {
    "private/secret": `${secret}\n`,
    "private/pair": `key=${secret}\n`,
    "home/.netrc": `machine x password ${secret}\n`,
    "data/secrets/secretstore.key": secret,
    "data/svc.db": secret,
    "data/sessions/other/.agent": secret,
    "other-task/payload.json": JSON.stringify({ secret }),
    "other-task/inbox": "",
  };
  for (const [path, text] of Object.entries(files)) await dir.write(path, text);

  const git = async (cwd: string, ...args: readonly string[]) => {
    const author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    const { code, stderr } = await run("git", ["-C", cwd, ...author, ...args]);
    if (code !== 0) throw new Error(stderr);
  };
  const repository = at("repository");
  await Deno.mkdir(repository);
  await git(repository, "init", "-q", "-b", "main");
  await dir.write("repository/README", "hello\n");
  await git(repository, "add", ".");
  await git(repository, "commit", "-qm", "one");
  const [workspace, otherWorktree] = [at("work"), at("other")];
  await git(repository, "worktree", "add", "-q", "-b", "work", workspace);
  await git(repository, "worktree", "add", "-q", "-b", "other", otherWorktree);

  const sockets = {
    OUT_SOCKET: "data/control",
    OUT_AGENT: "agent/s",
    OUT_OTHER_SOCKET: "other-task/s",
  };
  for (const path of Object.values(sockets)) {
    greet(stack, Deno.listen({ transport: "unix", path: at(`${path}.${name}`) }), secret);
  }
  const tcp = Deno.listen({ port: 0, hostname: "0.0.0.0" });
  greet(stack, tcp, secret);
  const datagrams: string[] = [];
  const udp = createSocket("udp4").on("message", (message) => datagrams.push(message.toString()));
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  stack.defer(() => void udp.close());

  const abstract = `${name}-abstract`;
  stack.use(await start("socat", [`ABSTRACT-LISTEN:${abstract},fork`, `EXEC:echo ${secret}`]));
  const victim = await start("sh", ["-c", "while :; do sleep 100; done", "sh", secret], {
    OUT_KEY: secret,
  });
  stack.use(victim);
  await Deno.writeTextFile(at("private/pid"), String(victim.pid));
  await until(
    "the abstract socket",
    async () =>
      (await Deno.readTextFile("/proc/net/unix")).includes(`@${abstract}`) ? true : undefined,
  );

  const address = Object.values(networkInterfaces()).flat()
    .find((one) => one?.family === "IPv4" && !one.internal)?.address ?? "127.0.0.1";
  const root = kind === "worktree" ? workspace : repository;
  const all = stack.move();
  return {
    secret,
    name,
    workspace: root,
    repository,
    otherWorktree,
    otherTask: at("other-task"),
    sessionHome: at("data/sessions/mine"),
    proof: at("private/proof"),
    etc: at("etc"),
    victimEnded: victim.hasEnded,
    datagrams,
    variables: {
      OUT_SECRET: at("private/secret"),
      OUT_SECRET_PAIR: at("private/pair"),
      OUT_HOME: at("home"),
      OUT_DATA: at("data"),
      OUT_OTHER_TASK: at("other-task"),
      OUT_OTHER_SESSION: at("data/sessions/other"),
      OUT_OTHER_WORKTREE: otherWorktree,
      OUT_WORKSPACE: root,
      OUT_PROOF: at("private/proof"),
      OUT_NAME: name,
      OUT_PORT: String((tcp.addr as Deno.NetAddr).port),
      OUT_UDP_PORT: String(udp.address().port),
      OUT_ADDRESS: address,
      OUT_ABSTRACT: abstract,
      OUT_VICTIM: String(victim.pid),
      ...Object.fromEntries(
        Object.entries(sockets).map(([key, path]) => [key, at(`${path}.${name}`)]),
      ),
    },
    pause: (ms) => systemClock.pause(ms),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Says the secret to whoever connects. */
function greet(stack: AsyncDisposableStack, listener: Deno.Listener, secret: string): void {
  stack.defer(() => listener.close());
  (async () => {
    for await (const connection of listener) {
      await connection.write(new TextEncoder().encode(`${secret}\n`)).catch(() => {});
      connection.close();
    }
  })().catch(() => {});
}

async function start(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<AsyncDisposable & { readonly pid: number; hasEnded(): boolean }> {
  const child = new Deno.Command(program, {
    args: [...args],
    clearEnv: true,
    env: cleanEnv(env),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let ended = false;
  const status = child.status.then(() => void (ended = true));
  await Promise.resolve();
  return {
    pid: child.pid,
    hasEnded: () => ended,
    async [Symbol.asyncDispose]() {
      if (!ended) child.kill("SIGKILL");
      await status;
    },
  };
}
