/**
 * A soak: a site, a daemon with many lives, actors that work at the same time, and the verdict.
 *
 * @module
 */

import { join } from "node:path";
import { type DataDirectory, initDataDirectory, ONLY_NODE } from "../../tests/helpers/daemon.ts";
import { startPostgres } from "../../tests/helpers/postgres_server.ts";
import type { Program } from "../../tests/helpers/program.ts";
import { tempDir } from "../../tests/helpers/temp_dir.ts";
import { until } from "../../tests/helpers/until.ts";
import { Chat, sendForgedChat } from "./chat_senders.ts";
import { disturb } from "./disturbers.ts";
import { Journal } from "./journal.ts";
import { readLedger } from "./ledger.ts";
import { type Death, Lives, type Living } from "./lives.ts";
import { findGrowth, type Life } from "./memory.ts";
import * as operators from "./operators.ts";
import { Random } from "../../tests/helpers/random.ts";
import { readRecords } from "./records.ts";
import { joinDirectories, SeveralLives } from "./several_lives.ts";
import { sendBad, sendDecided, sendGood, sendSwitched, sendThroughPlugins } from "./senders.ts";
import { makeSite, manifestsOf, MAX_BODY, type Site } from "./site.ts";
import { sendSlowly } from "./slow_senders.ts";
import {
  judgeApplies,
  judgeAudit,
  judgeFiles,
  judgeProcesses,
  judgePromises,
  judgeSources,
  judgeSteps,
  judgeTasks,
} from "./verdict.ts";
import { World } from "./world.ts";

export interface SoakOptions {
  readonly program: Program;
  /** Whether several daemons share a PostgreSQL of their own. */
  readonly isCluster?: boolean;
  readonly seed: number;
  /** Seconds of the storm, in which the daemon is killed again and again. */
  readonly stormSecs: number;
  /** Seconds after the storm, in which the daemon runs on under the same load. */
  readonly steadySecs: number;
  /** Average seconds between two kills. */
  readonly killEverySecs: number;
  /** Number of senders that start at once just before each kill. */
  readonly crowd: number;
  /** Takes messages about the progress. */
  readonly say: (text: string) => void;
}

export interface SoakResult {
  readonly faults: readonly string[];
  readonly moreFaults: number;
  readonly counts: readonly (readonly [string, number])[];
  readonly lives: readonly Life[];
  /** Number of tasks, deliveries and runs of plugins. */
  readonly totals: Readonly<Record<string, number>>;
}

/** An actor, and its average time between two actions in milliseconds. */
type Actor = readonly [
  name: string,
  aboutMs: number,
  act: (world: World, random: Random) => Promise<void>,
];

function cast(): readonly Actor[] {
  const chat = new Chat();
  return [
    ["good", 150, sendGood],
    ["good too", 150, sendGood],
    ["decided", 250, sendDecided],
    ["bad", 120, sendBad],
    ["switched", 300, sendSwitched],
    ["switched too", 300, sendSwitched],
    ["slow", 200, sendSlowly],
    ["slow too", 200, sendSlowly],
    ["chat", 400, (world, random) => chat.send(world, random)],
    ["forger", 1000, sendForgedChat],
    ["applier", 700, operators.apply],
    ["canceller", 900, operators.cancel],
    ["retrier", 1500, operators.retry],
    ["redeliverer", 1200, operators.redeliver],
    ["reader", 300, operators.readRecords],
    ["reader too", 300, operators.readRecords],
    ["user", 4000, operators.runProgram],
    ["dropper", 700, operators.dropFile],
    ["disturber", 1500, disturb],
  ];
}

/** Longest time until no task is pending. */
const DRAIN_MS = 300_000;
/** Share of ends by SIGTERM among all ends. */
const TERMS = 0.25;

const DAEMON_ARGS = [
  "--max-body",
  String(MAX_BODY),
  "--workers",
  "12",
  "--log-format",
  "json",
  "--keep-tasks",
  "none",
  "--slack-api-url",
  "http://127.0.0.1:9",
];

const SHORT_LEASE = ["--lease", "20s"];

/** Soaks a program. Throws only if the soak itself cannot continue. */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { program, seed, say } = options;
  const random = new Random(seed);
  const journal = new Journal();
  await using base = await tempDir();
  await using soaked = await makeSoaked(options, { random, journal });
  const { lives, directories } = soaked;
  const site = await makeSite(base.path, ...directories);
  await lives.start();
  await (await lives.now()).apply(...manifestsOf(site, program));
  const stopping = new AbortController();
  const world = new World({ site, lives, journal, stop: stopping.signal });
  const actors = [
    watch(world),
    ...cast().map((actor) => perform(actor, world, random.fork())),
  ];
  await storm(world, random.fork(), options);
  say(`the last life goes on for ${options.steadySecs} s`);
  const before = journal.promised.length;
  await wait(options.steadySecs * 1000);
  if (journal.promised.length === before && !world.crowded) {
    journal.fault("nothing was accepted in the last life");
  }
  stopping.abort();
  await Promise.all(actors);
  say("waiting for the end of every task");
  await drain(world, random.fork());
  const totals = await judge(program, { site, lives, journal });
  for (const growth of findGrowth(lives.story.lives)) journal.fault(growth);
  const { faults, moreFaults, counts } = journal;
  return { faults, moreFaults, counts, lives: lives.story.lives, totals };
}

/** Starts the daemons of a soak: one, or several that share a database. */
interface Soaked extends AsyncDisposable {
  readonly lives: Living;
  readonly directories: readonly DataDirectory[];
}

/** Names of daemons that share a database; the first one watches for files. */
const NODES = [ONLY_NODE, "second", "third"];

async function makeSoaked(
  { program, isCluster = false }: SoakOptions,
  { random, journal }: { readonly random: Random; readonly journal: Journal },
): Promise<Soaked> {
  await using opening = new AsyncDisposableStack();
  const parts = { program, journal, args: DAEMON_ARGS };
  const directories = isCluster
    ? await joinDirectories(program, opening.use(await startPostgres()), NODES)
    : [await initDataDirectory(program)];
  for (const directory of directories) opening.use(directory);
  const [directory] = directories;
  const lives = isCluster || directory === undefined
    ? new SeveralLives(directories, { ...parts, args: [...DAEMON_ARGS, ...SHORT_LEASE] }, random)
    : new Lives({ ...parts, directory });
  opening.use(lives);
  const open = opening.move();
  return { lives, directories, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** Runs an actor until it is to stop. An unexpected error is a fault, and the actor goes on. */
async function perform([name, aboutMs, act]: Actor, world: World, random: Random): Promise<void> {
  while (!world.stop.aborted) {
    try {
      await act(world, random);
    } catch (error) {
      world.journal.fault(`actor ${name}: ${error instanceof Error ? error.stack : error}`);
    }
    await world.breathe(random, aboutMs);
  }
}

/** Reads the number of pending tasks again and again, so that the actors know when to wait. */
async function watch(world: World): Promise<void> {
  while (!world.stop.aborted) {
    await world.look();
    await wait(1000);
  }
}

/** Kills the daemon again and again, each time while a crowd of senders has just started. */
async function storm(world: World, random: Random, options: SoakOptions): Promise<void> {
  const { stormSecs, killEverySecs, say } = options;
  const { lives } = world;
  const end = Date.now() + stormSecs * 1000;
  for (;;) {
    const forMs = killEverySecs * (750 + random.between(0, 500));
    if (Date.now() + forMs > end) return await wait(end - Date.now());
    await wait(forMs);
    const how: Death = lives.ended > 0 && random.chance(TERMS) ? "TERM" : "KILL";
    say(`${how}, after ${lives.story.lives.length} lives`);
    const crowd = Array.from({ length: options.crowd }, () => sendGood(world, random.fork()));
    await wait(random.between(0, 40));
    await Promise.all([lives.replace(how), ...crowd]);
  }
}

/** The last runs of the interceptor may have been those that never end, by what was asked of them. */
const NEVER_ENDED = /^plugin \S+ failed \d+ times in a row: interceptor "check" took longer/;
const MOST_TRIES = 30;

async function drain(world: World, random: Random): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { degraded } = await world.call("status", {}) ?? { degraded: [] };
    if (!degraded.some((line) => NEVER_ENDED.test(line))) break;
    await sendThroughPlugins(world, random);
  }
  await until("the end of every task", async () => {
    await wait(500);
    const status = await world.call("status", {});
    const events = await world.call("get", { what: "source-events", state: "received", limit: 1 });
    const { pending = 1, running = 1 } = status?.queue ?? {};
    return pending + running + (events?.items.length ?? 1) === 0 ? true : undefined;
  }, DRAIN_MS);
  await wait(1500); // what follows a task that ended last, and rows that are written behind
  const { degraded } = await world.call("status", {}) ?? { degraded: [] };
  world.journal.none("degraded at the end", degraded);
}

/** Checks all invariants; stops the daemon on the way. */
async function judge(
  { onPostgres }: Program,
  { site, lives, journal }: { site: Site; lives: Living; journal: Journal },
): Promise<Record<string, number>> {
  const daemon = await lives.now();
  await judgeProcesses(site, journal);
  const checks = [["audit", "verify"], ...(onPostgres === true ? [] : [["db", "check"]])];
  for (const args of checks) {
    const { code, stdout, stderr } = await daemon.svc(args);
    if (code !== 0) journal.fault(`svc ${args.join(" ")}: exit ${code}: ${stdout}${stderr}`);
  }
  const records = await readRecords(site.directories[0]?.path ?? "");
  await judgeFiles(records, { site, journal });
  await lives.end("TERM");
  await judgeProcesses(site, journal);
  const lines = await readLedger(join(site.base, "ledger"));
  const runs = (await Deno.readTextFile(join(site.base, "plugins"))).split("\n")
    .filter((line) => line !== "").map((line) => line.split(" ")[1] ?? "");
  judgePromises(records, journal);
  judgeTasks(records, journal);
  judgeSteps(records, lines, { deaths: lives.story.deaths, journal });
  judgeAudit(records, runs, journal);
  judgeApplies(records, journal);
  judgeSources(records, journal);
  return {
    deliveries: records.deliveries.size,
    promised: journal.promised.length,
    tasks: records.tasks.size,
    "steps that began": lines.filter(({ what }) => what === "start").length,
    "runs of plugins": runs.length,
    "events of Slack": records.sourceEvents.length,
  };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
