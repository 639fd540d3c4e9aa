/**
 * The kind `github-check`: more annotations than one call takes, answers that are lost, updates.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { ForgeTokens } from "../../src/connections/forge_tokens.ts";
import { OwnUsers } from "../../src/connections/own_users.ts";
import { atGitHub } from "../rigs/github_sending.ts";
import { githubCheckKinds } from "../../src/outbox/github_check.ts";
import { Markers } from "../../src/outbox/marker.ts";
import type { SendHost, SendResult } from "../../src/outbox/message_kind.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { KnownSecrets } from "../../src/secrets/known_secrets.ts";
import type { ClaimedMessage } from "../../src/store/outbox_records.ts";
import { type FakeGitHub, fakeGitHub } from "../fakes/github.ts";
import { FakeChecks } from "../fakes/github_checks.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";

const REPOSITORY = "acme/site";
const SHA = "9be7a2d05c41f386e31f6c8a47d24f0c61d2b97a";

class Rig implements AsyncDisposable {
  checks!: FakeChecks;
  readonly github: FakeGitHub;
  readonly #stack = new AsyncDisposableStack();
  #host: SendHost | undefined;

  constructor() {
    this.github = this.#stack.use(fakeGitHub({
      tokens: [],
      repositories: [{ full_name: REPOSITORY }],
      routes: (state) => (this.checks = new FakeChecks(state)).routes,
    }));
  }

  async open(): Promise<this> {
    const { apps, url } = this.github;
    const permissions = { checks: "write" };
    const app = apps.register("acme", { name: "svc", default_permissions: permissions });
    apps.install(app, "acme");
    const temp = this.#stack.use(await tempStore());
    const privateKey = { fromSecret: { store: "acme", key: "app-key" } };
    const catalog = new Catalog(manifestResources([
      JSON.stringify({
        kind: "SecretStore",
        metadata: { name: "acme" },
        spec: { data: { "app-key": app.pem } },
      }),
      JSON.stringify({
        kind: "Connection",
        metadata: { name: "acme" },
        spec: { github: { api: url, app: { id: app.id, slug: app.slug, privateKey } } },
      }),
    ].join("\n---\n")));
    const clock = systemClock;
    this.#host = {
      catalog,
      clock,
      slackApiUrl: "",
      markers: new Markers(new Uint8Array(32)),
      ownUsers: new OwnUsers(temp.store, clock),
      forgeTokens: new ForgeTokens({ catalog, clock, secrets: new KnownSecrets() }),
      signal: new AbortController().signal,
    } as SendHost;
    return this;
  }

  /** Sends a message; `id` names it. */
  send(id: string, body: Record<string, unknown>, previousId = ""): Promise<SendResult> {
    const message = {
      id,
      project: "default",
      connection: "acme",
      kind: "github-check",
      target: { repository: REPOSITORY, name: "svc/review", sha: SHA },
      key: "task svc/review",
      body: { annotations: [], ...body },
    } as unknown as ClaimedMessage["message"];
    return atGitHub(githubCheckKinds).send({ message, lane: "acme", previousId }, this.#host!);
  }

  [Symbol.asyncDispose]() {
    return this.#stack.disposeAsync();
  }
}

const annotations = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    path: "a.ts",
    start_line: at + 1,
    end_line: at + 1,
    annotation_level: "warning",
    message: `${at + 1}`,
  }));

function externalId(result: SendResult): string {
  equal(result.result, "sent", JSON.stringify(result));
  return result.result === "sent" ? result.externalId : "";
}

Deno.test("a run begins, and ends with all annotations, each once", async () => {
  await using rig = await new Rig().open();
  const first = externalId(await rig.send("01", { status: "in_progress" }));
  match(first, new RegExp(`^[0-9]+ ${SHA}$`));
  const body = { conclusion: "failure", summary: "look", annotations: annotations(120) };
  equal(externalId(await rig.send("02", body, first)), first);
  const [run, ...others] = rig.checks.runs;
  equal(others.length, 0);
  equal(run?.status, "completed");
  deepEqual(
    run?.annotations.map(({ message }) => message),
    annotations(120).map((one) => one.message),
  );
});

Deno.test("wherever an answer is lost, the next try doubles nothing", async (t) => {
  for (const lost of [1, 2, 3]) {
    await t.step(`that of writing call ${lost}`, async () => {
      await using rig = await new Rig().open();
      let writes = 0;
      rig.github.interfere = async (call, carryOut) => {
        const answer = await carryOut();
        const isWrite = /\/check-runs(\/[0-9]+)?$/.test(call.path) && call.method !== "GET";
        return isWrite && ++writes === lost ? new Response("", { status: 502 }) : answer;
      };
      const body = { conclusion: "neutral", annotations: annotations(120) };
      const result = await rig.send("01", body);
      equal(result.result, "later");
      externalId(await rig.send("01", body));
      equal(rig.checks.runs.length, 1);
      deepEqual(
        rig.checks.runs[0]?.annotations.map(({ message }) => message),
        annotations(120).map(({ message }) => message),
      );
    });
  }
});

Deno.test("new annotations beside old ones make another run of the name", async () => {
  await using rig = await new Rig().open();
  const body = { conclusion: "failure", annotations: annotations(2) };
  const first = externalId(await rig.send("01", body));
  const second = externalId(await rig.send("02", { ...body, annotations: annotations(1) }, first));
  equal(first === second, false);
  deepEqual(rig.checks.runs.map((run) => run.annotations.length), [2, 1]);
  const third = externalId(await rig.send("03", { conclusion: "success" }, second));
  equal(third, second);
  deepEqual(rig.checks.runs.map((run) => run.conclusion), ["failure", "success"]);
});
