/**
 * svc and a real Gitea: connected by a command, a pull request is opened and renewed there.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon } from "../helpers/daemon.ts";
import type { Manifest } from "../helpers/manifests.ts";
import { longTest, NO_DATABASE, ONE_PROGRAM } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import {
  ask,
  cloneOf,
  createPull,
  manifestsOf,
  messageOf,
  REPOSITORY,
} from "../rigs/change_rig.ts";
import { NO_GITEA, realGitea } from "../rigs/real_gitea.ts";

interface Pull {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly head: { readonly ref: string; readonly sha: string };
}

longTest(
  "a real Gitea is connected, gets a pull request, and gets it renewed",
  async () => {
    await using gitea = await realGitea(REPOSITORY);
    await using daemon = await startDaemon(ONE_PROGRAM);
    const args = ["connect", "github", REPOSITORY, "--api", gitea.api, "--url", daemon.url];
    const connected = await daemon.svc([...args, "--token", "-"], { stdin: `${gitea.token}\n` });
    equal(connected.code, 0, connected.stderr);
    match(connected.stderr, /token of svc-bot\n/);
    ok((await gitea.call("GET", `/repos/${REPOSITORY}/hooks`) as unknown[]).length > 0);

    const connections = await daemon.json("get", "connections") as unknown[];
    equal(connections.length, 1);
    // The package that connects has a SecretStore of this name, too.
    const mine = JSON.stringify(manifestsOf(gitea.api)).replaceAll(
      '"name":"github"',
      '"name":"mine"',
    )
      .replaceAll('"fromRef":"github"', '"fromRef":"mine"');
    const wanted = (JSON.parse(mine) as Manifest[]).filter(({ kind, metadata: { name } }) =>
      kind !== "Connection" && name !== "tidepool"
    );
    await daemon.apply(...wanted);
    await using clone = await cloneOf(gitea);
    const pulls = async () =>
      await gitea.call("GET", `/repos/${REPOSITORY}/pulls?state=all`) as readonly Pull[];
    const first = await createPull(daemon, await clone.change({ "src/a.ts": "1\n" }), {
      task: await ask(daemon),
      title: "Fix the build",
      body: "It was @mona's.",
    });
    const sent = await messageOf(daemon, first.outbox_id);
    equal(sent.state, "sent", sent.reason);
    const [pull] = await pulls();
    deepEqual([pull?.head.ref, pull?.head.sha], ["svc/fix-1", first.sha]);
    match(pull?.title ?? "", /Fix the build$/);
    match(pull?.body ?? "", /Fixes #1\n.*<!-- svc pull [^\n]* -->$/s);

    const second = await createPull(daemon, await clone.change({ "src/a.ts": "2\n" }), {
      task: await ask(daemon),
      title: "Fix it better",
    });
    const renewed = await messageOf(daemon, second.outbox_id);
    equal(renewed.state, "sent", renewed.reason);
    const all = await pulls();
    deepEqual(all.map(({ head, number }) => [number, head.sha]), [[pull?.number, second.sha]]);
    match(all[0]?.title ?? "", /Fix it better$/);
  },
  { skip: NO_GITEA ?? missing("git"), fileOnly: NO_DATABASE },
);
