/**
 * Real bare repositories of a fake forge, served by git's own program, so that refs, leases and packs are
 * git's own. Each fake looks at the tokens itself.
 *
 * @module
 */

import { join } from "node:path";

/** A change of files: their texts, or `null` for one that goes. */
export type FakeFiles = Readonly<Record<string, string | null>>;

/** Who made a commit. */
export interface FakeAuthor {
  readonly name: string;
  readonly email: string;
}

const ADA: FakeAuthor = { name: "Ada Pereira", email: "ada@brightwater.example" };

/** A request of git. */
export interface GitRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Which repository a path of git's protocol is about, and which of its services. */
export function gitServiceOf(pathname: string): { name: string; service: string } | undefined {
  const [, name = "", service = ""] =
    /^\/((?:[^/]+\/)+?[^/]+?)(?:\.git)?\/(info\/refs|git-receive-pack|git-upload-pack)$/
      .exec(pathname) ?? [];
  return name === "" ? undefined : { name, service };
}

/** Whether a request wants to push. */
export function isPush({ search }: URL, service: string): boolean {
  return `${service}${search}`.includes("git-receive-pack");
}

/** User and password of Basic authorization; empty without one. */
export function basicOf(headers: Headers): readonly [user: string, password: string] {
  const given = /^Basic (.+)$/.exec(headers.get("authorization") ?? "")?.[1] ?? "";
  const [user = "", password = ""] = atobOrEmpty(given).split(":");
  return [user, password];
}

/** Bare repositories, and the server of git. */
export class FakeGit {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Path of the bare repository of `OWNER/NAME`, at GitLab also of `GROUP/…/PROJECT`. */
  directory(repository: string): string {
    return join(this.#root, `${repository}.git`);
  }

  /** Makes a repository with one commit on a branch, or with all commits of another (a fork). */
  async make(repository: string, from?: string, branch = "main"): Promise<void> {
    const directory = this.directory(repository);
    await Deno.mkdir(directory, { recursive: true });
    const first = `--initial-branch=${branch}`;
    await runGit(["init", "--quiet", "--bare", "--template=", first, directory]);
    await this.run(repository, "config", "http.receivepack", "true");
    if (from !== undefined) {
      await this.run(repository, "fetch", "--quiet", this.directory(from), "+refs/*:refs/*");
    } else {
      await this.commit(repository, branch, { "README.md": "# Tidepool\n" });
    }
  }

  /** Runs git in a repository; returns its output without the last line break. */
  async run(repository: string, ...args: readonly string[]): Promise<string> {
    return await runGit(["-C", this.directory(repository), ...args]);
  }

  /** The same; `undefined` if git fails. */
  async tryRun(repository: string, ...args: readonly string[]): Promise<string | undefined> {
    return await this.run(repository, ...args).catch(() => undefined);
  }

  /** Id of a branch or commit; `undefined` if there is none. */
  async find(repository: string, revision: string): Promise<string | undefined> {
    const commit = `${revision}^{commit}`;
    return /^-/.test(revision)
      ? undefined
      : await this.tryRun(repository, "rev-parse", "--verify", "--quiet", commit);
  }

  /** Ids of all refs by their names. */
  async refs(repository: string): Promise<Map<string, string>> {
    const list = await this.run(repository, "for-each-ref", "--format=%(refname) %(objectname)");
    return new Map(
      list.split("\n").filter((line) => line !== "").map((line): [string, string] => {
        const [ref = "", id = ""] = line.split(" ");
        return [ref, id];
      }),
    );
  }

  /** Commits a change on a branch as a person would, who pushes it; returns the new id. */
  async commit(
    repository: string,
    branch: string,
    files: FakeFiles,
    { author = ADA, from }: { readonly author?: FakeAuthor; readonly from?: string } = {},
  ): Promise<string> {
    const directory = this.directory(repository);
    const parent = await this.find(repository, from ?? `refs/heads/${branch}`);
    const index = join(this.#root, `index-${crypto.randomUUID()}`);
    const env = { GIT_DIR: directory, GIT_INDEX_FILE: index };
    if (parent !== undefined) await runGit(["read-tree", parent], { env });
    for (const [path, text] of Object.entries(files)) {
      if (text === null) {
        const input = `0 ${"0".repeat(40)}\t${path}\n`;
        await runGit(["update-index", "--index-info"], { env, input });
        continue;
      }
      const blob = await runGit(["hash-object", "-w", "--stdin"], { env, input: text });
      await runGit(["update-index", "--add", "--cacheinfo", `100644,${blob},${path}`], { env });
    }
    const tree = await runGit(["write-tree"], { env });
    await Deno.remove(index).catch(() => {});
    const parents = parent === undefined ? [] : ["-p", parent];
    const message = `Change ${Object.keys(files).join(", ")}`;
    const id = await runGit(["commit-tree", tree, ...parents, "-m", message], {
      env: {
        ...env,
        GIT_AUTHOR_NAME: author.name,
        GIT_AUTHOR_EMAIL: author.email,
        GIT_COMMITTER_NAME: author.name,
        GIT_COMMITTER_EMAIL: author.email,
      },
    });
    await this.run(repository, "update-ref", `refs/heads/${branch}`, id);
    return id;
  }

  /**
   * Sets what the server does before it takes a push: the lines of a script that reads `OLD NEW REF`,
   * refuses with any exit code but 0, and talks to people on standard error.
   */
  async setHook(repository: string, script: string): Promise<void> {
    const directory = join(this.directory(repository), "hooks");
    await Deno.mkdir(directory, { recursive: true });
    await Deno.writeTextFile(join(directory, "pre-receive"), `#!/bin/sh\n${script}\n`);
    await Deno.chmod(join(directory, "pre-receive"), 0o755);
  }

  /** Carries a request out with git's own CGI program; `path` is `/REPOSITORY.git/SERVICE`. */
  async backend({ method, url, headers, body }: GitRequest, path: string): Promise<Response> {
    const child = new Deno.Command("git", {
      args: ["http-backend"],
      clearEnv: true,
      env: {
        ...GIT_ENV,
        GIT_PROJECT_ROOT: this.#root,
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: path,
        REQUEST_METHOD: method,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: headers.get("content-type") ?? "",
        CONTENT_LENGTH: String(body.length),
        REMOTE_USER: "somebody",
        REMOTE_ADDR: "127.0.0.1",
      },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const feeding = new Blob([body]).stream().pipeTo(child.stdin).catch(() => {});
    const { stdout } = await child.output();
    await feeding;
    const end = new TextDecoder("latin1").decode(stdout.subarray(0, 4096)).indexOf("\r\n\r\n");
    const answered = new Headers();
    let status = 200;
    for (const line of new TextDecoder().decode(stdout.subarray(0, end)).split("\r\n")) {
      const [name = "", ...value] = line.split(": ");
      if (name === "Status") status = parseInt(value.join(": "));
      else if (name !== "") answered.append(name, value.join(": "));
    }
    return new Response(stdout.slice(end + 4), { status, headers: answered });
  }
}

const GIT_ENV = {
  PATH: Deno.env.get("PATH") ?? "",
  HOME: "/nonexistent",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

async function runGit(
  args: readonly string[],
  { env = {}, input = "" }: { readonly env?: Record<string, string>; readonly input?: string } = {},
): Promise<string> {
  const child = new Deno.Command("git", {
    args: [...args],
    clearEnv: true,
    env: { ...GIT_ENV, ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const feeding = new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
  const { success, stdout, stderr } = await child.output();
  await feeding;
  if (!success) throw new Error(`git ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim();
}

function atobOrEmpty(text: string): string {
  try {
    return atob(text);
  } catch {
    return "";
  }
}
