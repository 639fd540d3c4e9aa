/**
 * docs/tutorial.md, done as it says, with a stand-in for GitHub and without GitHub: every block that
 * a reader types is run, in order.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { DENO_DIR, NO_DATABASE, ONE_PROGRAM, programTest, ROOT, run } from "../helpers/program.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

const PAGE = await Deno.readTextFile(join(ROOT, "docs/tutorial.md"));
const REPOSITORY = "brightwater/tidepool";
const MONA = { login: "mona", id: 7 };

/** A block for a shell, and whether it stands below "Without GitHub". */
interface Block {
  readonly text: string;
  readonly offline: boolean;
}

/** The blocks below a heading; the last sentence before a block says whom it is for. */
function blocksOf(heading: string): Block[] {
  const [, section = ""] = new RegExp(`^## ${heading}\\n([^]*?)(?=^## |(?![^]))`, "m").exec(PAGE) ??
    [];
  const found = [...section.matchAll(/^([^\n]+)\n\n *```sh\n([^]*?)^ *```$/gm)];
  ok(found.length > 0, heading);
  return found.map(([, before = "", text = ""]) => ({
    text: text.replace(/^ {2}/gm, ""),
    offline: before.includes("**Without GitHub**"),
  }));
}

/** What a reader types; the question is asked in the one way or the other, what else differs is more. */
function typed(heading: string, offline: boolean): string[] {
  const isAsked = heading === "Ask a question";
  return blocksOf(heading)
    .filter((block) => block.offline === offline || (offline && !isAsked))
    .map(({ text }) => text);
}

/** A reader: a directory with `answer.yaml`, and `svc` on the path. */
function readerOf(daemon: TestDaemon, home: TempDir) {
  const env = {
    SVC_DATA_DIR: daemon.dataDir,
    PATH: `${daemon.dataDir}/bin:${Deno.env.get("PATH")}`,
    HOME: home.path,
    DENO_DIR,
  };
  return async (script: string): Promise<string> => {
    const { code, stdout, stderr } = await run("/bin/sh", ["-euc", script], {
      cwd: home.path,
      env,
    });
    equal(code, 0, `${script}\n${stdout}${stderr}`);
    return stdout;
  };
}

async function writeManifest(home: TempDir): Promise<void> {
  const [, manifest = ""] = /^```yaml\n([^]*?)^```$/m.exec(PAGE) ?? [];
  await home.write("answer.yaml", manifest);
}

const answers = (github: FakeGitHub) =>
  github.issues.comments.filter(({ user }) => user.id === TOKEN.id);

programTest("docs/tutorial.md, with a repository", async () => {
  const github = fakeGitHub({
    repositories: [{
      full_name: REPOSITORY,
      permissions: { [TOKEN.login]: "admin", [MONA.login]: "write" },
    }],
  });
  await using _github = github;
  await using daemon = await startDaemon(ONE_PROGRAM);
  await using home = await tempDir();
  const type = readerOf(daemon, home);
  const all = async (heading: string) => {
    let printed = "";
    for (const text of typed(heading, false)) printed += await type(text);
    return printed;
  };
  github.issues.issues.push({
    repository: REPOSITORY,
    number: 7,
    title: "The sky",
    body: "",
    user: MONA,
  });
  const ask = async (body: string, answered: number) => {
    await github.issues.comment({ repository: REPOSITORY, issue: 7, user: MONA, body });
    await type("svc connection repair tidepool"); // as every 15 seconds, only now
    await daemon.settled();
    await until("the answer", () => answers(github).length === answered || undefined);
  };

  await home.write("token", TOKEN.token);
  const [connect = ""] = typed("Connect a repository", false);
  match(connect, /^svc connect github OWNER\/REPO --pull\n$/);
  const here = connect.replace("OWNER/REPO", REPOSITORY).trim();
  match(await type(`${here} --api ${github.url} --token @token`), /is connected; its log is read/);
  await writeManifest(home);
  match(await all("Add an agent"), /trigger\/answer created/);

  await ask("/ask Why is the sky blue?", 1);
  match(answers(github)[0]?.body ?? "", /^I read \d+ words, and have no model/);
  match(await all("Ask a question"), /answer .*succeeded[^]*have no model[^]*github-comment +sent/);

  match(await all("Make a mistake"), /trigger\/answer configured/);
  await ask("/ask And at night?", 1);
  const found = await all("Find it");
  match(found, /filtered .* field not found: boddy, did you mean "body"\?/);
  match(found, /payload\.comment\.boddy\.startsWith\("\/ask"\) is an error/);

  const repaired = await all("Repair it");
  match(repaired, /accepted as delivery\//);
  await until("the second answer", () => answers(github).length === 2 || undefined);

  const [cap = "", away = "", ...more] = typed("Before you use it for real", false);
  deepEqual(more, []);
  const [token = ""] = /svct_\S+/.exec(await type(cap.replace("~/.svc", "$SVC_DATA_DIR"))) ?? [];
  match(await type("svc status"), /^you: +operator/m);
  const removed = await type(`export SVC_TOKEN=${token}\n${away.replace("REPO", "tidepool")}`);
  match(removed, /trigger\/answer deleted/);
  equal(github.hooks.hooks.size, 0);
}, { fileOnly: NO_DATABASE });

programTest("docs/tutorial.md, without GitHub", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await using home = await tempDir();
  const type = readerOf(daemon, home);
  const all = async (heading: string) => {
    let printed = "";
    for (const text of typed(heading, true)) printed += await type(text);
    return printed;
  };
  const [, install = ""] = typed("Connect a repository", true);
  match(await type(install), /trigger\/github-push created/);
  await writeManifest(home);
  match(await all("Add an agent"), /trigger\/answer configured/);
  const asked = await all("Ask a question");
  match(asked, /200 accepted: task[^]*have no model[^]*github-comment +failed .*No Connection/);
  match(await all("Make a mistake"), /filtered/);
  match(await all("Find it"), /boddy, did you mean "body"\?/);
  match(await all("Repair it"), /accepted as delivery\//);
  await type(/`(svc integration uninstall [^`]*)`/.exec(PAGE)?.[1] ?? "exit 1");
});
