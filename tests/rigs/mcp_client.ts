/**
 * A coding agent that has started `svc mcp`: the client of the protocol's own SDK.
 *
 * @module
 */

import { Client } from "@modelcontextprotocol/sdk/client";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { cleanEnv, type Program } from "../helpers/program.ts";

/** The answer of a tool. */
export interface ToolAnswer {
  readonly text: string;
  /** Whether the tool refused. */
  readonly isError: boolean;
}

/** A client of one `svc mcp`. */
export interface McpClient extends AsyncDisposable {
  /** The SDK's client itself. */
  readonly client: Client;
  /** The names of the tools, sorted. */
  names(): Promise<string[]>;
  /** Calls a tool. */
  call(name: string, given?: Record<string, unknown>): Promise<ToolAnswer>;
}

/** How a client starts a server. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables beside the few that the SDK passes on. */
  readonly env: Readonly<Record<string, string>>;
}

/** The SDK leaves a timer behind when it has ended a program: options of the tests that use it. */
export const SDK = { sanitizeOps: false, sanitizeResources: false };

/** Starts `svc mcp` for a data directory, with these arguments. */
export async function mcpClient(
  program: Program,
  dataDir: string,
  args: readonly string[] = [],
): Promise<McpClient> {
  return await startServer({
    command: program.command,
    args: [...program.args, "mcp", "--data-dir", dataDir, ...args],
    env: cleanEnv(),
  });
}

/** Starts a server as a configuration says. */
export async function startServer(server: ServerCommand): Promise<McpClient> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ ...server, args: [...server.args] }));
  return {
    client,
    async names() {
      const { tools } = await client.listTools();
      return tools.map(({ name }) => name).toSorted();
    },
    async call(name, given = {}) {
      const { content, isError } = await client.callTool({ name, arguments: given });
      const [{ text }] = content as [{ text: string }];
      return { text, isError: isError === true };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
