/**
 * Slow senders: each has a connection, and sends byte by byte, stops in the middle or disconnects.
 *
 * @module
 */

import type { Answer } from "../../tests/helpers/daemon.ts";
import { signGithub } from "../../tests/helpers/github.ts";
import type { Random } from "../../tests/helpers/random.ts";
import { bodyOf } from "./senders.ts";
import { SECRET } from "./site.ts";
import type { World } from "./world.ts";

/** Sends a body in pieces; a third of the bodies stay incomplete. */
export async function sendSlowly(world: World, random: Random): Promise<void> {
  const finishes = random.chance(0.67);
  const [body, mark] = [bodyOf(random), world.mark()];
  const daemon = await world.lives.now();
  const ended = world.lives.ended;
  const head = [
    "POST /webhook/quick HTTP/1.1",
    "Host: localhost",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    `X-Hub-Signature-256: ${signGithub(SECRET, body)}`,
    `X-GitHub-Delivery: ${crypto.randomUUID()}`,
    `X-Soak: ${mark}`,
    "Connection: close",
  ].join("\r\n") + "\r\n\r\n";
  const pieces = cut(random, head + body, random.between(3, 8));
  if (!finishes) {
    pieces.pop();
    world.journal.withoutTask.add(mark);
  }
  try {
    const answer = await dribble(new URL(daemon.url), pieces, random);
    if (finishes && answer !== undefined) {
      world.judge({ answer, mark, what: "slow sender" }, ["200 accepted"]);
    }
    world.journal.count(finishes ? "slow sender: finished" : "slow sender: went away");
  } catch (error) {
    world.journal.count("slow sender: cut off");
    if (world.lives.ended === ended) world.journal.fault(`a slow sender was cut off: ${error}`);
  }
}

function cut(random: Random, text: string, pieces: number): string[] {
  const at = Array.from({ length: pieces - 1 }, () => random.between(1, text.length - 1));
  const ends = [...at.toSorted((a, b) => a - b), text.length];
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
}

async function dribble(
  url: URL,
  pieces: readonly string[],
  random: Random,
): Promise<Answer | undefined> {
  using connection = await Deno.connect({ hostname: url.hostname, port: Number(url.port) });
  for (const piece of pieces) {
    const bytes = new TextEncoder().encode(piece);
    for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
    await new Promise((resolve) => setTimeout(resolve, random.between(20, 400)));
  }
  const complete = pieces.join("").split("\r\n\r\n");
  const length = Number(/Content-Length: (\d+)/.exec(complete[0] ?? "")?.[1]);
  if ((complete[1] ?? "").length < length || Number.isNaN(length)) return undefined;
  return toAnswer(await readAll(connection));
}

async function readAll(connection: Deno.TcpConn): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(16_384);
  let text = "";
  for (let read; (read = await connection.read(buffer)) !== null;) {
    text += decoder.decode(buffer.subarray(0, read), { stream: true });
  }
  if (!text.includes("\r\n\r\n")) throw new Error("There was no answer");
  return text;
}

function toAnswer(response: string): Answer {
  const status = Number(/^HTTP\/1\.1 ([0-9]{3}) /.exec(response)?.[1] ?? 0);
  const text = response.slice(response.indexOf("\r\n\r\n") + 4);
  const start = text.indexOf("{");
  const json = start < 0 ? {} : JSON.parse(text.slice(start, text.lastIndexOf("}") + 1));
  return { status, headers: new Headers(), text, json };
}
