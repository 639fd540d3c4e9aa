/**
 * git's protocol over HTTP (gitprotocol-http, gitprotocol-pack), as far as a push of one ref needs it. svc
 * speaks it itself, so that no git ever has a token or the network, and so that the id a ref has to have
 * is the protocol's own: a server that finds another one changes nothing.
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { plainOutput } from "../base/output_text.ts";
import { exchange } from "../http/send.ts";
import {
  type GitFailure,
  type GitRemote,
  NO_COMMIT,
  type PushResult,
  type RefUpdate,
  type RemoteRefs,
} from "./change.ts";
import { FLUSH, pktLine, readPktLines } from "./pkt_line.ts";
import { failureOf, failureOfStatus, nameOfServer, refused } from "./smart_http_failure.ts";

const SERVICE = "git-receive-pack";
/** Longest time for the list of refs, and for a push. */
const [LIST_MS, PUSH_MS] = [60_000, 300_000];
/** Most bytes of a list of refs, and most refs of it that are kept. */
const [MAX_LIST, MAX_KEPT] = [64 * 1024 * 1024, 10_000];
/** Most bytes of the answer to a push. */
const MAX_REPORT = 1024 * 1024;
/** Most bytes that are kept of what a server says to people. */
const MAX_SAID = 8 * 1024;
/** A smaller push has a length; some proxies take no other. Git does the same. */
const WHOLE_BYTES = 1024 * 1024;

const REF = /^refs\/heads\/[^\s~^:?*[\\\p{Cc}]+$/u;
const ID = /^[0-9a-f]{40}$/;

/** The time, as this module needs it. */
type Timer = Pick<Clock, "after" | "now">;

/** A list of refs, with what its server can do. */
interface Advertised extends RemoteRefs {
  readonly capabilities: ReadonlySet<string>;
}

/** The refs of a repository that the token may push to, as far as `keep` wants them; never rejects. */
export async function readRefs(
  remote: GitRemote,
  keep: (ref: string) => boolean,
  clock: Timer,
): Promise<RemoteRefs | GitFailure> {
  return await advertise(remote, keep, clock);
}

/**
 * Pushes one ref; never rejects. A push that was carried out already is `done`. Call it again, with the
 * same `old`, after a failure that may have arrived.
 *
 * @throws {TypeError} for names and ids that no ref can have.
 */
export async function pushRef(
  remote: GitRemote,
  update: RefUpdate,
  clock: Timer,
): Promise<PushResult> {
  if (!REF.test(update.ref) || !ID.test(update.old) || !ID.test(update.new)) {
    throw new TypeError(`Not an update of a branch: ${update.ref}`);
  }
  const isOurs = (ref: string) => ref === update.ref;
  const before = await advertise(remote, isOurs, clock);
  if (before.result !== "done") return before;
  const place = standing(before, update);
  if (place !== "as before") return place;
  const { capabilities } = before;
  const host = nameOfServer(remote.url);
  if (!capabilities.has("report-status")) {
    return refused(`${host} does not say what becomes of a push: svc needs a newer server`);
  }
  const pushed = await send(remote, { update, capabilities }, clock);
  if (pushed.result === "done") return pushed;
  if (pushed.result !== "ng") {
    return pushed.mayHaveArrived ? { ...pushed, result: "later" } : pushed;
  }
  // The words for a ref that has moved differ from server to server; where it stands does not.
  const after = await advertise(remote, isOurs, clock);
  if (after.result !== "done") return { ...after, result: "later", mayHaveArrived: true };
  const now = standing(after, update);
  return now === "as before" ? refused(pushed.reason) : now;
}

/** What a list says about a push; `as before` if it has still to be made. */
function standing(
  { refs }: RemoteRefs,
  { ref, old, new: wanted }: RefUpdate,
): PushResult | "as before" {
  const now = refs.get(ref) ?? NO_COMMIT;
  if (now === wanted) return { result: "done" };
  if (now === old) return "as before";
  const stands = now === NO_COMMIT ? "does not exist" : `is at ${now.slice(0, 12)}`;
  const expected = old === NO_COMMIT ? "not to exist" : `to be at ${old.slice(0, 12)}`;
  const reason = `The branch ${plainOutput(ref.slice("refs/heads/".length), 200)} ${stands}, and ` +
    `was expected ${expected}`;
  return { result: "moved", reason, mayHaveArrived: false };
}

async function advertise(
  remote: GitRemote,
  keep: (ref: string) => boolean,
  clock: Timer,
): Promise<Advertised | GitFailure> {
  const host = nameOfServer(remote.url);
  try {
    const request = { headers: headersOf(remote), timeoutMs: LIST_MS, signal: remote.signal };
    const url = `${remote.url}/info/refs?service=${SERVICE}`;
    const answer = await exchange(url, request, clock, async (response) => {
      const wrong =
        await failureOfStatus(response, { host, needs: remote.needs, now: clock.now() }) ??
          faultOfType(response, "advertisement", host);
      return wrong ?? await readAdvertisement(response, keep, host);
    });
    return "answered" in answer ? failureOf(answer, false) : answer;
  } catch (error) {
    return failureOf(error, false, host);
  }
}

function headersOf({ authorization }: GitRemote): Record<string, string> {
  return { authorization, "user-agent": "svc", "accept": "*/*" };
}

/** A page for people, or a server without the protocol. */
function faultOfType(
  { headers }: Response,
  kind: "advertisement" | "result",
  host: string,
): GitFailure | undefined {
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  if (type.trim() === `application/x-${SERVICE}-${kind}`) return undefined;
  const found = type === "" ? "something" : plainOutput(type, 100);
  return refused(`${host} answers with ${found} in place of git's protocol: is the address right?`);
}

async function readAdvertisement(
  response: Response,
  keep: (ref: string) => boolean,
  host: string,
): Promise<Advertised | GitFailure> {
  const refs = new Map<string, string>();
  let capabilities: ReadonlySet<string> | undefined;
  let flushes = 0;
  const lines = readPktLines(response.body ?? [], { maxBytes: MAX_LIST });
  for await (const line of lines) {
    if (line === undefined) {
      if (++flushes === 2) break;
      continue;
    }
    const [entry = "", able] = new TextDecoder().decode(line).trimEnd().split("\0");
    if (entry.startsWith("# service=")) continue;
    if (able !== undefined) capabilities ??= new Set(able.split(" "));
    const [, id, ref] = /^([0-9a-f]{40}) (.+)$/s.exec(entry) ?? [];
    if (id === undefined || ref === undefined || !keep(ref)) continue;
    refs.set(ref, id);
    if (refs.size > MAX_KEPT) throw new AppError("invalid", `has more than ${MAX_KEPT} such refs`);
  }
  if (flushes < 2 || capabilities === undefined) {
    throw new AppError("invalid", "ended its list of refs too early");
  }
  const format = [...capabilities].find((one) => one.startsWith("object-format="));
  if (format !== undefined && format !== "object-format=sha1") {
    return refused(`The repository at ${host} does not use SHA-1 for its objects, as svc does`);
  }
  return { result: "done", refs, capabilities };
}

/** A push that the server has refused for a reason of its own. */
interface Declined {
  readonly result: "ng";
  readonly reason: string;
}

async function send(
  remote: GitRemote,
  { update, capabilities }: {
    readonly update: RefUpdate;
    readonly capabilities: ReadonlySet<string>;
  },
  clock: Timer,
): Promise<PushResult | Declined> {
  const host = nameOfServer(remote.url);
  const wanted = ["report-status", "side-band-64k", "atomic"].filter((one) =>
    capabilities.has(one)
  );
  const command = `${update.old} ${update.new} ${update.ref}\0 ${wanted.join(" ")} agent=svc`;
  try {
    const answer = await exchange(
      `${remote.url}/${SERVICE}`,
      {
        method: "POST",
        headers: {
          ...headersOf(remote),
          "content-type": `application/x-${SERVICE}-request`,
          accept: `application/x-${SERVICE}-result`,
        },
        body: await bodyOf(concatBytes(pktLine(command), FLUSH), update.pack),
        timeoutMs: PUSH_MS,
        signal: remote.signal,
      },
      clock,
      async (response): Promise<PushResult | Declined> => {
        const wrong = await failureOfStatus(response, {
          host,
          needs: remote.needs,
          now: clock.now(),
        });
        if (wrong !== undefined) return { ...wrong, mayHaveArrived: response.status >= 500 };
        const strange = faultOfType(response, "result", host);
        if (strange !== undefined) return { ...strange, mayHaveArrived: true };
        return await readReport(response, { ref: update.ref, host, capabilities });
      },
    );
    return "answered" in answer ? failureOf(answer, true) : answer;
  } catch (error) {
    return failureOf(error, true, host);
  }
}

/** A body of a known length if it is small, else a stream. */
async function bodyOf(
  head: Uint8Array<ArrayBuffer>,
  pack: RefUpdate["pack"],
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>> {
  const pieces = pack[Symbol.asyncIterator]();
  const first = [head];
  for (let bytes = 0; bytes < WHOLE_BYTES;) {
    const { done, value } = await pieces.next();
    if (done === true) return concatBytes(...first);
    first.push(value);
    bytes += value.length;
  }
  return ReadableStream.from((async function* () {
    try {
      yield* first;
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
        yield next.value;
      }
    } finally {
      await pieces.return?.();
    }
  })());
}

/** What a server reports about a push, and what it says to people meanwhile. */
async function readReport(
  response: Response,
  { ref, host, capabilities }: {
    readonly ref: string;
    readonly host: string;
    readonly capabilities: ReadonlySet<string>;
  },
): Promise<PushResult | Declined> {
  const lines = readPktLines(response.body ?? [], { maxBytes: MAX_REPORT });
  const said = new Said();
  const report = capabilities.has("side-band-64k")
    ? readPktLines(bandOne(lines, said), { maxBytes: MAX_REPORT })
    : lines;
  let [unpacked, became] = ["", ""];
  for await (const line of report) {
    const text = line === undefined ? "" : new TextDecoder().decode(line).trimEnd();
    if (text.startsWith("unpack ")) unpacked = text.slice("unpack ".length);
    if (text === `ok ${ref}`) became = "ok";
    if (text.startsWith(`ng ${ref} `)) became = text.slice(`ng ${ref} `.length);
  }
  if (unpacked === "ok" && became === "ok") return { result: "done" };
  const why = became !== "" && became !== "ok" ? became : unpacked === "ok" ? "" : unpacked;
  if (why === "") {
    const reason = `${host} did not say what became of the push${said.quoted()}`;
    return { result: "later", reason, mayHaveArrived: true };
  }
  const reason = `${host} refused the push: ${plainOutput(why, 300)}${said.quoted()}`;
  return { result: "ng", reason };
}

/** The bytes for the program among those for people, which are kept in `said`. */
async function* bandOne(
  lines: AsyncIterable<Uint8Array<ArrayBuffer> | undefined>,
  said: Said,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const line of lines) {
    if (line?.[0] === 1) yield line.subarray(1);
    else if (line !== undefined) said.add(line.subarray(1));
  }
}

/** The beginning of what a server says to people. */
class Said {
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;

  add(bytes: Uint8Array): void {
    const part = bytes.subarray(0, MAX_SAID - this.#bytes);
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#bytes += part.length;
  }

  /** In brackets, without what drives a terminal; empty if nothing was said. */
  quoted(): string {
    const text = plainOutput(new TextDecoder().decode(concatBytes(...this.#parts)), 1600);
    return text === "" ? "" : ` (${text})`;
  }
}
