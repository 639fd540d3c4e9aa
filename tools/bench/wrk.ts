/**
 * Load by `wrk`: a Lua script with the request, which prints the counts.
 *
 * @module
 */

import { tempDir } from "../../tests/helpers/temp_dir.ts";
import type { LoadRequest, LoadResult, LoadShape } from "./load.ts";
import { processorTime } from "./processor_time.ts";

/** Name and version of the installed `wrk`; `undefined` if there is none. */
export async function findWrk(): Promise<string | undefined> {
  try {
    const { stdout } = await new Deno.Command("wrk", { args: ["-v"], stderr: "null" }).output();
    return /^wrk \S+/.exec(new TextDecoder().decode(stdout))?.[0];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Runs `wrk` with one thread, as for every figure of this project. */
export async function wrkLoad(request: LoadRequest, shape: LoadShape): Promise<LoadResult> {
  await using dir = await tempDir();
  await dir.write("body", request.body);
  const script = await dir.write("load.lua", scriptOf(request, `${dir.path}/body`));
  const before = processorTime();
  const { stdout, stderr, success } = await new Deno.Command("wrk", {
    args: [
      "-t1",
      `-c${shape.connections}`,
      `-d${shape.seconds}s`,
      "--timeout",
      "10s",
      "-s",
      script,
      request.url,
    ],
  }).output();
  const text = new TextDecoder().decode(stdout);
  const line = /^RESULT (.*)$/m.exec(text)?.[1];
  if (!success || line === undefined) {
    throw new Error(`wrk failed: ${text}${new TextDecoder().decode(stderr)}`);
  }
  const [answers = 0, us = 1, refused = 0, broken = 0, p99Us = 0] = line.split(" ").map(Number);
  const after = processorTime(); // of its children only wrk has ended meanwhile
  const clientBusy = (after.ended - before.ended) / (us / 1000);
  const perSecond = answers / (us / 1e6);
  return { perSecond, p99Ms: p99Us / 1000, answers, refused, broken, clientBusy };
}

function scriptOf({ paths, headers, uniqueHeader, ...rest }: LoadRequest, body: string): string {
  const [only] = paths;
  const fixed = paths.length === 1 && uniqueHeader === undefined;
  return [
    `wrk.method = "POST"`,
    ...Object.entries(headers).map(([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`),
    `local file = io.open(${lua(body)}, "rb")`,
    `wrk.body = file:read("*a")`,
    `file:close()`,
    fixed ? `wrk.path = ${lua(only ?? "/")}` : changing(paths, uniqueHeader, rest.body.length),
    `done = function(summary, latency)`,
    `  local e = summary.errors`,
    `  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration,`,
    `    e.status, e.connect + e.read + e.write + e.timeout, latency:percentile(99)))`,
    `end`,
  ].join("\n");
}

/** A script for requests that differ: a thousand are made beforehand, and sent in turn. */
function changing(
  paths: readonly string[],
  unique: string | undefined,
  bodyBytes: number,
): string {
  const id = unique === undefined ? "" : `string.format("%036d", math.random(1, 2 ^ 50))`;
  return [
    `local paths = {${paths.map(lua).join(", ")}}`,
    `local n, made = 0, {}`,
    unique === undefined
      ? `init = function() for i, path in ipairs(paths) do made[i] = wrk.format(nil, path) end end
request = function() n = n % #made + 1; return made[n] end`
      : `math.randomseed(os.time())
local mark = string.rep("0", 36)
local head, tail
init = function()
  wrk.headers[${lua(unique)}] = mark
  local whole = wrk.format(nil, paths[1])
  local at = whole:find(mark, 1, true)
  head, tail = whole:sub(1, at - 1), whole:sub(at + 36) -- the body, ${bodyBytes} bytes, is in the tail
end
request = function() return head .. ${id} .. tail end`,
  ].join("\n");
}

/** A text as a Lua string. */
function lua(text: string): string {
  return `"${
    text.replace(/[^ !#-[\]-~]/g, (c) => `\\${String(c.charCodeAt(0)).padStart(3, "0")}`)
  }"`;
}
