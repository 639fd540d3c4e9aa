/**
 * Lists of a server that have no end: each reading of one ends all the same, and says why.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { AppError } from "../../../src/base/errors.ts";
import type { ApiAccess } from "../../../src/connections/api/api_call.ts";
import { listHooks } from "../../../src/connections/github/hooks.ts";
import { pagesOf } from "../../../src/connections/api/pages.ts";
import { gitHubLog } from "../../../src/connections/github/delivery_log.ts";
import { type LogReading, readLog } from "../../../src/connections/hooks/repair_hook.ts";
import { ForgeTokens } from "../../../src/connections/forge_tokens.ts";
import { OwnUsers } from "../../../src/connections/own_users.ts";
import { atGitHub } from "../../rigs/github_sending.ts";
import { commentKinds } from "../../../src/outbox/comment.ts";
import { Markers } from "../../../src/outbox/marker.ts";
import type { FindResult } from "../../../src/outbox/message_kind.ts";
import { KnownSecrets } from "../../../src/secrets/known_secrets.ts";
import { Catalog } from "../../../src/resources/catalog.ts";
import type { ClaimedMessage } from "../../../src/store/outbox_records.ts";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../../fakes/github.ts";
import { ManualClock } from "../../helpers/manual_clock.ts";
import { tempStore } from "../../helpers/temp_store.ts";
import { manifestResources } from "../../rigs/webhook_rig.ts";

const HOUR = 3600_000;

function access({ url }: FakeGitHub): ApiAccess {
  return { api: url, token: () => TOKEN.token, clock: systemClock };
}

/** What a server without an end does with `next`. */
const ENDLESS: Readonly<Record<string, (n: number, path: string) => string>> = {
  "ever further": (n, path) => `${path}?page=${n}`,
  "back to its beginning": (_, path) => `${path}?per_page=100`,
  "in a circle of three": (n, path) => `${path}?page=${n % 3}`,
};

/** Has a fake answer each list with `items`, and with a next page whatever was asked. */
function endless(
  fake: FakeGitHub,
  next: (n: number, path: string) => string,
  items: (n: number) => unknown[],
) {
  let n = 0;
  fake.interfere = ({ path, method }) => {
    const [what = ""] = path.split("?");
    if (method !== "GET" || !/(hooks|deliveries|comments)$/.test(what)) return undefined;
    const link = `<${fake.url}${next(++n, what)}>; rel="next"`;
    return Response.json(items(n), { headers: { link } });
  };
}

for (const [where, next] of Object.entries(ENDLESS)) {
  Deno.test(`webhooks of a list that leads ${where} are refused, with why`, async () => {
    await using fake = fakeGitHub();
    endless(fake, next, () => []);
    await rejects(
      listHooks(access(fake), { repository: "brightwater/tidepool" }),
      (error) =>
        error instanceof AppError && error.code === "refused" &&
        /^The list \/repos\/brightwater\/tidepool\/hooks (has more than 100 pages|returns)/.test(
          error.message,
        ),
    );
    ok(fake.calls.length <= 100, `${fake.calls.length}`);
  });

  Deno.test(`a comment is not sent where it cannot be looked for in a list that leads ${where}`, async () => {
    await using fake = fakeGitHub();
    endless(fake, next, () => []);
    const found = await findComment(fake);
    equal(found.result, "refused");
    ok(fake.calls.length <= 101, `${fake.calls.length}`);
    ok(fake.calls.every(({ method }) => method === "GET"));
  });

  Deno.test(`a log that leads ${where} is read as far as it goes, and the rest is named`, async () => {
    await using fake = fakeGitHub();
    const now = Date.now();
    const one = (n: number) => ({
      id: n,
      guid: `g${n}`,
      delivered_at: new Date(now - n * 1000).toISOString(),
      status_code: 500,
      event: "push",
    });
    endless(fake, next, (n) => [one(n)]);
    await using temp = await tempStore();
    const reading: LogReading = {
      log: gitHubLog(access(fake), { repository: "brightwater/tidepool" }, 7),
      project: "default",
      upTo: now - HOUR,
      signal: new AbortController().signal,
    };
    const found = await readLog(reading, { store: temp.store, clock: systemClock });
    ok(typeof found === "object" && "missed" in found);
    ok(fake.calls.length <= 501, `${fake.calls.length}`);
    equal(found.missed.length, fake.calls.length, "what was read is not thrown away");
    const oldest = found.missed[0]?.at;
    deepEqual([found.beyond?.from, found.beyond?.to], [now - HOUR, oldest]);
    match(found.beyond?.why ?? "", /has more than 500 pages|returns to an earlier page/);
  });
}

Deno.test("pages that each take long end after a minute, to be read another time", async () => {
  const clock = new ManualClock();
  const read = async (path: string) => {
    await clock.advance(19_000);
    return { next: `${path}x` };
  };
  let pages = 0;
  await rejects(
    async () => {
      for await (const _page of pagesOf("/a", { read, clock })) pages++;
    },
    (error) => error instanceof AppError && error.code === "overloaded",
  );
  equal(pages, 4);
});

Deno.test("a comment that is looked for in a list that comes slowly is looked for later", async () => {
  await using fake = fakeGitHub();
  const clock = new ManualClock();
  let n = 0;
  fake.interfere = ({ path }) => {
    const [what = ""] = path.split("?");
    if (!what.endsWith("/comments")) return undefined;
    const link = `<${fake.url}${what}?page=${++n}>; rel="next"`;
    return clock.advance(9_000).then(() => Response.json([], { headers: { link } }));
  };
  const found = await findComment(fake, clock);
  equal(found.result, "later");
  ok(n < 10, `${n}`);
});

/** Looks for a comment that may have been made. */
async function findComment(fake: FakeGitHub, clock = new ManualClock()): Promise<FindResult> {
  await using temp = await tempStore();
  const catalog = new Catalog(manifestResources(`
kind: SecretStore
metadata: {name: tidepool}
spec: {data: {token: ${TOKEN.token}}}
---
kind: Connection
metadata: {name: tidepool}
spec:
  github:
    api: ${fake.url}
    repository: brightwater/tidepool
    token: {fromSecret: {store: tidepool, key: token}}
`));
  const message = {
    project: "default",
    connection: "tidepool",
    kind: "github-comment",
    target: { repository: "brightwater/tidepool", number: 7 },
    key: "review",
  } as unknown as ClaimedMessage["message"];
  const claimed = { message, lane: "tidepool", previousId: "", uncertainSince: clock.now() };
  const found = await atGitHub(commentKinds).find?.(claimed, {
    catalog,
    clock,
    slackApiUrl: "",
    markers: new Markers(new Uint8Array(32)),
    ownUsers: new OwnUsers(temp.store, clock),
    forgeTokens: new ForgeTokens({ catalog, clock, secrets: new KnownSecrets() }),
    async *readContent() {},
    signal: new AbortController().signal,
  });
  if (found === undefined) throw new Error("comments can be found");
  return found;
}
