/**
 * Judges a record of system calls: whatever is answered, announced or relied on has to be on disk
 * before. It knows what a power cut may take: what was written and not synced, and the name of a
 * file whose directory was not synced since.
 *
 * @module
 */

import { dirname } from "node:path";
import { type Call, targetOf, textsOf } from "./recorded_calls.ts";

/** What was recorded. */
export interface Recording {
  readonly calls: readonly Call[];
  /** The data directory. */
  readonly root: string;
  /** Paths that were there, and on disk, when it began. */
  readonly existing: readonly string[];
  /** Finds in a request what names it: the log of the database has to have it when it is answered. */
  readonly marker?: RegExp;
  /** Operations of the control plane after which something is stored. */
  readonly storing?: RegExp;
}

const WRITES = new Set(["write", "writev", "pwrite64", "pwritev", "pwritev2", "ftruncate"]);
const SYNCS = new Set(["fsync", "fdatasync"]);
const RENAMES = new Set(["rename", "renameat", "renameat2"]);
const LINKS = new Set(["link", "linkat"]);
const REMOVALS = new Set(["unlink", "unlinkat"]);
const MAKES = new Set(["mkdir", "mkdirat"]);
const RECEIVES = new Set(["recvfrom", "recvmsg", "read"]);
const SENDS = new Set(["sendto", "sendmsg", "write", "writev"]);

/** What is not relied on: made anew by every start, an index that is rebuilt, or a step's own. */
const TRANSIENT =
  /^\/(run|logs|sandbox|workspaces|worktrees|copies)(\/|$)|^\/control-plane\/|-shm$|\.part(-\w+)?$/;

/** What is wrong, one sentence each with the line of the record; empty when nothing is. */
export function judge(recording: Recording): readonly string[] {
  const judged = new Judge(recording);
  const moments = recording.calls.flatMap((call) => [
    { at: call.begins, run: () => judged.begin(call) },
    { at: call.ends + 0.5, run: () => judged.end(call) },
  ]);
  for (const { run } of moments.toSorted((one, other) => one.at - other.at)) run();
  return judged.faults;
}

/** A request that is not answered yet. */
interface Request {
  readonly text: string;
  readonly since: number;
}

class Judge {
  readonly faults: string[] = [];
  readonly #told = new Set<string>();
  readonly #it: Recording;
  readonly #main: number;
  readonly #known: Set<string>;
  /** By path: the writes that no sync has covered, by the line where each begins. */
  readonly #unsynced = new Map<string, Map<number, Call>>();
  /** By directory: the names that no sync has covered. */
  readonly #unnamed = new Map<string, Set<string>>();
  /** What each sync that runs will have covered. */
  readonly #covers = new Map<Call, () => void>();
  /** Texts in the log of the database that are on disk; the line where the last sync began. */
  #stored = "";
  #lastSync = 0;
  readonly #requests = new Map<string, Request>();

  constructor(recording: Recording) {
    this.#it = recording;
    this.#main = recording.calls[0]?.thread ?? 0;
    this.#known = new Set(recording.existing);
  }

  begin(call: Call): void {
    const { name } = call;
    const path = targetOf(call);
    if (SENDS.has(name)) this.#answer(call, path);
    if (name === "write" && /^1</.test(call.args) && call.thread === this.#main) {
      this.#announce(call);
    }
    if (WRITES.has(name) && this.#isOurs(path)) this.#write(call, path);
    if (SYNCS.has(name)) this.#sync(call, path);
    if (REMOVALS.has(name)) this.#remove(call);
    if (RENAMES.has(name) || LINKS.has(name)) this.#rename(call);
  }

  end(call: Call): void {
    if (call.result < 0) return;
    const { name } = call;
    if (SYNCS.has(name)) this.#covers.get(call)?.();
    if (RECEIVES.has(name)) this.#receive(call, targetOf(call));
    if (name === "openat" && call.args.includes("O_CREAT")) this.#name(textsOf(call)[0] ?? "");
    if (MAKES.has(name)) this.#name(textsOf(call)[0] ?? "");
    const [from = "", to = ""] = textsOf(call);
    if (RENAMES.has(name)) this.#move(from, to);
    if (LINKS.has(name)) this.#name(to);
    if (REMOVALS.has(name)) this.#forget(from);
  }

  #isOurs(path: string): boolean {
    return path === this.#it.root || path.startsWith(`${this.#it.root}/`);
  }

  #isKept(path: string): boolean {
    return this.#isOurs(path) && !TRANSIENT.test(path.slice(this.#it.root.length));
  }

  /** Once each: what is wrong with the first of many writes is wrong with all of them. */
  #fault({ begins }: Call, what: string): void {
    if (this.#told.has(what)) return;
    this.#told.add(what);
    this.faults.push(`line ${begins}: ${what}`);
  }

  /** Whether the content of a file is on disk. */
  #isSynced(path: string): boolean {
    return (this.#unsynced.get(path)?.size ?? 0) === 0;
  }

  #isNamed(path: string): boolean {
    return this.#unnamed.get(dirname(path))?.has(path) !== true;
  }

  #write(call: Call, path: string): void {
    this.#mayBeWritten(call, path);
    const writes = this.#unsynced.get(path) ?? new Map<number, Call>();
    this.#unsynced.set(path, writes.set(call.begins, call));
  }

  /** What a write to this file relies on. */
  #mayBeWritten(call: Call, path: string): void {
    const { root } = this.#it;
    const key = `${root}/secrets/secretstore.key`;
    if (path.startsWith(`${root}/svc.db`)) {
      if (!this.#known.has(key)) this.#fault(call, "the database is written before there is a key");
      else if (!this.#isSynced(key)) {
        this.#fault(call, "the database is written before the key is synced");
      } else if (!this.#isNamed(key)) {
        this.#fault(call, "the database is written before the directory of the key is synced");
      }
    }
    const database = /^(.*\.db(?:\.part)?)-wal$/.exec(path)?.[1];
    const isFromTheStart = call.name === "ftruncate" || /, 0$/.test(call.args);
    if (database !== undefined && isFromTheStart && !this.#isSynced(database)) {
      this.#fault(call, "the log is begun anew before what it held is synced in the database");
    }
    for (const log of [`${path}-wal`, `${path}-journal`]) {
      if (!this.#isSynced(log)) this.#fault(call, `${path} is written before ${log} is synced`);
    }
  }

  #sync(call: Call, path: string): void {
    const writes = [...this.#unsynced.get(path)?.values() ?? []]
      .filter(({ ends }) => ends < call.begins);
    const names = [...this.#unnamed.get(path) ?? []];
    this.#covers.set(call, () => {
      for (const write of writes) {
        this.#unsynced.get(path)?.delete(write.begins);
        if (path.endsWith(".db-wal")) this.#stored += textsOf(write).join("");
      }
      if (path.endsWith(".db-wal") && writes.length > 0) {
        this.#lastSync = Math.max(...writes.map(({ begins }) => begins));
      }
      for (const name of names) this.#unnamed.get(path)?.delete(name);
    });
  }

  #rename(call: Call): void {
    const [from = "", to = ""] = textsOf(call);
    if (!this.#isOurs(to)) return;
    if (!this.#isSynced(from)) {
      this.#fault(call, `${to} gets its name before its content is synced`);
    }
    const log = `${this.#it.root}/svc.db-wal`;
    if (to.endsWith("secretstore.key") && !this.#isSynced(log)) {
      this.#fault(call, "the key is replaced before what was sealed anew is synced");
    }
  }

  #remove(call: Call): void {
    const [path = ""] = textsOf(call);
    const database = /^(.*\.db(?:\.part)?)-(wal|journal)$/.exec(path)?.[1];
    if (database !== undefined && this.#isOurs(path) && !this.#isSynced(database)) {
      this.#fault(call, `${path} is removed before what it held is synced in the database`);
    }
  }

  #name(path: string): void {
    if (!this.#isOurs(path) || this.#known.has(path)) return;
    this.#known.add(path);
    const names = this.#unnamed.get(dirname(path)) ?? new Set<string>();
    this.#unnamed.set(dirname(path), names.add(path));
  }

  #move(from: string, to: string): void {
    const writes = this.#unsynced.get(from) ?? new Map<number, Call>();
    this.#forget(from);
    this.#forget(to);
    this.#unsynced.set(to, writes);
    this.#name(to);
  }

  #forget(path: string): void {
    this.#known.delete(path);
    this.#unsynced.delete(path);
    this.#unnamed.get(dirname(path))?.delete(path);
  }

  /** What a program says on its standard output is done: all of it has to be on disk. */
  #announce(call: Call): void {
    for (const path of this.#known) {
      if (!this.#isKept(path)) continue;
      // what is being folded into the database is in its log as long as that is not begun anew
      const isDatabase = /\.db(-wal)?$/.test(path);
      if (!isDatabase && !this.#isSynced(path)) {
        this.#fault(call, `success is announced before ${path} is synced`);
      }
      if (!this.#isNamed(path)) {
        this.#fault(call, `success is announced before the directory of ${path} is synced`);
      }
    }
  }

  #receive(call: Call, connection: string): void {
    if (!/^(TCP|UNIX)/.test(connection)) return;
    const text = textsOf(call).join("");
    const before = /^[A-Z]+ \S+ HTTP/.test(text) ? "" : this.#requests.get(connection)?.text ?? "";
    this.#requests.set(connection, { text: before + text, since: call.ends });
  }

  #answer(call: Call, connection: string): void {
    const request = this.#requests.get(connection);
    if (request === undefined || !/^HTTP\/1\.1 200/.test(textsOf(call)[0] ?? "")) return;
    this.#requests.delete(connection);
    const { marker, storing, root } = this.#it;
    const [found] = marker?.exec(request.text) ?? [];
    const log = `${root}/svc.db-wal`;
    if (found !== undefined) {
      if (!this.#stored.includes(found)) {
        this.#fault(call, `${found} is answered before it is synced`);
      }
      if (!this.#isNamed(log)) {
        this.#fault(call, `${found} is answered before the directory of the log is synced`);
      }
    } else if (storing?.test(request.text) === true && this.#lastSync < request.since) {
      const [line = ""] = request.text.split("\\r\\n");
      this.#fault(call, `"${line}" is answered before anything of it is synced`);
    }
  }
}
