/**
 * REGISTRY of the checks of `svc agent check`, in the order in which they are made.
 *
 * @module
 */

import { shortDuration } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import { plainOutput } from "../../base/output_text.ts";
import { type Check, failed, type Finding, ok, warning } from "../../doctor/check.ts";
import { envReferences } from "../../resources/env.ts";
import type { Reference } from "../../resources/kind.ts";
import { networkReferences } from "../../resources/network.ts";
import { networkText, NO_SANDBOX } from "../../resources/sandbox.ts";
import { faultOfSecret } from "../../resources/secret_store.ts";
import { isPlaceholder } from "../../resources/secrets_template.ts";
import type { ShellExit } from "../../shell/run_shell.ts";
import { sandboxName } from "../../tasks/sandbox/step_sandbox.ts";
import { reachApis } from "../../tasks/sandbox/sandbox_network.ts";
import { readSecret } from "../../tasks/step/step_env.ts";
import { askAgent } from "./agent_prompt.ts";
import { askProgram, findVersion, type ProgramAnswer, VERSION_MS } from "./agent_program.ts";
import type { AgentScene } from "./agent_scene.ts";

/** An Agent, and what the checks before have found. */
export interface AgentCheckHost {
  readonly scene: AgentScene;
  /** Whether all of its secrets are there. */
  hasSecrets?: boolean;
  /** Whether a command can be started in its sandbox, or needs none. */
  isHeld?: boolean;
  program?: ProgramAnswer;
}

type AgentCheck = Check<AgentCheckHost>;

const NEVER = new AbortController().signal;

/** The secrets that the Agent and its sandbox refer to. */
const secrets: AgentCheck = {
  name: "secrets",
  async look(host) {
    const { scene } = host;
    const network = await scene.network().catch(() => undefined); // the check of the sandbox reports it
    const references = [...envReferences(scene.agent.env, []), ...networkReferences(network, [])];
    const named = [...new Map(references.map((one) => [nameOf(one), one])).values()];
    const literal = Object.entries(scene.agent.env)
      .filter(([, value]) =>
        // what an event fills in is none
        typeof value === "string" && isPlaceholder(value) && !value.includes("{{")
      )
      .map(([name]) => failed(`${name} of its env is a placeholder: write a value in its place`));
    const faults = named.flatMap((one) => secretFault(one, scene));
    host.hasSecrets = faults.length === 0;
    if (faults.length > 0 || literal.length > 0) return [...faults, ...literal];
    return named.length === 0 ? [] : [ok(named.map(nameOf).join(", "))];
  },
};

const nameOf = ({ name, secretKey = "" }: Reference) => `"${secretKey}" of SecretStore "${name}"`;

function secretFault(one: Reference, scene: AgentScene): Finding[] {
  const { host: { catalog }, project, agent } = scene;
  const { name: store, secretKey: key = "" } = one;
  const remedy = scene.command(`svc secret set ${store} ${key}`);
  try {
    const value = readSecret({ store, key }, { catalog, project });
    const fault = faultOfSecret(key, value);
    if (fault !== undefined) return [failed(`${nameOf(one)}: ${fault} (${remedy})`)];
    const [same] = Object.entries(agent.env).find(([, text]) => text === value) ?? [];
    if (same === undefined) return [];
    return [failed(
      `${nameOf(one)} is what the agent has in ${same} in its place: set the secret (${remedy})`,
    )];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [failed(`${error.message} (${remedy})`)];
  }
}

/** The sandbox: whether it can be made, and a command starts in it. */
const sandbox: AgentCheck = {
  name: "sandbox",
  async look(host, signal = NEVER) {
    const { scene } = host;
    const choice = await scene.choose();
    if (scene.spec.sandbox === NO_SANDBOX) {
      host.isHeld = true;
      return [warning(
        "none: the agent may read, change and reach what the user of the daemon may",
      )];
    }
    const { exit } = await scene.run({
      line: "true",
      isOffline: host.hasSecrets !== true,
      timeoutMs: VERSION_MS,
      signal,
      onOutput() {},
    });
    if (signal.aborted) return [];
    if (typeof exit === "string") return [failed(exit)];
    if (exit.code !== 0) return [failed(`no command can be started: ${endText(exit)}`)];
    host.isHeld = true;
    if (!("sandbox" in choice)) return [warning(choice.note ?? "its steps run without a sandbox")];
    const { name, spec } = choice.sandbox;
    const can = `${name === undefined ? "it" : sandboxName(choice.sandbox)} can be made`;
    const found = `${can}; network: ${networkText(spec)}`;
    if (choice.sandbox.isDefault !== true) return [ok(found)];
    return [ok(
      "the Agent has none, so that of the workflow or workspace counts, or else the default one " +
        `where an event can start the workflow: ${found}`,
    )];
  },
};

/** The program: where its shell finds it, and whether it starts. */
const program: AgentCheck = {
  name: "program",
  async look(host, signal = NEVER) {
    if (host.isHeld !== true) return [];
    const found = host.program = await askProgram(host.scene, {
      isOffline: host.hasSecrets !== true,
      signal,
    });
    if (signal.aborted) return [];
    switch (found.is) {
      case "unknown":
        return [warning(`not looked for: ${found.why}`)];
      case "missing":
        return [failed(found.why)];
      case "there": {
        if (!isFailed(found)) return [ok(found.path)];
        return [failed(`${found.path} does not start: ${endText(found.exit, found.err)}`)];
      }
    }
  },
};

/** The version of the program, beside that of its package. */
const version: AgentCheck = {
  name: "version",
  look({ scene: { triedVersion: tried }, program: found }) {
    if (found?.is !== "there" || isFailed(found)) return Promise.resolve([]);
    return Promise.resolve([versionFinding(found, tried)]);
  },
};

type Found = Extract<ProgramAnswer, { readonly is: "there" }>;

function isFailed({ exit: { code, killedBy, endedFor } }: Found): boolean {
  return endedFor === undefined && (killedBy !== undefined || code === 126 || code === 127);
}

function versionFinding({ exit, out, err, isEndless }: Found, tried: string | undefined): Finding {
  const known = findVersion(out) ?? findVersion(err);
  if (known === undefined) {
    const why = isEndless
      ? "it prints without an end"
      : exit.endedFor === "timeout"
      ? `it did not end within ${shortDuration(VERSION_MS)}`
      : exit.code === 0
      ? "it names none"
      : endText(exit);
    const says = `--version does not tell it: ${why}`;
    // A program that nobody has tried may know no such option.
    const isFine = tried === undefined && exit.endedFor === undefined;
    return isFine ? ok(says) : warning(says);
  }
  if (tried === undefined) return ok(known);
  if (known === tried) return ok(`${known}, which its package was tried with`);
  return warning(`${known}; its package was tried with ${tried}`);
}

/** The APIs that it reaches with a key of svc. */
const api: AgentCheck = {
  name: "api",
  async look({ scene }, signal = NEVER) {
    const choice = await scene.choose().catch(() => undefined); // the check of the sandbox reports it
    if (choice === undefined || !("sandbox" in choice)) return [];
    const findings: Finding[] = [];
    const { clock } = scene.host;
    for await (const { api, fault } of reachApis(choice.sandbox, { clock, signal })) {
      findings.push(fault === undefined ? ok(`${api} is reached`) : failed(`${api}: ${fault}`));
    }
    return signal.aborted ? [] : findings;
  },
};

/** One prompt, if it is wanted. */
const prompt: AgentCheck = {
  name: "prompt",
  async look({ scene, hasSecrets, isHeld, program: found }, signal = NEVER) {
    if (!scene.asks) return [];
    const why = isHeld !== true
      ? "its sandbox cannot be made"
      : hasSecrets !== true
      ? "its secrets are not there"
      : found?.is === "missing" || (found?.is === "there" && isFailed(found))
      ? "its program does not start"
      : found?.is === "unknown" && found.isLocal
      ? found.why
      : undefined;
    return why === undefined ? await askAgent(scene, signal) : [warning(`not tried: ${why}`)];
  },
};

/** How a command ended, with the beginning of what it said of that. */
function endText({ code, killedBy, endedFor }: ShellExit, said = ""): string {
  const how = killedBy !== undefined
    ? `killed by ${killedBy}`
    : endedFor === "timeout"
    ? "it ran out of time"
    : `exit code ${code}`;
  const line = plainOutput(said, 300);
  return line === "" ? how : `${how}: ${line}`;
}

/** The checks of an Agent. */
export const AGENT_CHECKS: readonly AgentCheck[] = [
  secrets,
  sandbox,
  program,
  version,
  api,
  prompt,
];
