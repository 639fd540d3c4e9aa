/**
 * The programs under test: the compiled svc where `.ci/test` has built it (it hands over the
 * directory as `SVC_TEST_DIST`), else svc from the sources. Runs them as a user would: as processes.
 *
 * @module
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defined } from "../../src/base/defined.ts";
import { PATIENCE_MS } from "./until.ts";

/** One way to run svc. */
export interface Program {
  /** Its name in the names of tests. */
  readonly name: "source" | "compiled";
  readonly command: string;
  /** Arguments before those of svc. */
  readonly args: readonly string[];
  /**
   * Whether its data directories share a PostgreSQL; they have a database in a file when absent.
   */
  readonly onPostgres?: boolean;
}

/** Absolute path of the checkout, without a slash at the end. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** Where Deno keeps its packages, for programs that get another HOME. */
export const DENO_DIR = Deno.env.get("DENO_DIR") ??
  join(Deno.env.get("XDG_CACHE_HOME") ?? join(Deno.env.get("HOME") ?? "", ".cache"), "deno");

export const SOURCE: Program = {
  name: "source",
  command: Deno.execPath(),
  args: [
    "run",
    "--quiet",
    "--no-prompt",
    "--allow-all",
    "--unstable-worker-options",
    "--config",
    join(ROOT, "deno.json"),
    join(ROOT, "cli.ts"),
  ],
};

const dist = Deno.env.get("SVC_TEST_DIST") ?? "";

/** Runs `dist/svc`; absent where it could not be built. */
const COMPILED: Program | undefined = dist === ""
  ? undefined
  : { name: "compiled", command: join(dist, "svc"), args: [] };

/** `svcd`, the daemon alone, of the same sources or the same build as a program. */
export function svcdOf(program: Program): Program {
  if (program.name === "compiled") return { ...program, command: join(dist, "svcd") };
  return { ...program, args: [...program.args.slice(0, -1), join(ROOT, "main.ts")] };
}

/** Whether long tests run, too (`make test-all`). */
const TEST_ALL = Deno.env.get("SVC_TEST_ALL") === "1";

/** Whether the tests run over PostgreSQL instead of a database in a file. */
const ON_POSTGRES = Deno.env.get("SVC_TEST_ON") === "postgres";

/** Why a long test is skipped; `undefined` under `make test-all`. */
export const NOT_ALL = TEST_ALL
  ? undefined
  : `long, run by ${ON_POSTGRES ? "SVC_TEST_ON=postgres " : ""}make test-all`;

/** Why a slow test is skipped; `undefined` under `make test-all`, with either database. */
export const NOT_SLOW = TEST_ALL || ON_POSTGRES ? undefined : "slow, run by make test-all";

/** The program under test: the compiled one where there is one. */
export const ONE_PROGRAM: Program = ON_POSTGRES
  ? { ...COMPILED ?? SOURCE, onPostgres: true }
  : COMPILED ?? SOURCE;

/** Why a test runs once: what it judges is the same over any database. */
export const NO_DATABASE = "no database has a part in it";

/** What differs from the usual test. */
export interface ProgramTestOptions
  extends Pick<Deno.TestDefinition, "sanitizeOps" | "sanitizeResources"> {
  /** Why the test cannot run here; it can when absent. */
  readonly skip?: string | undefined;
  /** Why the test runs only with a database in a file; it runs with either when absent. */
  readonly fileOnly?: string;
}

/** The body of a test. */
type Body = (program: Program, t: Deno.TestContext) => void | Promise<void>;

/** A test with {@linkcode ONE_PROGRAM}. */
export function programTest(name: string, body: Body, options: ProgramTestOptions = {}): void {
  test(ONE_PROGRAM, name, body, options);
}

/** A test with {@linkcode ONE_PROGRAM} and, under `make test-all`, with the sources if that is another. */
export function everyProgramTest(name: string, body: Body, options: ProgramTestOptions = {}): void {
  programTest(name, body, options);
  if (ONE_PROGRAM.name !== SOURCE.name && !ON_POSTGRES) {
    test(SOURCE, name, body, { ...options, skip: NOT_ALL ?? options.skip });
  }
}

/**
 * A test that takes seconds and is not the first to fail (faults, kills, rare errors): it runs
 * under `make test-all`, with either database.
 */
export function slowTest(name: string, body: Body, options: ProgramTestOptions = {}): void {
  test(ONE_PROGRAM, name, body, { ...options, skip: NOT_SLOW ?? options.skip });
}

/**
 * A test that takes long (many kills, floods, stalls): it runs under `make test-all`, with a
 * database in a file.
 */
export function longTest(name: string, body: Body, options: ProgramTestOptions = {}): void {
  test(ONE_PROGRAM, name, body, { ...options, skip: NOT_ALL ?? options.skip });
}

function test(program: Program, name: string, body: Body, options: ProgramTestOptions): void {
  const { skip, fileOnly, ...sanitizers } = options;
  const onPostgres = program.onPostgres === true;
  const why = onPostgres && fileOnly !== undefined ? fileOnly : skip;
  const where = onPostgres ? `${program.name}, PostgreSQL` : program.name;
  Deno.test({
    ...sanitizers,
    name: `${name} (${where}${why === undefined ? "" : `; SKIPPED: ${why}`})`,
    ignore: why !== undefined,
    fn: (t) => body(program, t),
  });
}

/** How often a test repeats itself. */
export interface Times {
  readonly count: number;
  /**
   * End of the test's name: ` (2 of 50 times)` tells `.ci/test --skipped-in` to run it again.
   */
  readonly inName: string;
  /** That many of these items; after the last one comes the first again. */
  readonly of: <T>(items: readonly T[]) => T[];
}

/** Factor of `make faults` on the repetitions of `make test-all`. */
const TIMES = Number(Deno.env.get("SVC_TEST_TIMES") || 1);

/**
 * `few` times, or `all` under `make test-all`, times `SVC_TEST_TIMES`.
 */
export function times(all: number, few: number): Times {
  const count = TEST_ALL ? all * TIMES : few;
  return {
    count,
    inName: TEST_ALL ? "" : ` (${few} of ${all} times)`,
    of: (items) =>
      Array.from({ length: Math.ceil(count / items.length) }, () => items).flat().slice(0, count),
  };
}

/** How to run a program. */
export interface RunOptions {
  /** Variables beside the few every run has. */
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input; none when absent. */
  readonly stdin?: string | Uint8Array;
  readonly cwd?: string;
  /** Ends it by force after this long; when absent, only when it hangs. */
  readonly withinMs?: number;
}

/** How a run ended. */
export interface RunResult {
  readonly code: number;
  /** Standard output as text. */
  readonly stdout: string;
  /** Standard error as text. */
  readonly stderr: string;
}

const INHERITED = ["PATH", "HOME", "TMPDIR", "DENO_DIR", "XDG_CACHE_HOME", "DENO_TLS_CA_STORE"];

/** An environment without any `SVC_…` of the test run itself. */
export function cleanEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const inherited = INHERITED.map((name) => [name, Deno.env.get(name)] as const)
    .filter((entry): entry is readonly [string, string] => entry[1] !== undefined);
  return { ...Object.fromEntries(inherited), NO_COLOR: "1", ...more };
}

/** Runs svc with these arguments to its end. */
export function runSvc(
  program: Program,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  return run(program.command, [...program.args, ...args], options);
}

/** Runs any command to its end, in a clean environment. */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const child = new Deno.Command(command, {
    args: [...args],
    clearEnv: true,
    env: cleanEnv(options.env),
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    ...defined({ cwd: options.cwd }),
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), options.withinMs ?? PATIENCE_MS);
  const [output] = await Promise.all([child.output(), feed(child, options.stdin)]);
  clearTimeout(timer);
  const decoder = new TextDecoder();
  return {
    code: output.code,
    stdout: decoder.decode(output.stdout),
    stderr: decoder.decode(output.stderr),
  };
}

/** A program may end without reading its input. */
async function feed(child: Deno.ChildProcess, stdin: string | Uint8Array | undefined) {
  if (stdin === undefined) return;
  const bytes = typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
  const writer = child.stdin.getWriter();
  await writer.write(bytes as Uint8Array<ArrayBuffer>).catch(() => {});
  await writer.close().catch(() => {});
}
