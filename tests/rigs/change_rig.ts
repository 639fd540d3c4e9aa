/**
 * Tasks of a daemon that hand changes over, and the repositories of the fake GitHub that get them. The
 * test is the step: it packs a change of a clone, and calls the operation.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import type { Input, Output } from "../../src/api/operations.ts";
import { type FakeGitHubWithGit, fakeGitHubWithGit } from "../fakes/github_git.ts";
import { TOKEN } from "../fakes/github.ts";
import type { DataDirectory, TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { gitHubConnection, type Manifest, workflow } from "../helpers/manifests.ts";
import { programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { git } from "./git_repository.ts";

/** The repository of these tests. */
export const REPOSITORY = "brightwater/tidepool";
/** A person who may write there. */
export const ADA = { login: "ada", id: 7 } as const;
const SECRET = "the-secret-of-the-hook";

/** A test with these repositories, which need git. */
export const changeTest: typeof programTest = (name, body, options = {}) =>
  programTest(name, body, { ...options, skip: missing("git") ?? options.skip });

/** What a test makes of its resources. */
export interface Declared {
  /** `may.github` of the workflow. */
  readonly may?: Record<string, unknown>;
  /** `allow.outputs` of the Connection. */
  readonly outputs?: readonly string[];
  /** Further fields of `event.webhook` of the trigger. */
  readonly webhook?: Record<string, unknown>;
  /** `report` of the trigger. */
  readonly report?: Record<string, unknown>;
}

/** The manifests of a workflow that may change files. */
export function manifestsOf(api: string, declared: Declared = {}): readonly Manifest[] {
  const { may = { pull: {}, push: {} }, outputs, webhook = {}, report } = declared;
  const fix = workflow("fix", "true");
  return [
    ...gitHubConnection({
      api,
      repository: REPOSITORY,
      token: TOKEN.token,
      secret: SECRET,
      allow: outputs && { targets: [], outputs },
    }),
    { ...fix, spec: { ...fix.spec, may: { github: may } } },
    {
      kind: "Trigger",
      metadata: { name: "fix" },
      spec: {
        event: {
          source: "webhook",
          webhook: { secret: { fromRef: "github" }, scheme: "github", ...webhook },
        },
        action: { workflow: "fix", workspace: "default" },
        ...report === undefined ? {} : { report },
      },
    },
  ];
}

/** The fake GitHub with one issue, number 1. */
export async function changeableGitHub(): Promise<FakeGitHubWithGit> {
  const fake = await fakeGitHubWithGit({
    repositories: [{
      full_name: REPOSITORY,
      permissions: { "svc-bot": "admin", ada: "write" },
      default_branch: "main",
    }],
  });
  fake.issues.issues.push({
    repository: REPOSITORY,
    number: 1,
    title: "It is broken",
    body: "",
    user: ADA,
  });
  return fake;
}

/** Somebody comments on an issue or pull request; resolves to the id of the task that this starts. */
export async function ask(
  daemon: TestDaemon,
  given: {
    readonly number?: number;
    readonly isPull?: boolean;
    readonly sender?: Record<string, unknown>;
    readonly path?: string;
  } = {},
): Promise<string> {
  const { number = 1, isPull = false, sender = { ...ADA, type: "User" }, path = "fix" } = given;
  const issue = isPull ? { number, pull_request: {} } : { number };
  await sendEvent(daemon, path, "issue_comment", {
    action: "created",
    issue,
    comment: {
      id: Math.floor(1e9 + 1e9 * crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32),
    },
    repository: { full_name: REPOSITORY },
    sender,
  });
  const [task] = await daemon.tasks();
  return task?.id ?? "";
}

/** Sends a signed event to a trigger, and waits until its task has ended. */
export async function sendEvent(
  daemon: TestDaemon,
  path: string,
  event: string,
  payload: Readonly<Record<string, unknown>>,
): Promise<void> {
  const body = JSON.stringify(payload);
  const headers = githubHeaders(SECRET, body, event);
  const answer = await daemon.send(`/webhook/${path}`, { headers, body });
  equal(answer.status, 200, answer.text);
  await daemon.settled();
}

/** A clone in which a test works as a step does. */
export interface Clone extends AsyncDisposable {
  readonly path: string;
  /** Moves to a branch or commit of the fake GitHub. */
  checkOut(revision: string): Promise<string>;
  /** Writes files (`null` removes one); returns the change from where the clone is, with its pack. */
  change(files: Readonly<Record<string, string | null>>): Promise<Change>;
}

/** A change as an operation takes it. */
export interface Change {
  readonly start: string;
  readonly tree: string;
  readonly pack: Uint8Array<ArrayBuffer>;
}

/** Clones the repository. */
export async function cloneOf(
  fake: { readonly git: Pick<FakeGitHubWithGit["git"], "directory" | "find"> },
  repository = REPOSITORY,
): Promise<Clone> {
  const dir = await tempDir();
  const path = `${dir.path}/clone`;
  await git(dir.path, "clone", "--quiet", fake.git.directory(repository), path);
  return {
    path,
    async checkOut(revision) {
      await git(path, "fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*");
      const isBranch = await fake.git.find(repository, `refs/heads/${revision}`);
      await git(path, "checkout", "--quiet", "--force", "--detach", isBranch ?? revision);
      return await git(path, "rev-parse", "HEAD");
    },
    async change(files) {
      for (const [name, text] of Object.entries(files)) {
        if (text === null) {
          await Deno.remove(`${path}/${name}`);
          continue;
        }
        await Deno.mkdir(`${path}/${name}/..`.replace(/[^/]*\/\.\.$/, ""), { recursive: true });
        await Deno.writeTextFile(`${path}/${name}`, text);
      }
      await git(path, "add", "--all");
      const start = await git(path, "rev-parse", "HEAD");
      const tree = await git(path, "write-tree");
      const pack = await packAll(path);
      return { start, tree, pack };
    },
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

/** A pack with every object of a repository. */
async function packAll(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const ids = await git(path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)");
  const child = new Deno.Command("git", {
    args: ["-C", path, "pack-objects", "--stdout", "--quiet"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(`${ids}\n`));
  await writer.close();
  const { stdout } = await child.output();
  return new Uint8Array(stdout);
}

/** Asks for a pull request as an operator; a refusal is thrown. */
export async function createPull(
  daemon: TestDaemon,
  { pack, ...change }: Change,
  given: Omit<Input<"github.pr_create">, "start" | "tree">,
): Promise<Output<"github.pr_create">> {
  using client = daemon.client();
  return await client.callWith("github.pr_create", { ...given, ...change }, { attachment: pack });
}

/** Asks for a commit onto the pull request of a task. */
export async function pushChange(
  daemon: TestDaemon,
  { pack, ...change }: Change,
  given: Omit<Input<"github.push">, "start" | "tree">,
): Promise<Output<"github.push">> {
  using client = daemon.client();
  return await client.callWith("github.push", { ...given, ...change }, { attachment: pack });
}

/** A message, as `svc get outbox` shows it. */
export interface Message {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: string;
  readonly external_id: string | null;
}

/** The message with this id once it is over, or held. */
export async function messageOf(daemon: TestDaemon, id: string): Promise<Message> {
  using client = daemon.client();
  return await until(`the end of message ${id}`, async () => {
    const { items } = await client.call("get", { what: "outbox" });
    const found = (items as unknown as Message[]).find((one) => one.id === id);
    return found === undefined || found.state === "pending" ? undefined : found;
  });
}

/** A directory in which a test keeps a daemon's data. */
export type Data = DataDirectory;
