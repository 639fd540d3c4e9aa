/**
 * A coding agent that has started `svc mcp`: a client that speaks the protocol, and the client of the
 * protocol's own SDK, which Node runs where `.ci/agents` has installed it.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cleanEnv, type Program, ROOT } from "../helpers/program.ts";
import { AGENTS_FOLDER } from "./real_agents.ts";

/** The answer of a tool. */
export interface ToolAnswer {
  readonly text: string;
  /** Whether the tool refused. */
  readonly isError: boolean;
}

/** A tool as a client sees it. */
export interface ListedTool {
  readonly name: string;
  readonly annotations?: { readonly readOnlyHint?: boolean };
  readonly inputSchema: Readonly<Record<string, unknown>> & {
    readonly properties?: Readonly<Record<string, unknown>>;
  };
}

/** A client of one `svc mcp`. */
export interface McpClient extends AsyncDisposable {
  tools(): Promise<readonly ListedTool[]>;
  /** The names of the tools, sorted. */
  names(): Promise<string[]>;
  /** Calls a tool. */
  call(name: string, given?: Record<string, unknown>): Promise<ToolAnswer>;
}

/** How a client starts a server. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables beside the few that clients pass on. */
  readonly env: Readonly<Record<string, string>>;
}

/** The command of `svc mcp` for a data directory, with these arguments. */
export function mcpCommand(
  program: Program,
  dataDir: string,
  args: readonly string[] = [],
): ServerCommand {
  return {
    command: program.command,
    args: [...program.args, "mcp", "--data-dir", dataDir, ...args],
    env: cleanEnv(),
  };
}

/** Starts `svc mcp` for a data directory, with these arguments. */
export async function mcpClient(
  program: Program,
  dataDir: string,
  args: readonly string[] = [],
): Promise<McpClient> {
  return await startServer(mcpCommand(program, dataDir, args));
}

/** Starts a server as a configuration says. */
export async function startServer(server: ServerCommand): Promise<McpClient> {
  const lines = talkTo(server);
  let last = 0;
  async function ask(method: string, params: object) {
    const id = ++last;
    await lines.write({ jsonrpc: "2.0", id, method, params });
    // deno-lint-ignore no-explicit-any -- whatever a server answers
    const answer = await lines.read((one: any) => one.id === id) as any;
    const { error } = answer;
    if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
    return answer.result;
  }
  const clientInfo = { name: "test", version: "1" };
  await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  await lines.write({ jsonrpc: "2.0", method: "notifications/initialized" });
  return clientOf(
    async () => (await ask("tools/list", {})).tools,
    async (name, given) => await ask("tools/call", { name, arguments: given }),
    lines,
  );
}

/** Folder of the SDK, as npm lays it out beside the coding agents. */
const SDK = join(AGENTS_FOLDER, "../lib/node_modules/@modelcontextprotocol/sdk");

/** Why the client of the SDK cannot be run; undefined where it can. */
export const NO_SDK = AGENTS_FOLDER !== "" && existsSync(SDK)
  ? undefined
  : "no SDK of the Model Context Protocol beside the coding agents";

/** Starts a server by the SDK's own client, a program of Node. */
export function startSdkClient(server: ServerCommand): McpClient {
  const script = join(ROOT, "tests/fakes/mcp_sdk_client.mjs");
  const args = [script, SDK, JSON.stringify(server)];
  const lines = talkTo({ command: "node", args, env: cleanEnv() });
  async function ask(question: object) {
    await lines.write(question);
    // deno-lint-ignore no-explicit-any -- whatever a server answers
    const answer = await lines.read(() => true) as any;
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }
  return clientOf(
    async () => (await ask({ list: true })).tools,
    async (name, given) => await ask({ call: { name, arguments: given } }),
    lines,
  );
}

function clientOf(
  tools: () => Promise<ListedTool[]>,
  call: (name: string, given: object) => Promise<{
    readonly content: readonly { readonly text: string }[];
    readonly isError?: boolean;
  }>,
  lines: AsyncDisposable,
): McpClient {
  return {
    tools,
    names: async () => (await tools()).map(({ name }) => name).toSorted(),
    async call(name, given = {}) {
      const { content, isError } = await call(name, given);
      return { text: content[0]?.text ?? "", isError: isError === true };
    },
    [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose](),
  };
}

/** Starts a program that reads and writes lines of JSON; disposing of it ends its input and awaits its end. */
function talkTo({ command, args, env }: ServerCommand) {
  const child = spawn(command, [...args], { env, stdio: ["pipe", "pipe", "ignore"] });
  const over = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    write: (value: object) =>
      new Promise<void>((resolve, reject) =>
        child.stdin.write(
          `${JSON.stringify(value)}\n`,
          (error) => error ? reject(error) : resolve(),
        )
      ),
    /** The next value that is wanted; those before it are passed over. */
    async read(isWanted: (value: unknown) => boolean): Promise<unknown> {
      for (;;) {
        const { done, value } = await lines.next();
        if (done === true) throw new Error(`${command} has ended`);
        const answer = JSON.parse(value);
        if (isWanted(answer)) return answer;
      }
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await over;
    },
  };
}
