/**
 * The shape of the program, held fast: which folder may import which, the one door of each thing
 * from outside, and complete registries. Changing it is a decision, so it is made here, on purpose.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  notDeepStrictEqual as notDeepEqual,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { FORGE_WORDS, type ForgeName, FORGES } from "../src/base/forge_names.ts";
import { COMMANDS } from "../src/cli/commands/commands.ts";
import { EVENTS } from "../src/resources/events.ts";
import { KINDS } from "../src/resources/kinds.ts";
import { PLATFORMS } from "../src/platforms/platforms.ts";
import { SCHEME_NAMES, SCHEMES } from "../src/platforms/schemes.ts";

/**
 * Which folder of `src` uses which, lowest first. A file that stands in `src` itself, or beside it,
 * counts as a folder. What is not written here is forbidden, and what is written here is in use.
 * Folders within a folder need no rows: they only may not use each other in a circle.
 */
const LAYERS: Readonly<Record<string, string>> = {
  base: "",
  agents: "base",
  docs: "",
  cel: "base",
  signatures: "base",
  platforms: "base signatures",
  resources: "agents base cel platforms",
  secrets: "base resources",
  egress: "base resources secrets",
  shell: "base",
  service: "base shell",
  http: "base signatures",
  git: "base http shell",
  api: "base git resources",
  store: "agents base resources signatures",
  auth: "api base resources store",
  tasks: "agents auth base cel egress resources secrets shell signatures store",
  connections: "base git http resources signatures store tasks",
  plugins: "auth base resources secrets shell store",
  intake:
    "api base cel connections http platforms plugins resources secrets signatures store tasks",
  integrations: "base resources",
  storage: "base resources secrets shell store",
  upkeep: "api base resources secrets storage store tasks",
  doctor:
    "api base http intake resources secrets service shell signatures storage store tasks upkeep",
  outputs: "base resources secrets",
  outbox: "base cel connections git http outputs resources secrets signatures store",
  notifications: "base outbox resources store",
  control:
    "api auth base connections doctor git http intake integrations notifications outbox outputs plugins resources secrets shell signatures storage store tasks upkeep",
  telemetry: "base store",
  console: "api base http resources shell",
  calls: "api auth base shell",
  daemon:
    "auth base calls cel connections control http intake notifications outbox plugins resources secrets shell storage store tasks telemetry",
  "daemon.ts": "base daemon",
  "init.ts": "base calls daemon resources secrets storage",
  mcp: "api base resources",
  cli:
    "api auth base calls console control daemon daemon.ts docs doctor git http init.ts integrations mcp platforms plugins resources service shell signatures storage store upkeep",
  "cli.ts": "cli",
  "main.ts": "cli",
};

/** Folders within a folder that are kept apart: the files of the first use none of the second. */
const WALLS: readonly (readonly [from: string, to: string])[] = [
  ["src/store/rules/", "src/store/transactions/"],
  ["src/store/rules/", "src/store/sql/"],
  ["src/store/rules/", "src/store/sqlite/"],
  ["src/store/rules/", "src/store/postgres/"],
  ["src/store/transactions/", "src/store/sql/"],
  ["src/store/transactions/", "src/store/sqlite/"],
  ["src/store/transactions/", "src/store/postgres/"],
  ["src/store/sqlite/", "src/store/postgres/"],
  ["src/store/postgres/", "src/store/sqlite/"],
];

/** The only importers of what is not ours; a name that ends in `/` stands for a folder. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "@bufbuild/cel": ["src/cel/"],
  "@bufbuild/cel/ext": ["src/cel/strings.ts"],
  "@opentelemetry/api": ["src/telemetry/tracing.ts"],
  "croner": ["src/resources/schedule.ts"],
  "jose": ["src/console/login/by_proxy.ts"],
  "markdown-it": ["src/docs/markdown.ts"],
  "node:dns/promises": ["src/egress/dial.ts"],
  "node:buffer": ["src/base/bytes.ts", "src/shell/pooled_shell.ts", "src/store/postgres/"],
  "node:crypto": [
    "src/base/bytes.ts",
    "src/connections/github/app_jwt.ts",
    "src/connections/forge_tokens.ts",
    "src/signatures/certificate.ts",
    "src/signatures/hmac_digest.ts",
    "src/store/rules/keys.ts",
  ],
  "node:fs": ["src/base/disk_space.ts", "src/base/regular_file.ts", "src/calls/call_pipe.ts"],
  "node:fs/promises": ["src/base/disk_space.ts"],
  "node:net": ["src/base/cidr.ts", "src/http/server/client_address.ts"],
  "node:os": ["src/daemon/settings.ts", "src/shell/pooled_shell.ts"],
  "node:path": ["cli.ts", "src/"],
  "node:process": ["cli.ts", "src/telemetry/readings.ts"],
  "node:sqlite": ["src/store/sqlite/engine/database.ts"],
  "node:timers": [
    "src/plugins/run_plugin.ts",
    "src/store/postgres/batcher.ts",
    "src/store/sqlite/open_store.ts",
  ],
  "node:url": ["src/calls/launcher.ts"],
  "node:util": ["src/cli/parse.ts"],
  "nodemailer": ["src/outbox/email.ts"],
  "oauth4webapi": ["src/console/login/by_provider.ts"],
  "pg": ["src/store/postgres/database/"],
  "pg-boss": ["src/store/postgres/jobs/engine.ts"],
  "string-width": ["src/cli/text_width.ts"],
  "typebox": [
    "src/resources/",
    "src/api/",
    "src/auth/caller.ts",
    "src/console/login/login_file.ts",
  ],
  "typebox/error": ["src/resources/validate.ts"],
  "typebox/schema": ["src/resources/validate.ts"],
  "typebox/system": ["src/resources/validate.ts"],
  "ulid": ["src/base/ids.ts"],
  "unbash": ["src/plugins/policy/shell_line.ts"],
  "ws": ["src/connections/slack/websocket.ts"],
  "xxhash-wasm": ["src/store/sql/moving/row_sums.ts"],
  "yaml": [
    "src/resources/manifest.ts",
    "src/resources/syntax_fault.ts",
  ],
};

/** What may be written only in the places beside it, comments aside. */
const DOORS: readonly { what: string; pattern: RegExp; only: readonly string[] }[] = [
  { what: "processes", pattern: /\bDeno\.Command\b|\bDeno\.kill\b/, only: ["src/shell/"] },
  {
    what: "listening sockets",
    pattern: /\bDeno\.(serve|listen)|\bserveHttpOnConnection\b/,
    // egress.ts: the socket of a step; closable_tls.ts: a socket of svc to itself
    only: ["src/http/", "src/egress/egress.ts", "src/egress/closable_tls.ts"],
  },
  {
    what: "connections to elsewhere",
    pattern: /\bDeno\.(connect|createHttpClient)|(?<![.\w])fetch\(/,
    // connection_server.ts: asks itself once whether Deno's entry point works
    // tls_front.ts: hands decrypted connections to the server behind it
    // stale_socket.ts: asks whether anything listens at a socket
    // postgres/jobs: what a queue of jobs calls to fetch
    only: [
      "src/api/client.ts",
      "src/egress/closable_tls.ts",
      "src/egress/dial.ts",
      "src/http/send.ts",
      "src/http/server/connection_server.ts",
      "src/http/server/stale_socket.ts",
      "src/http/server/tls_front.ts",
    ],
  },
  {
    what: "the system's clock",
    pattern: /\bDate\.now\b|\bnew Date\b|\bperformance\b/,
    // schedule.ts: the cron library speaks in dates; it is given the time. times.ts: so does CEL
    only: ["src/base/clock.ts", "src/cel/times.ts", "src/resources/schedule.ts"],
  },
  {
    what: "timers",
    pattern: /\bset(Timeout|Interval)\b|\bAbortSignal\.timeout\b/,
    // cel_worker.ts: the deadline of a Worker, which computes in real time
    only: ["src/base/clock.ts", "src/cel/cel_worker.ts"],
  },
  {
    what: "the clock of the machine, where one is to be handed in",
    pattern: /\bsystemClock\b/,
    only: [
      "src/base/clock.ts",
      // where the clock is handed out: a command, and the daemon unless it is given another
      "src/cli/",
      "src/daemon/config.ts",
      // threads of their own, to which no clock can be handed, and the evaluator that starts such
      "src/cel/evaluator.ts",
      "src/cel/environment.ts",
      "src/store/sqlite/worker.ts",
      "src/store/sqlite/maintenance/job_worker.ts",
      // waits for other processes, and for sockets, in real time
      "src/http/read_body.ts",
      "src/http/server/connection_server.ts",
      "src/http/server/serve.ts",
      "src/shell/guard.ts",
      "src/shell/process_groups.ts",
      "src/store/postgres/database/copy.ts",
    ],
  },
  { what: "the environment", pattern: /\bDeno\.env\b|\bprocess\.env\b/, only: ["src/cli/io.ts"] },
  {
    what: "standard streams, signals and the console",
    pattern: /\bDeno\.(std(in|out|err)|\w*[sS]ignalListener)\b|\bconsole\.(?!ts\b)[a-z]/,
    only: ["src/cli/io.ts"],
  },
  {
    what: "sequences that a terminal obeys",
    pattern: /\\x1b|\\u001b|\\u\{1b\}|\b0x1b\b|\\x9b|\bfromCharCode\((27|155)\)|["'`]\\r["'`]/i,
    only: ["src/base/output_text.ts"],
  },
  { what: "arguments", pattern: /\bDeno\.args\b/, only: ["cli.ts", "main.ts"] },
  {
    what: "the end of the process",
    pattern: /\bDeno\.exit\b|\bDeno\.exitCode\b/,
    // console.ts: a read of the terminal that waits would keep the process
    // daemon.ts: a second signal, and an end that takes too long
    only: [
      "cli.ts",
      "main.ts",
      "src/cli/commands/console.ts",
      "src/cli/commands/daemon.ts",
    ],
  },
  {
    what: "the file mode mask",
    pattern: /\bDeno\.umask\b/,
    only: ["src/cli/commands/daemon.ts", "src/init.ts"],
  },
  {
    what: "Workers",
    pattern: /\bimport\.meta\.resolve\b|\bpermissions:/,
    only: [
      "src/cel/cel_worker.ts",
      "src/control/resources/read_apart.ts",
      "src/store/sqlite/open_store.ts",
      "src/store/sqlite/maintenance/run_job.ts",
    ],
  },
  {
    what: "keys",
    pattern: /\bcrypto\.subtle\b/,
    only: ["src/secrets/keyring.ts", "src/signatures/"],
  },
  {
    what: "SQL",
    pattern:
      /\b(SELECT|INSERT( OR \w+)? INTO|DELETE FROM|UPDATE \w+ SET|CREATE (TABLE|INDEX)|PRAGMA|BEGIN IMMEDIATE)\b/,
    only: ["src/store/sql/", "src/store/postgres/", "src/store/sqlite/"],
  },
  {
    what: "admitted events", // whatever else made one would start tasks past their filter
    pattern: /\bas (readonly )?Admitted\b/,
    only: [
      "src/intake/admission/admit.ts",
      "src/store/sqlite/deliveries/packed_delivery.ts", // on their way between two threads
    ],
  },
  {
    what: "authenticated deliveries",
    pattern: /\bas AuthenticatedDelivery\b|\bmarkAuthenticated\b/,
    only: [
      "src/intake/pipeline/authenticated_delivery.ts",
      "src/intake/pipeline/authenticate.ts",
      "src/intake/pipeline/authenticate_stored.ts",
      "src/intake/pipeline/check_signature.ts",
    ],
  },
  { what: "chance that is no secret", pattern: /\bMath\.random\b/, only: [] },
];

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** One file of the program. */
interface SourceFile {
  /** From the root of the project. */
  readonly path: string;
  readonly text: string;
  /** The text without its comments. */
  readonly code: string;
}

/** One import. */
interface Import {
  readonly from: string;
  /** File from the root of the project, or the name of a package. */
  readonly to: string;
  /** Whether values are imported, or only types. */
  readonly use: "values" | "types";
  /** Loaded when it is needed: cannot hang the start of the program. */
  readonly dynamic: boolean;
}

const FILES = [...readFiles("src"), ...["cli.ts", "main.ts"].map(readFile)];
const IMPORTS = await readImports(FILES.map((file) => file.path));
/** The program, its tests and its tools. */
const TYPESCRIPT = [...FILES, ...["tests", "tools"].flatMap(filesUnder).map(readFile)];

function* readFiles(folder: string): Generator<SourceFile> {
  for (const entry of [...Deno.readDirSync(join(ROOT, folder))]) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) yield* readFiles(path);
    // .d.ts: what is used of a package that has no types of its own
    else if (/(?<!_test|\.d)\.ts$/.test(path)) yield readFile(path);
  }
}

function readFile(path: string): SourceFile {
  const text = Deno.readTextFileSync(join(ROOT, path));
  return { path, text, code: withoutComments(text) };
}

/** Strings stay; a regular expression that looks like a comment costs the rest of its line. */
function withoutComments(text: string): string {
  const token = /(["'])(?:\\.|(?!\1)[^\\\n])*\1|`(?:\\.|[^\\`])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  return text.replace(token, (found) => found.startsWith("/") ? "" : found);
}

function urlOf(path: string): string {
  return pathToFileURL(join(ROOT, path)).href;
}

/** `deno info` over one module that imports all of them: by itself it would leave out Workers. */
async function readImports(paths: readonly string[]): Promise<Import[]> {
  const dir = await Deno.makeTempDir();
  try {
    const root = join(dir, "all.ts");
    await Deno.writeTextFile(root, paths.map((path) => `import "${urlOf(path)}";\n`).join(""));
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", "--config", join(ROOT, "deno.json"), root],
    }).output();
    ok(success, new TextDecoder().decode(stderr));
    const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as { modules: InfoModule[] };
    const byUrl = new Map(paths.map((path) => [urlOf(path), path]));
    return modules.flatMap(({ specifier, dependencies = [] }) => {
      const from = byUrl.get(specifier);
      if (from === undefined) return [];
      return dependencies.map(({ specifier: written, code, type, isDynamic }): Import => ({
        from,
        to: byUrl.get((code ?? type)?.specifier ?? "") ?? written,
        use: code === undefined ? "types" : "values",
        dynamic: isDynamic === true,
      }));
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

interface InfoModule {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly code?: { readonly specifier: string };
    readonly type?: { readonly specifier: string };
    readonly isDynamic?: boolean;
  }[];
}

const isOurs = ({ to }: Import) => FILES.some((file) => file.path === to);

/** The folder of a file; a file in `src` itself, or beside it, is its own. */
function folderOf(path: string): string {
  const folder = dirname(path);
  return folder === "src" || folder === "." ? path : folder;
}

/** The folder of `src` that a file is in, as {@linkcode LAYERS} names it. */
function layerOf(path: string): string {
  return path.replace(/^src\//, "").replace(/\/.*/, "");
}

function allowed(path: string, places: readonly string[]): boolean {
  return places.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}

/** What goes against {@linkcode LAYERS} and {@linkcode WALLS}, one line each. */
function forbiddenImports(imports: readonly { from: string; to: string }[]): string[] {
  return imports.filter(({ from, to }) => {
    const [above, below] = [layerOf(from), layerOf(to)];
    return above === below
      ? WALLS.some(([one, other]) => from.startsWith(one) && to.startsWith(other))
      : LAYERS[above]?.split(" ").includes(below) !== true;
  }).map(({ from, to }) => `${from} uses ${to}`);
}

/** Folders in {@linkcode LAYERS} that nothing uses any more. */
function idleLayers(imports: readonly Import[]): string[] {
  const used = new Set(imports.map(({ from, to }) => `${layerOf(from)} ${layerOf(to)}`));
  return Object.entries(LAYERS).flatMap(([above, uses]) =>
    uses.split(" ").filter((below) => below !== "" && !used.has(`${above} ${below}`))
      .map((below) => `${above} uses nothing of ${below}: correct the table`)
  );
}

function throughOtherDoors(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, code }) =>
    DOORS.filter(({ pattern, only }) => pattern.test(code) && !allowed(path, only))
      .map(({ what, only }) =>
        `${path} touches ${what}, which is for ${only.join(", ") || "nobody"}`
      )
  );
}

/** Files that import each other in a circle, if any do. */
function findCycle(edges: readonly { from: string; to: string }[]): string[] | undefined {
  const done = new Set<string>();
  const walk = (at: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(at)) return [...path.slice(path.indexOf(at)), at];
    if (done.has(at)) return undefined;
    for (const { to } of edges.filter(({ from }) => from === at)) {
      const found = walk(to, [...path, at]);
      if (found !== undefined) return found;
    }
    done.add(at);
    return undefined;
  };
  return edges.map(({ from }) => walk(from, [])).find((cycle) => cycle !== undefined);
}

Deno.test("a folder imports only from the folders below it", () => {
  equal(forbiddenImports(IMPORTS.filter(isOurs)).join("\n"), "");
});

Deno.test("the table of layers holds no more than is needed", () => {
  deepEqual(idleLayers(IMPORTS.filter(isOurs)), []);
  const folders = new Set(FILES.map((file) => layerOf(file.path)));
  deepEqual(Object.keys(LAYERS).toSorted(), [...folders].toSorted());
  const order = Object.keys(LAYERS);
  for (const [above, uses] of Object.entries(LAYERS)) {
    const later = uses.split(" ").filter((below) => order.indexOf(below) > order.indexOf(above));
    deepEqual(later, [], `${above} stands above what it uses`);
  }
});

Deno.test("nothing imports in a circle, neither files nor folders", () => {
  const ours = IMPORTS.filter(isOurs);
  ok(ours.some(({ dynamic }) => dynamic) && ours.some(({ use }) => use === "types"));
  equal(findCycle(ours), undefined);
  // The registry of commands stands among the commands, and loads each when it is run.
  const isLoaded = (path: string) => path === "src/cli/commands/commands.ts";
  const folders = ours.filter(({ to }) => !isLoaded(to))
    .map(({ from, to }) => ({ from: folderOf(from), to: folderOf(to) }));
  equal(findCycle(folders.filter(({ from, to }) => from !== to)), undefined);
});

Deno.test("the client and the commands load no schema of an operation", () => {
  const isClient = (path: string) => path.startsWith("src/cli/") || path === "src/api/client.ts";
  const loads = IMPORTS.filter(({ from, to, use }) =>
    isClient(from) && /^src\/api\/(\w+_)?operations?\.ts$/.test(to) && use === "values"
  );
  deepEqual(loads.map(({ from, to }) => `${from} loads ${to}`), []);
});

/**
 * Files and packages that are loaded with a file, before it asks for any more: each after those that
 * it loads itself.
 */
function loadedWith(path: string, seen = new Set<string>()): string[] {
  seen.add(path);
  const before = IMPORTS.filter(({ from, to, use, dynamic }) =>
    from === path && use === "values" && !dynamic && !seen.has(to)
  ).flatMap(({ to }) => seen.has(to) ? [] : loadedWith(to, seen));
  return [...before, path];
}

/** What every command loads, and then each of them. */
const COMMAND_FILES = ["src/cli/run.ts", "src/cli/io.ts"].concat(
  FILES.map(({ path }) => path).filter((path) => path.startsWith("src/cli/commands/")),
);

// A package is loaded by the command that needs it, when it runs: string-width alone, which compiles
// the emoji of Unicode, was a third of the time of each list and of its help.
Deno.test("no command loads a package before it runs, but the one that makes ids", () => {
  const found = COMMAND_FILES.flatMap((path) =>
    loadedWith(path).filter((one) => Object.hasOwn(PACKAGES, one) && !/^node:|^ulid$/.test(one))
      .map((name) => `${path} loads ${name}`)
  );
  equal(found.join("\n"), "");
});

/** Most processor time that one module of a command may take to load, in milliseconds. */
const MOST_LOADING_MS = 5;

// Tables of Unicode, segmenters and compiled schemas take more: they are made when they are needed.
Deno.test("no module that commands load takes longer to load than 5 ms of processor time", async () => {
  const seen = new Set<string>();
  const modules = COMMAND_FILES.flatMap((path) => seen.has(path) ? [] : loadedWith(path, seen))
    .filter((path) => FILES.some((file) => file.path === path));
  ok(modules.length > COMMAND_FILES.length && modules.includes("src/cli/table.ts"));
  const least = new Map<string, number>();
  const slow = () => [...least].filter(([, ms]) => ms > MOST_LOADING_MS);
  // The least time of as many rounds as it takes: others use the machine, too.
  for (let round = 0; round === 0 || slow().length > 0 && round < 20; round++) {
    for (const [path, ms] of await loadingTimes(modules)) {
      least.set(path, Math.min(least.get(path) ?? Infinity, ms));
    }
  }
  deepEqual(slow().map(([path, ms]) => `${path} takes ${ms} ms`), []);
});

/** The processor time that each module takes to load after those before it, in milliseconds. */
async function loadingTimes(paths: readonly string[]): Promise<[path: string, ms: number][]> {
  // Deno reads what a text imports by name before it runs it, so that only running is measured.
  const script = `import process from "node:process";
    const found = [];
    let before;
    ${
    paths.map((path) =>
      `before = process.cpuUsage(); await import("${urlOf(path)}");
      found.push(["${path}", process.cpuUsage(before)]);`
    ).join("\n")
  }
    console.log(JSON.stringify(found.map(([path, { user, system }]) => [path, (user + system) / 1000])));`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--config", join(ROOT, "deno.json"), "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await new Blob([script]).stream().pipeTo(child.stdin);
  const { success, stdout, stderr } = await child.output();
  ok(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("a database in a file loads nothing of PostgreSQL, and its Worker no package but for ids", () => {
  const packagesOf = (path: string) =>
    [...loadedWith(path)].filter((one) => Object.hasOwn(PACKAGES, one) && !one.startsWith("node:"));
  deepEqual(packagesOf("src/store/sqlite/worker.ts"), ["ulid"]);
  const ofDaemon = packagesOf("src/daemon.ts");
  ok(ofDaemon.includes("typebox"), "packages are found");
  deepEqual(ofDaemon.filter((one) => one.startsWith("pg")), []);
});

Deno.test("every package has its importers, and no others", () => {
  const used = new Map<string, string[]>();
  for (const { from, to } of IMPORTS.filter((one) => !isOurs(one) && !one.to.endsWith(".d.ts"))) {
    used.set(to, [...used.get(to) ?? [], from]);
  }
  deepEqual([...used.keys()].toSorted(), Object.keys(PACKAGES).toSorted());
  for (const [name, importers] of used) {
    const places = PACKAGES[name] ?? [];
    deepEqual(importers.filter((path) => !allowed(path, places)), [], `importers of ${name}`);
    const idle = places.filter((place) => !importers.some((path) => allowed(path, [place])));
    deepEqual(idle, [], `no longer importers of ${name}`);
  }
});

Deno.test("everything outside the program is reached through its one door", () => {
  equal(throughOtherDoors(FILES).join("\n"), "");
  const idle = DOORS.flatMap(({ what, pattern, only }) =>
    only.filter((place) =>
      !FILES.some(({ path, code }) => allowed(path, [place]) && pattern.test(code))
    ).map((place) => `${place} no longer touches ${what}`)
  );
  deepEqual(idle, []);
});

Deno.test("these rules find what they forbid", () => {
  const imports = [
    { from: "src/base/a.ts", to: "src/cel/b.ts" },
    { from: "src/store/rules/a.ts", to: "src/store/sqlite/b.ts" },
    { from: "src/sources/a.ts", to: "src/control/b.ts" },
    { from: "src/http/a.ts", to: "src/cli/b.ts" },
  ];
  equal(forbiddenImports(imports).length, 4);
  deepEqual(findCycle([{ from: "a", to: "b" }, { from: "b", to: "c" }, { from: "c", to: "b" }]), [
    "b",
    "c",
    "b",
  ]);
  const codes = [
    "new Deno.Command('sh')",
    "Deno.listen({})",
    "await fetch(url)",
    "const now = Date.now()",
    "setTimeout(() => {}, 5)",
    "await systemClock.pause(5)",
    'Deno.env.get("X")',
    "console.log(1)",
    "Deno.exit(1)",
    'db.run("SELECT 1")',
    '`INSERT OR REPLACE INTO x`; const u = "http://a"; Math.random()',
  ];
  const files = codes.map((code) => ({ path: "src/tasks/a.ts", text: code, code }));
  for (const file of files) notDeepEqual(throughOtherDoors([file]), [], file.code);
  equal(withoutComments('a("//b"); // c\n/* Date.now() */d').trim(), 'a("//b"); \nd');
});

/** Every export of every file of a folder. */
async function exportsOf(
  folder: string,
): Promise<{ path: string; name: string; value: unknown }[]> {
  const paths = FILES.map((file) => file.path).filter((path) => dirname(path) === folder);
  const found = await Promise.all(paths.map(async (path) => {
    const module = await import(pathToFileURL(join(ROOT, path)).href) as Record<string, unknown>;
    return Object.entries(module).map(([name, value]) => ({ path, name, value }));
  }));
  return found.flat();
}

/** Whether a value has these properties. */
function has(value: unknown, ...names: readonly string[]): boolean {
  return typeof value === "object" && value !== null && names.every((name) => name in value);
}

/** The file of a command. */
function commandFile(words: string): string {
  // trigger_test.ts would be the name of a test
  return `src/cli/commands/${words.replace(/ test$/, " try").replace(/[ -]/g, "_")}.ts`;
}

/** The words after that of the forge, from the name of a file that makes a command for each. */
function forgeWords(path: string, forge: ForgeName): string {
  const words = /\/forge_(\w+)\.ts$/.exec(path)?.[1] ?? "";
  return words.replaceAll("_", " ").replace(/^pull /, `${FORGE_WORDS[forge].pullCommand} `);
}

Deno.test("commands.ts holds every command, and a command's file is named by its words", async () => {
  const exported = (await exportsOf("src/cli/commands")).flatMap(({ path, name, value }) =>
    has(value, "run", "examples") ? [{ path, name, value }] : has(value, ...FORGES) // made once for all forges
      ? FORGES.map((forge) => ({
        path: commandFile(`${forge} ${forgeWords(path, forge)}`),
        name: "command",
        value: (value as Record<string, unknown>)[forge],
      }))
      : []
  );
  const listed = await Promise.all(COMMANDS.map(async ({ words, load }) => ({
    path: commandFile(words),
    name: "command",
    value: (await load()).command,
  })));
  const byPath = (a: { path: string }, b: { path: string }) => a.path < b.path ? -1 : 1;
  deepEqual(exported.toSorted(byPath), listed.toSorted(byPath));
});

Deno.test("kinds.ts holds every kind", async () => {
  const exported = (await exportsOf("src/resources")).filter(({ value }) =>
    has(value, "kind", "plural", "columns")
  );
  deepEqual(new Set(exported.map(({ value }) => value)), new Set<unknown>(KINDS));
  equal(exported.length, KINDS.length);
});

Deno.test("events.ts holds every event file, and every source has its file in sources", async () => {
  const exported = (await exportsOf("src/resources")).filter(({ value }) =>
    has(value, "source", "schema", "references")
  );
  deepEqual(new Set(exported.map(({ value }) => value)), new Set<unknown>(EVENTS));
  const files = FILES.map(({ path }) => path);
  const eventFiles = files.filter((path) => /^src\/resources\/event_\w+\.ts$/.test(path));
  const sources = EVENTS.map(({ source }) => source);
  deepEqual(
    eventFiles.toSorted(),
    sources.map((one) => `src/resources/event_${one}.ts`).toSorted(),
  );
  deepEqual(
    sources.filter((one) =>
      !files.some((path) => path.startsWith("src/intake/") && basename(path) === `${one}.ts`)
    ),
    [],
  );
});

Deno.test("platforms.ts holds every platform, each in the one file of its name", async () => {
  const exported = (await exportsOf("src/platforms")).filter(({ value }) =>
    has(value, "name", "headers", "signature")
  );
  deepEqual(new Set(exported.map(({ value }) => value)), new Set<unknown>(PLATFORMS));
  deepEqual(
    exported.map(({ path }) => path).toSorted(),
    PLATFORMS.map(({ name }) => `src/platforms/${name.replaceAll("-", "_")}.ts`).toSorted(),
  );
});

Deno.test("manifests can name every platform and every scheme of no platform", async () => {
  const exported = (await exportsOf("src/signatures")).filter(({ value }) =>
    has(value, "name", "verify")
  );
  const names = exported.map(({ value }) => (value as { name: string }).name);
  deepEqual(
    SCHEME_NAMES.toSorted(),
    ["auto", ...names, ...PLATFORMS.map(({ name }) => name)].toSorted(),
  );
});

Deno.test("every Worker has its name in deno.json", () => {
  const { imports } = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json"))) as {
    imports: Record<string, string>;
  };
  const named = FILES.flatMap(({ code }) =>
    [...code.matchAll(/import\.meta\.resolve\("(#[\w-]+)"\)/g)].map(([, name]) => name ?? "")
  );
  const declared = Object.keys(imports).filter((name) => name.startsWith("#"));
  deepEqual(named.toSorted(), declared.toSorted());
  const paths = declared.map((name) => (imports[name] ?? "").replace("./", ""));
  deepEqual(paths.filter((path) => !FILES.some((file) => file.path === path)), []);
});

Deno.test("no file is too long: 400 lines, half of them 100, nine of ten 250", () => {
  const lengths = FILES.map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
    .toSorted((a, b) => a.lines - b.lines);
  deepEqual(lengths.filter(({ lines }) => lines > 400), []);
  const at = (part: number) => lengths[Math.floor(lengths.length * part)]?.lines ?? 0;
  ok(at(0.5) <= 100, `median ${at(0.5)}`);
  ok(at(0.9) <= 250, `nine of ten ${at(0.9)}`);
  const most = { "cli.ts": 20, "main.ts": 40 } as Record<string, number>;
  deepEqual(lengths.filter(({ path, lines }) => lines > (most[path] ?? 400)), []);
});

/** The text of an exported function. */
function functionText(path: string, name: string): string {
  const { text } = readFile(path);
  return new RegExp(`^export async function ${name}\\b[\\s\\S]*?^}`, "m").exec(text)?.[0] ?? "";
}

for (
  const [path, name, stages] of [
    [
      "src/intake/webhook.ts",
      "receiveWebhook",
      [
        "at",
        "receive",
        "receiveForAll",
        "decide",
        "answerHandshake",
        "record",
        "answer",
        "refuseAndRecord",
      ],
    ],
    ["src/intake/pipeline/pipeline.ts", "decide", ["read", "decideEvents"]],
    ["src/intake/pipeline/pipeline.ts", "decideEvents", ["toEvents", "transform", "admit"]],
    [
      "src/intake/pipeline/pipeline.ts",
      "read",
      ["authenticate", "parsePayload", "findHandshake"],
    ],
  ] as const
) {
  Deno.test(`${name} is one function of at most 40 lines, its stages in their order`, () => {
    const text = functionText(path, name);
    const lines = text.split("\n").length;
    ok(lines >= 10 && lines <= 40, `${lines} lines`);
    const body = text.slice(text.indexOf(" {\n"));
    // Of two stages in one line the one that is done first stands inside the other.
    const line = (stage: string) => body.split("\n").findIndex((one) => one.includes(`${stage}(`));
    const places = stages.map(line);
    deepEqual(
      places,
      places.filter((place) => place > 0).toSorted((a, b) => a - b),
      "in this order",
    );
  });
}

Deno.test("the pipeline is put together in one file, for everybody that sends something through it", () => {
  const stage = /(?<!function )\b(parsePayload|toEvents|transform)\(/;
  const users = FILES.filter(({ path, code }) =>
    /^src\/(intake|control)\//.test(path) && stage.test(code)
  );
  deepEqual(users.map(({ path }) => path), ["src/intake/pipeline/pipeline.ts"]);
});

/** Files that run when these do, themselves included. */
function reachedFrom(paths: readonly string[]): string[] {
  const reached = new Set(paths);
  for (const path of reached) {
    for (const { from, to, use } of IMPORTS.filter(isOurs)) {
      if (from === path && use === "values") reached.add(to);
    }
  }
  return [...reached];
}

Deno.test("bytes of a stranger are neither parsed nor split: not to read them, nor to check who signed", () => {
  const http = FILES.map(({ path }) => path).filter((path) => path.startsWith("src/http/"));
  const seen = reachedFrom([...http, "src/platforms/schemes.ts"]);
  ok(seen.length > http.length + SCHEMES.length, "it looks into the schemes");
  const parsing = /\b(JSON\.parse|parseJson|URLSearchParams)\b/;
  const parse = FILES.filter(({ path, code }) => seen.includes(path) && parsing.test(code));
  // Its one reader of forms is given a bound before it splits anything: Twilio signs the fields.
  // Its one reader of JSON asks for the key that has matched.
  // What finds members in a text, within a bound, too, parses single strings only.
  const readers = [
    "src/base/form.ts",
    "src/base/json.ts",
    "src/base/json_members.ts",
    "src/signatures/verified_json.ts",
  ];
  deepEqual(parse.map(({ path }) => path).toSorted(), readers);
  const verified = readFile("src/signatures/verified_json.ts").code;
  ok(
    /function findVerifiedJson\(text: string, _match: KeyMatch & \{ readonly ok: true \}/.test(
      verified,
    ),
  );
  const { code } = readFile("src/intake/pipeline/payload.ts");
  ok(/function parsePayload\(\s*delivery: AuthenticatedDelivery\b/.test(code));
  // A module that reads bytes from a request itself bypasses the budget.
  const taking = /\brequest\.(body|bytes|arrayBuffer|text|json|formData|blob)\b/;
  const takers = FILES.filter(({ path, code }) =>
    /^src\/(http|intake|control|telemetry)\//.test(path) && taking.test(code)
  ).map(({ path }) => path);
  deepEqual(takers.toSorted(), ["src/control/server/attached_body.ts", "src/http/read_body.ts"]);
});

Deno.test("every file opens with a @module block of at most six lines", () => {
  const wrong = FILES.filter(({ text }) => {
    const block = /^\/\*\*\n([\s\S]*?)\n \*\/\n/.exec(text)?.[1];
    if (block === undefined || !block.includes("\n * @module")) return true;
    const words = block.replace(/^ \* ```[\s\S]*?^ \* ```/gm, "").split("\n")
      .filter((line) => !/^ \*\s*$/.test(line) && !line.includes("@module") && line !== "");
    return words.length === 0 || words.length > 6;
  });
  deepEqual(wrong.map(({ path }) => path), []);
});

/** The names that files import from other folders, each as `PATH NAME`. */
function importedElsewhere(): Set<string> {
  const names = FILES.flatMap(({ path, code }) =>
    [...code.matchAll(/^import (?:type )?\{([^}]*)\} from "(\.[^"]*)"/gm)]
      .map(([, list = "", from = ""]) => ({ list, to: join(dirname(path), from) }))
      .filter(({ to }) => dirname(to) !== dirname(path))
      .flatMap(({ list, to }) =>
        list.split(",").map((one) => one.trim().replace(/^type /, "").replace(/ as .*/, ""))
          .filter((name) => name !== "").map((name) => `${to} ${name}`)
      )
  );
  return new Set(names);
}

Deno.test("what another folder imports says what it is, in a doc comment", () => {
  const imported = importedElsewhere();
  ok(imported.size > 500);
  const declaration =
    /^(?<before>.*)\nexport (?:abstract |async )?(?:class|const|function\*?|interface|type) (?<name>\w+)/gm;
  const silent = FILES.flatMap(({ path, text }) =>
    [...text.matchAll(declaration)]
      .filter(({ groups }) => !groups?.["before"]?.endsWith("*/"))
      .map(({ groups }) => `${path} ${groups?.["name"]}`)
  );
  deepEqual(silent.filter((one) => imported.has(one)), []);
});

Deno.test("no barrel and no default export", () => {
  const forbidden = /^export (\*|default\b|(type )?\{[^}]*\} from\b)/m;
  deepEqual(FILES.filter(({ code }) => forbidden.test(code)).map(({ path }) => path), []);
});

Deno.test("files are called after what they hold, in snake_case", () => {
  const vague =
    /(^|_)(utils?|helpers?|common|managers?|services?|types|misc|shared|index|mod)\.ts$/;
  const wrong = FILES.filter(({ path }) =>
    !/^[a-z0-9]+(_[a-z0-9]+)*\.ts$/.test(basename(path)) || vague.test(basename(path))
  );
  deepEqual(wrong.map(({ path }) => path), []);
});

Deno.test("no test compares loosely: by name, node:assert/strict gives the loose functions in Deno", () => {
  const loose =
    /import \{[^}]*(?<!as )\b(equal|notEqual|deepEqual|notDeepEqual)\b(?! as)[^}]*\} from "node:assert/;
  deepEqual(TYPESCRIPT.filter(({ text }) => loose.test(text)).map(({ path }) => path), []);
});

Deno.test("the contract of the store knows no implementation: no file, no row, nothing of SQLite", () => {
  const files = filesUnder("tests/store/contract").filter((path) =>
    basename(path) !== "implementations.ts"
  );
  ok(files.length > 20);
  const inside = /sqlite|\browsOf\b|helpers\/temp_store|\bDatabaseSync\b/i;
  const known = files.filter((path) => inside.test(Deno.readTextFileSync(join(ROOT, path))));
  deepEqual(known, []);
});

Deno.test("no object literal is spread into another: the compiler would not see a misspelt field", () => {
  const spread = TYPESCRIPT.filter(({ text }) => /\.{3}\{/.test(text));
  deepEqual(spread.map(({ path }) => path), []);
});

Deno.test("no list is spread into another for its line breaks: the formatter decides on those", () => {
  const spread = /^( *)\.{3}\[(?:[^[\]\n]*|\n(?:\1 [^\n]*\n)*\1)\](?: as const)?,?$(?!\n *\.)/m;
  deepEqual(TYPESCRIPT.filter(({ text }) => spread.test(text)).map(({ path }) => path), []);
  ok(spread.test('[\n  ...["a", "b"] as const,\n]') && !spread.test("  ...[1]\n    .map(f),"));
});

/** The anchors of a page, as GitHub makes them of headings. */
function anchorsOf(path: string): Set<string> {
  const text = Deno.readTextFileSync(join(ROOT, path)).replace(/^```[\s\S]*?^```/gm, "");
  const headings = [...text.matchAll(/^#{1,6} (.*)$/gm)].map(([, heading]) => heading ?? "");
  return new Set(
    headings.map((heading) =>
      heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
    ),
  );
}

/**
 * What is wrong with a reference, from the root of the project; nothing when it leads somewhere.
 */
function faultOf(path: string, anchor: string | undefined): string | undefined {
  try {
    Deno.statSync(join(ROOT, path));
  } catch {
    return "is not there";
  }
  if (anchor === undefined || !path.endsWith(".md")) return undefined;
  return anchorsOf(path).has(anchor) ? undefined : `has no heading "${anchor}"`;
}

Deno.test("every page that code names is there, and has the heading it names", () => {
  const cited = TYPESCRIPT.flatMap(({ path: from, text }) =>
    [...text.matchAll(/\b(docs\/[\w/.-]+\.md)(?:#([\w-]+))?/g)]
      .map(([, to = "", anchor]) => ({ from, to, anchor }))
  );
  ok(cited.length > 0);
  const wrong = cited.flatMap(({ from, to, anchor }) => {
    const fault = faultOf(to, anchor);
    return fault === undefined ? [] : [`${from}: ${to} ${fault}`];
  });
  deepEqual(wrong, []);
});

Deno.test("no comment points outside the repository", () => {
  const outside =
    /\b(contract|spec|security|layout|toolchain|issue) \d|\.\.\/shared\b|\bshared\/(spec|design)\b/i;
  const wrong = TYPESCRIPT.filter(({ path }) => path !== "tests/architecture_test.ts")
    .flatMap(({ path, text }) =>
      text.split("\n")
        .flatMap((line, at) => outside.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])
    );
  deepEqual(wrong, []);
});

Deno.test("no word that the glossary replaces comes back", () => {
  // Each had a second meaning, or a plainer word: see the glossary in src/README.md.
  const replaced =
    /\b(greetings?|ailments?|whoever|let_?go|AT_ONCE|LOOK_MS|insist|tryStep|Trail)\b/;
  const wrong = FILES.filter(({ path }) => path !== "src/integrations/embedded.ts")
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, at) =>
        replaced.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : []
      )
    );
  deepEqual(wrong, []);
});

/** Every TypeScript file below a folder. */
function filesUnder(folder: string): string[] {
  return [...Deno.readDirSync(join(ROOT, folder))].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) return filesUnder(path);
    return entry.name.endsWith(".ts") ? [path] : [];
  });
}
