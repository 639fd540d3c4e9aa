/**
 * The way out of a sandboxed step: how fast an API's answer passes through it, and how much later its
 * first byte comes than over a connection of one's own. The API, its client and the way between them
 * share this process, so the figures err on the safe side.
 *
 * @module
 */

import { makePair, NO_OPENSSL } from "../../../tests/helpers/certificate.ts";
import { tempDir } from "../../../tests/helpers/temp_dir.ts";
import { egressRig, HEAD, ok, rawServer } from "../../../tests/rigs/egress_rig.ts";
import type { Figure, Scenario } from "../scenario.ts";
import { median } from "../stats.ts";

/** What the measured requests read and write through. */
interface Wire extends Disposable {
  read(into: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
}

const CHUNK = 64 * 1024;
const MB = 1_000_000;

export const egress: Scenario = {
  name: "egress",
  title: "what a sandboxed step reads from an API, through the daemon that adds the key",
  async run(context) {
    if (NO_OPENSSL !== undefined) return figuresOf([], [], []);
    const answers = context.size === "quick" ? 20 : 200;
    const megabytes = context.size === "quick" ? 20 : 200;
    const [injected, tunnelled, added]: number[][] = [[], [], []];
    for (let round = 0; round < context.rounds; round++) {
      context.note(`egress: round ${round + 1} of ${context.rounds}`);
      await using site = await startApi();
      injected?.push(await site.throughput("injection", megabytes));
      tunnelled?.push(await site.throughput("tunnel", megabytes));
      added?.push(await site.addedMs(answers));
    }
    return figuresOf(injected ?? [], tunnelled ?? [], added ?? []);
  },
};

function figuresOf(injected: number[], tunnelled: number[], added: number[]): Figure[] {
  return [
    {
      name: "answer of an API, key added, TLS",
      unit: "MB/s",
      samples: injected,
      target: { atLeast: 50 },
    },
    { name: "bytes through a tunnel", unit: "MB/s", samples: tunnelled, target: { atLeast: 50 } },
    { name: "first byte later than without", unit: "ms", samples: added, target: { atMost: 5 } },
  ];
}

/** An API with TLS, and the way to it. */
async function startApi() {
  const dir = await tempDir();
  const cert = await makePair(dir.path, "api", "DNS:api.example");
  const key = await Deno.readTextFile(`${dir.path}/api.key`);
  const piece = new Uint8Array(CHUNK).fill(0x61);
  const server = rawServer(async ({ until, send }) => {
    for (;;) {
      const [, bytes] = /^GET \/([0-9]+) /.exec(await until(HEAD)) ?? [];
      if (bytes === undefined) await send(ok("{}", "Content-Type: application/json"));
      else {
        await send(
          `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: ${bytes}\r\n\r\n`,
        );
        for (let left = Number(bytes); left > 0; left -= CHUNK) {
          await send(piece.subarray(0, Math.min(left, CHUNK)));
        }
      }
    }
  }, { key, cert });
  const plain = rawServer(async ({ send }) => {
    for (;;) await send(piece);
  });
  const network = {
    allow: [`127.0.0.1:${server.port}`, `127.0.0.1:${plain.port}`],
    inject: [{ url: `https://api.example:${server.port}`, env: "API", headers: { "x-a": "b" } }],
  };
  const rig = await egressRig(network, { caCerts: [cert] });
  const inside = () => Deno.connect({ transport: "unix", path: rig.path });
  const own = async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    return await Deno.startTls(connection, { hostname: "api.example", caCerts: [cert] });
  };
  return {
    /** Megabytes a second. */
    async throughput(way: "injection" | "tunnel", megabytes: number): Promise<number> {
      using wire = await inside();
      const bytes = megabytes * MB;
      const head = way === "injection"
        ? `GET /${bytes} HTTP/1.1\r\nHost: 127.0.0.2:3128\r\n\r\n`
        : `CONNECT 127.0.0.1:${plain.port} HTTP/1.1\r\nHost: a\r\n\r\n`;
      await wire.write(new TextEncoder().encode(head));
      const start = performance.now();
      await readBytes(wire, bytes);
      return megabytes / ((performance.now() - start) / 1000);
    },
    /** Milliseconds by which an answer comes later, in requests that take turns with others without it. */
    async addedMs(times: number): Promise<number> {
      using through = await inside();
      using without = await own();
      const [later, direct]: number[][] = [[], []];
      for (let n = 0; n < times + 10; n++) {
        const one = await answerMs(through, "127.0.0.2:3128");
        const other = await answerMs(without, "api.example");
        if (n < 10) continue; // warm up
        later?.push(one);
        direct?.push(other);
      }
      return median(later ?? []) - median(direct ?? []);
    },
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await plain[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function readBytes(wire: Wire, bytes: number): Promise<void> {
  const buffer = new Uint8Array(256 * 1024);
  for (let done = 0; done < bytes;) {
    const read = await wire.read(buffer);
    if (read === null) throw new Error("The answer ended early");
    done += read;
  }
}

/** Milliseconds to the first byte of an answer, which ends in `{}`. */
async function answerMs(wire: Wire, host: string): Promise<number> {
  const start = performance.now();
  await wire.write(new TextEncoder().encode(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
  const buffer = new Uint8Array(4096);
  let ms = 0;
  for (let said = ""; !said.endsWith("{}");) {
    const read = await wire.read(buffer);
    if (read === null) throw new Error("The answer ended early");
    ms ||= performance.now() - start;
    said += new TextDecoder().decode(buffer.subarray(0, read));
  }
  return ms;
}
