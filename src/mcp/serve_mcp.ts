/**
 * `svc mcp`: serves one client of the Model Context Protocol over standard streams.
 *
 * @module
 */

import { toJson } from "../base/json.ts";
import { inputLines, TOO_LONG } from "./input_lines.ts";
import { readLine, tooLong } from "./messages.ts";
import { McpSession } from "./session.ts";
import { Tools, type ToolsHost } from "./tools.ts";

/** The streams of the client, and the tools that it gets. */
export interface McpHost extends ToolsHost {
  readonly input: ReadableStream<Uint8Array>;
  /** Takes a line of the protocol. */
  readonly write: (line: string) => void;
  readonly onBug: (error: unknown) => void;
}

/** Longest line of a client: more than any tool takes. */
const MOST_LINE_BYTES = 4 * 1024 * 1024;

/** Serves until the input ends, and everything that was asked before is answered. */
export async function serveMcp(host: McpHost): Promise<void> {
  const session = new McpSession({
    tools: new Tools(host),
    write: (answer) => host.write(`${toJson(answer)}\n`),
    onBug: host.onBug,
  });
  for await (const line of inputLines(host.input, MOST_LINE_BYTES)) {
    if (line === TOO_LONG) session.take(tooLong(MOST_LINE_BYTES));
    else if (line.some((byte) => byte > 0x20)) session.take(readLine(line));
  }
  await session.finish();
}
