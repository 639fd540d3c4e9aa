import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { concatBytes, utf8 } from "../../src/base/bytes.ts";
import { type GitRemote, NO_COMMIT, type RefUpdate } from "../../src/git/change.ts";
import { FLUSH, pktLine } from "../../src/git/pkt_line.ts";
import { pushRef, readRefs } from "../../src/git/smart_http.ts";
import { type FakeOptions, TOKEN } from "../fakes/github.ts";
import { type FakeGitHubWithGit, fakeGitHubWithGit } from "../fakes/github_git.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { PackBuilder } from "../rigs/pack_builder.ts";

const NO_GIT = missing("git");
const REPOSITORY = "brightwater/tidepool";
const BRANCH = "refs/heads/svc/fix-42";

function remoteAt(url: string, token = TOKEN.token): GitRemote {
  return {
    url,
    authorization: `Basic ${btoa(`x-access-token:${token}`)}`,
    needs: "the permission contents=write",
    signal: new AbortController().signal,
  };
}

/** A commit on top of another, whose tree is new, and the push of it. */
function pushOf(parent: string, text: string, old = NO_COMMIT): RefUpdate {
  const builder = new PackBuilder();
  const tree = builder.files({ "README.md": text });
  const id = builder.commit(tree, { parents: [parent] });
  return { ref: BRANCH, old, new: id, pack: piecesOf(builder.pack()) };
}

async function* piecesOf(pack: Uint8Array<ArrayBuffer>) {
  for (let at = 0; at < pack.length; at += 1024 * 1024) {
    yield await Promise.resolve(pack.subarray(at, at + 1024 * 1024));
  }
}

/** A test over the fake GitHub. */
function test(
  name: string,
  run: (fake: FakeGitHubWithGit, remote: GitRemote, base: string) => Promise<void>,
  options?: FakeOptions,
): void {
  Deno.test(skippable(name, NO_GIT), async () => {
    await using fake = await fakeGitHubWithGit(options);
    const base = await fake.git.find(REPOSITORY, "main") ?? "";
    await run(fake, remoteAt(`${fake.url}/${REPOSITORY}.git`), base);
  });
}

test(
  "a new branch is pushed, moved on, and replaced under its lease",
  async (fake, remote, base) => {
    const first = pushOf(base, "one\n");
    deepEqual(await pushRef(remote, first, systemClock), { result: "done" });
    const read = await readRefs(remote, (ref) => ref.startsWith("refs/heads/"), systemClock);
    ok(read.result === "done");
    deepEqual([...read.refs], [["refs/heads/main", base], [BRANCH, first.new]]);
    const second = pushOf(first.new, "two\n", first.new);
    deepEqual(await pushRef(remote, second, systemClock), { result: "done" });
    const replaced = pushOf(base, "three\n", second.new);
    deepEqual(await pushRef(remote, replaced, systemClock), { result: "done" });
    equal(await fake.git.find(REPOSITORY, BRANCH), replaced.new);
    equal(await fake.git.run(REPOSITORY, "show", `${BRANCH}:README.md`), "three");
  },
);

test("a push that was carried out already is done, and sent once", async (fake, remote, base) => {
  const push = pushOf(base, "one\n");
  fake.interfere = ({ method }, carryOut) => {
    if (method !== "POST") return undefined;
    fake.interfere = undefined;
    return carryOut().then(() => new Response(null, { status: 502 }));
  };
  const lost = await pushRef(remote, push, systemClock);
  ok(lost.result === "later" && lost.mayHaveArrived, JSON.stringify(lost));
  deepEqual(await pushRef(remote, push, systemClock), { result: "done" });
  equal(fake.calls.filter(({ method }) => method === "POST").length, 1);
});

test("a branch that has moved stays, whenever it moves", async (fake, remote, base) => {
  const first = pushOf(base, "one\n");
  await pushRef(remote, first, systemClock);
  const others = await fake.git.commit(REPOSITORY, "svc/fix-42", { "x": "x\n" });
  const push = pushOf(first.new, "two\n", first.new);
  const before = await pushRef(remote, push, systemClock);
  ok(before.result === "moved" && !before.mayHaveArrived);
  equal(fake.calls.filter(({ method }) => method === "POST").length, 1, "only the first push");
  match(before.reason, /^The branch svc\/fix-42 is at [0-9a-f]{12}, and was expected to be at/);
  const late = pushOf(others, "two\n", others);
  let moved = "";
  fake.interfere = async ({ method }, carryOut) => {
    if (method === "POST") moved = await fake.git.commit(REPOSITORY, "svc/fix-42", { y: "y\n" });
    return await carryOut();
  };
  const result = await pushRef(remote, late, systemClock);
  ok(result.result === "moved", JSON.stringify(result));
  equal(await fake.git.find(REPOSITORY, BRANCH), moved);
  fake.interfere = undefined;
  const gone = pushOf(base, "three\n", "1".repeat(40));
  await fake.git.run(REPOSITORY, "update-ref", "-d", BRANCH);
  const deleted = await pushRef(remote, gone, systemClock);
  ok(deleted.result === "moved" && /does not exist/.test(deleted.reason));
});

test(
  "what a rule of the server says is quoted, without what drives a terminal",
  async (fake, remote, base) => {
    await fake.git.setHook(
      REPOSITORY,
      "printf 'GH013: Repository rule violations\\033]0;title\\007 \\033[2Jfound\\r\\n' >&2; exit 1",
    );
    const push = pushOf(base, "one\n");
    const result = await pushRef(remote, push, systemClock);
    ok(result.result === "refused" && !result.mayHaveArrived, JSON.stringify(result));
    match(
      result.reason,
      /^127\.0\.0\.1:\d+ refused the push: pre-receive hook declined \(GH013: Repository rule violations found\)$/,
    );
    equal(await fake.git.find(REPOSITORY, BRANCH), undefined);
  },
);

test("5,000 refs are read, and those that are wanted kept", async (fake, remote, base) => {
  const lines = Array.from({ length: 5000 }, (_, n) => `${base} refs/tags/v${n}`);
  const packed = `${fake.git.directory(REPOSITORY)}/packed-refs`;
  await Deno.writeTextFile(packed, `# pack-refs with: sorted\n${lines.toSorted().join("\n")}\n`);
  const read = await readRefs(remote, (ref) => ref === "refs/tags/v4999", systemClock);
  ok(read.result === "done");
  deepEqual([...read.refs], [["refs/tags/v4999", base]]);
  deepEqual(await pushRef(remote, pushOf(base, "one\n"), systemClock), { result: "done" });
});

test("a pack of many pieces is streamed", async (_fake, remote, base) => {
  const builder = new PackBuilder();
  const content = crypto.getRandomValues(new Uint8Array(65_536));
  const noise = new Uint8Array(5 * 1024 * 1024).map((_, at) =>
    (content[at % 65_521] ?? 0) ^ at >> 16
  );
  const id = builder.commit(builder.files({ noise: { content: noise } }), { parents: [base] });
  const push = { ref: BRANCH, old: NO_COMMIT, new: id, pack: piecesOf(builder.pack()) };
  deepEqual(await pushRef(remote, push, systemClock), { result: "done" });
});

test(
  "a repository that was renamed is named so, and nothing is followed",
  async (fake, remote, base) => {
    fake.state.renamed.set(REPOSITORY, "brightwater/estuary");
    const result = await pushRef(remote, pushOf(base, "one\n"), systemClock);
    ok(result.result === "refused" && /renamed or transferred/.test(result.reason));
    equal(fake.calls.length, 1);
  },
);

for (
  const [what, token, pattern] of [
    ["a wrong token", "ghp_other", /refuses the token/],
    ["a token without the right", "ghp_reader", /needs the permission contents=write/],
  ] as const
) {
  test(`${what} is refused in words that help`, async (_fake, remote, base) => {
    const result = await pushRef(
      { ...remote, authorization: `Basic ${btoa(`x-access-token:${token}`)}` },
      pushOf(base, "one\n"),
      systemClock,
    );
    ok(result.result === "refused" && !result.mayHaveArrived);
    match(result.reason, pattern);
    ok(!result.reason.includes(token));
  }, {
    tokens: [TOKEN, { token: "ghp_reader", login: "svc-bot", id: 1, permissions: [] }],
  });
}

test("a repository that is not there", async (fake, _remote, base) => {
  const result = await pushRef(
    remoteAt(`${fake.url}/brightwater/none.git`),
    pushOf(base, "x\n"),
    systemClock,
  );
  ok(result.result === "refused" && /has no such repository/.test(result.reason));
});

const ADVERTISEMENT = "application/x-git-receive-pack-advertisement";
const RESULT = "application/x-git-receive-pack-result";
const CAPABLE = `\0report-status side-band-64k atomic\n`;
const REFS = concatBytes(
  pktLine("# service=git-receive-pack\n"),
  FLUSH,
  pktLine(`${"a".repeat(40)} refs/heads/main${CAPABLE}`),
  FLUSH,
);

function answer(type: string, body: BodyInit, status = 200): Response {
  return new Response(body, { status, headers: { "content-type": type } });
}

function band(number: number, ...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = concatBytes(new Uint8Array([number]), ...parts);
  return concatBytes(utf8((bytes.length + 4).toString(16).padStart(4, "0")), bytes);
}

function endless(chunk: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
}

/** What a hostile server answers to the list and to the push, and what becomes of the push. */
const HOSTILE: readonly (readonly [
  what: string,
  list: () => Response,
  push: () => Response,
  result: "refused" | "later",
  reason: RegExp,
])[] = [
  [
    "a page",
    () => answer("text/html", "<h1>Sign in</h1>"),
    unasked,
    "refused",
    /text\/html in place/,
  ],
  [
    "an endless page",
    () => answer("text/html", endless(utf8("<p>"))),
    unasked,
    "refused",
    /text\/html/,
  ],
  [
    "an endless refusal",
    () => answer("text/plain", endless(utf8("no ".repeat(1000))), 403),
    unasked,
    "refused",
    /does not allow the push.*no no/,
  ],
  [
    "no refs",
    () => answer(ADVERTISEMENT, ""),
    unasked,
    "later",
    /ended its list of refs too early/,
  ],
  [
    "endless refs",
    () =>
      answer(ADVERTISEMENT, endless(pktLine(`${"a".repeat(40)} refs/tags/${"x".repeat(60_000)}`))),
    unasked,
    "later",
    /sent more than 67108864 bytes/,
  ],
  [
    "a line of no length",
    () => answer(ADVERTISEMENT, "zzzz"),
    unasked,
    "later",
    /not git's protocol/,
  ],
  [
    "a line of 3 bytes",
    () => answer(ADVERTISEMENT, "0003"),
    unasked,
    "later",
    /not git's protocol/,
  ],
  ["a line too long", () => answer(ADVERTISEMENT, "ffff"), unasked, "later", /not git's protocol/],
  ["half a line", () => answer(ADVERTISEMENT, "00ffabc"), unasked, "later", /within a line/],
  [
    "refs of SHA-256",
    () =>
      answer(
        ADVERTISEMENT,
        concatBytes(
          FLUSH,
          pktLine(`${"0".repeat(64)} capabilities^{}\0report-status object-format=sha256`),
          FLUSH,
        ),
      ),
    unasked,
    "refused",
    /does not use SHA-1/,
  ],
  [
    "a server that reports nothing",
    () =>
      answer(
        ADVERTISEMENT,
        concatBytes(FLUSH, pktLine(`${NO_COMMIT} capabilities^{}\0atomic`), FLUSH),
      ),
    unasked,
    "refused",
    /does not say what becomes of a push/,
  ],
  ["a pause", () => limited(429, "17"), unasked, "later", /asks for a pause of 17 s/],
  ["a pause of a secondary limit", () => limited(403, "30"), unasked, "later", /pause of 30 s/],
  [
    "a status of 500",
    () => answer("text/plain", "oops\u001b[2J", 500),
    unasked,
    "later",
    /500 \(oops\)/,
  ],
  ["a page after the push", refs, () => answer("text/html", "x"), "later", /text\/html in place/],
  ["nothing after the push", refs, () => answer(RESULT, ""), "later", /did not say what became/],
  [
    "only words after the push",
    refs,
    () => answer(RESULT, concatBytes(band(2, utf8("hello\u001b]0;x\u0007")), FLUSH)),
    "later",
    /did not say what became of the push \(hello\)$/,
  ],
  [
    "endless words after the push",
    refs,
    () => answer(RESULT, endless(band(2, utf8("hello ".repeat(1000))))),
    "later",
    /sent more than 1048576 bytes/,
  ],
  [
    "another branch in the report",
    refs,
    () =>
      answer(
        RESULT,
        concatBytes(band(1, pktLine("unpack ok\n"), pktLine("ok refs/heads/main\n"), FLUSH), FLUSH),
      ),
    "later",
    /did not say what became/,
  ],
  [
    "a report that breaks off",
    refs,
    () => answer(RESULT, concatBytes(band(1, utf8("00ffunpack")), FLUSH)),
    "later",
    /within a line/,
  ],
  [
    "a push elsewhere",
    refs,
    () => new Response(null, { status: 307, headers: { location: "https://evil.example/" } }),
    "refused",
    /has moved/,
  ],
  [
    "objects that cannot be unpacked",
    refs,
    () =>
      answer(
        RESULT,
        concatBytes(
          band(
            1,
            pktLine("unpack index-pack failed\n"),
            pktLine(`ng ${BRANCH} unpacker error\n`),
            FLUSH,
          ),
          FLUSH,
        ),
      ),
    "refused",
    /refused the push: unpacker error/,
  ],
];

function refs(): Response {
  return answer(ADVERTISEMENT, REFS);
}

function limited(status: number, secs: string): Response {
  return new Response("slow down", {
    status,
    headers: { "retry-after": secs, "content-type": "text/plain" },
  });
}

function unasked(): Response {
  throw new Error("The push was sent");
}

for (const [what, list, push, result, reason] of HOSTILE) {
  Deno.test(`a server that answers with ${what} does no harm`, async () => {
    const asked: string[] = [];
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        asked.push(request.method);
        await request.bytes();
        return request.method === "GET" ? list() : push();
      },
    );
    const remote = remoteAt(`http://127.0.0.1:${server.addr.port}/acme/site.git`);
    const pushed = await pushRef(remote, pushOf("a".repeat(40), "x\n"), systemClock);
    equal(pushed.result, result, JSON.stringify(pushed));
    ok("reason" in pushed);
    match(pushed.reason, reason);
    ok(pushed.reason.length < 2100 && !/\p{Cc}/u.test(pushed.reason));
    equal(pushed.mayHaveArrived, asked.includes("POST") && result === "later");
  });
}

Deno.test("nothing listens, and the push did not arrive", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  listener.close();
  const remote = remoteAt(`http://127.0.0.1:${listener.addr.port}/acme/site.git`);
  const pushed = await pushRef(remote, pushOf("a".repeat(40), "x\n"), systemClock);
  ok(pushed.result === "later" && !pushed.mayHaveArrived);
});
