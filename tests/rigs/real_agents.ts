/**
 * The coding agents themselves, as `.ci/agents` installs them, each run by the command line and the
 * variables of its package in `integrations/`, against the stand-in of a model's API.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { kill } from "node:process";
import * as yaml from "yaml";
import type { Manifest } from "../helpers/manifests.ts";
import { ROOT } from "../helpers/program.ts";

/** An agent of a package. */
export interface AgentPackage {
  /** Name of the package, of its Agent and of its SecretStore. */
  readonly name: string;
  /** Its Agent. */
  readonly manifest: Manifest;
  readonly command: string;
  /** Name of the program that the command starts. */
  readonly program: string;
  /** Variables with a fixed value. */
  readonly env: Readonly<Record<string, string>>;
  readonly inject: readonly {
    readonly url: string;
    readonly env: string;
    readonly headers: Readonly<Record<string, { readonly fromSecret: unknown }>>;
  }[];
  /** The options that begin a session of this id, and go on with it. */
  readonly begun: (id: string) => string;
  readonly resumed: (id: string) => string;
  /** The version that the package names as tried. */
  readonly version: string;
}

const PACKAGES = join(ROOT, "integrations");

/** The packages that hold an agent. */
export const AGENT_PACKAGES: readonly AgentPackage[] = [...Deno.readDirSync(PACKAGES)]
  .map(({ name }) => name)
  .filter((name) => existsSync(join(PACKAGES, name, "agent.yaml")))
  .toSorted()
  .map(readPackage);

function readPackage(name: string): AgentPackage {
  const manifest = yaml.parse(Deno.readTextFileSync(join(PACKAGES, name, "agent.yaml")));
  const { metadata, spec } = manifest;
  return {
    name,
    manifest,
    command: spec.command,
    program: /^(?:exec )?([a-z]+) -*[a-z]+/m.exec(spec.command)?.[1] ?? "",
    env: spec.env,
    inject: spec.sandbox.network.inject,
    begun: (id) => (spec.resume.new ?? "").replaceAll("$SVC_SESSION", id),
    resumed: (id) => spec.resume.again.replaceAll("$SVC_SESSION", id),
    version: metadata.annotations["tried-version"],
  };
}

/** The folder of the programs; empty where there is none. */
export const AGENTS_FOLDER = Deno.env.get("SVC_TEST_AGENTS") ?? "";

/** Why tests of real agents are skipped; undefined where all of them are installed. */
export const NO_AGENTS = AGENTS_FOLDER === "" ? "no coding agents" : undefined;

/** What came of a run. */
export interface AgentRun {
  /** Undefined for one that had to be ended. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

export interface AgentRunOptions {
  /** Base URL of the API, without a slash at its end. */
  readonly api: string;
  readonly prompt: string;
  /** Where it works, and its home. */
  readonly workspace: string;
  readonly home: string;
  /** Variables beside those of the package. */
  readonly env?: Readonly<Record<string, string>>;
  /** A command line before that of the shell, such as bwrap's. */
  readonly inside?: readonly string[];
  /** It is ended after this time. */
  readonly seconds?: number;
}

/** Runs an agent as a step would, with the API in the place of the package's. */
export async function runAgent(
  { command, env, inject }: AgentPackage,
  { api, prompt, workspace, home, env: more = {}, inside = [], seconds = 60 }: AgentRunOptions,
): Promise<AgentRun> {
  const began = performance.now();
  const [program = "", ...args] = ["setsid", ...inside, "/bin/sh", "-c", command];
  const child = new Deno.Command(program, {
    args,
    cwd: workspace,
    clearEnv: true,
    env: {
      PATH: `${AGENTS_FOLDER}:${Deno.env.get("PATH")}`,
      HOME: home,
      ...env,
      ...Object.fromEntries(inject.map((one) => [one.env, `${api}${basePath(one.url)}`])),
      ...more,
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    kill(-child.pid, "SIGKILL");
  }, seconds * 1000);
  const stdin = child.stdin.getWriter();
  // An agent that ends before it has read its prompt is no fault of the run.
  stdin.write(new TextEncoder().encode(prompt)).then(() => stdin.close()).catch(() => {});
  const [stdout, stderr, { code }] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.status,
  ]);
  clearTimeout(timer);
  return {
    code: isLate ? undefined : code,
    stdout,
    stderr,
    seconds: (performance.now() - began) / 1000,
  };
}

function basePath(url: string): string {
  return new URL(url).pathname.replace(/\/$/, "");
}
