/**
 * The start of `svc mcp` as a coding agent feels it: until its tools are listed.
 *
 * @module
 */

import { startDaemon } from "../../../tests/helpers/daemon.ts";
import { cleanEnv } from "../../../tests/helpers/program.ts";
import type { Scenario } from "../scenario.ts";

const REQUESTS = [
  { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25" } },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  { jsonrpc: "2.0", id: 2, method: "tools/list" },
].map((one) => `${JSON.stringify(one)}\n`).join("");

export const mcp: Scenario = {
  name: "mcp",
  title: "svc mcp: from its start until its tools are listed",
  async run({ program, rounds, size }) {
    await using daemon = await startDaemon(program);
    const { command, args } = program;
    const samples: number[] = [];
    for (let n = 0; n < rounds * (size === "quick" ? 2 : 7); n++) {
      samples.push(await listedMs(command, [...args, "mcp", "--data-dir", daemon.dataDir]));
    }
    return [{ name: "tools listed", unit: "ms", samples, target: { atMost: 150 }, inDocs: true }];
  },
};

/** Milliseconds from the start of the server until its answer to `tools/list` is read. */
async function listedMs(command: string, args: readonly string[]): Promise<number> {
  const start = performance.now();
  await using child = new Deno.Command(command, {
    args: [...args],
    clearEnv: true,
    env: cleanEnv(),
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(REQUESTS));
  let text = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (/"id":2,.*"name":"status".*\n/.test(text)) break;
  }
  const took = performance.now() - start;
  await writer.close().catch(() => {});
  if (!text.includes('"name":"status"')) throw new Error(`svc mcp lists no tools: ${text}`);
  return took;
}
