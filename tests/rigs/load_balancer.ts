/**
 * Runs the load balancers of docs/scale-out.md with the configurations of that page; only addresses
 * and paths of certificates are replaced.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { join } from "node:path";
import { makePair } from "../helpers/certificate.ts";
import type { TestDaemon } from "../helpers/daemon.ts";
import { freePort } from "../helpers/postgres_server.ts";
import { ROOT } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

const PAGE = await Deno.readTextFile(join(ROOT, "docs/scale-out.md"));

/** A kind of load balancer. */
export interface Balancer {
  readonly program: string;
  /** Language of its code block in the page. */
  readonly block: string;
  /** Texts of the block that name a machine, each with its replacement. */
  readonly replaced: (to: Places) => readonly [from: string, to: string][];
  /** The whole file with the block in it. */
  readonly file: (block: string, dir: string) => string;
  readonly args: (file: string) => readonly string[];
}

interface Places {
  readonly port: number;
  /** Path without its end: `.crt` is the certificate, `.key` the key, `.pem` both. */
  readonly pair: string;
}

/** Every load balancer that has a block in the page. */
export const BALANCERS: readonly Balancer[] = [
  {
    program: "nginx",
    block: "nginx",
    replaced: ({ port, pair }) => [
      ["listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`],
      ["/etc/letsencrypt/live/hooks.example.com/fullchain.pem", `${pair}.crt`],
      ["/etc/letsencrypt/live/hooks.example.com/privkey.pem", `${pair}.key`],
    ],
    file: (block, dir) => {
      const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map((kind) => `${kind}_temp_path ${dir}/${kind};\n`).join("");
      return `daemon off;\nmaster_process off;\npid ${dir}/pid;\nerror_log ${dir}/log;\n` +
        `events {}\nhttp {\naccess_log off;\n${paths}${block}}\n`;
    },
    args: (file) => ["-c", file],
  },
  {
    program: "haproxy",
    block: "haproxy",
    replaced: ({ port, pair }) => [
      ["bind :443 ssl", `bind 127.0.0.1:${port} ssl`],
      ["/etc/haproxy/hooks.pem", `${pair}.pem`],
    ],
    file: (block) => block,
    args: (file) => ["-db", "-f", file],
  },
];

/** A load balancer that runs. */
export interface RunningBalancer extends AsyncDisposable {
  readonly url: string;
  /** Its certificate, as text. */
  readonly certificate: string;
}

/** Starts a load balancer with these daemons behind it, and waits until it passes requests on. */
export async function startBalancer(
  balancer: Balancer,
  daemons: readonly TestDaemon[],
): Promise<RunningBalancer> {
  await using opening = new AsyncDisposableStack();
  const { path: dir } = opening.use(await tempDir());
  const certificate = await makePair(dir, "hooks");
  await Deno.writeTextFile(
    `${dir}/hooks.pem`,
    certificate + await Deno.readTextFile(`${dir}/hooks.key`),
  );
  const port = freePort();
  const block = fill(blockOf(balancer), [
    ...balancer.replaced({ port, pair: `${dir}/hooks` }),
    ...daemons.map(({ url }, index) =>
      [`10.0.0.1${index + 1}:19090`, new URL(url).host] as [string, string]
    ),
  ]);
  const file = `${dir}/config`;
  await Deno.writeTextFile(file, balancer.file(block, dir));
  const child = new Deno.Command(balancer.program, {
    args: [...balancer.args(file)],
    stdout: "null",
    stderr: "null",
  }).spawn();
  opening.defer(async () => {
    child.kill("SIGKILL");
    await child.status;
  });
  const url = `https://127.0.0.1:${port}`;
  await until(`${balancer.program} to answer`, () => answers(url, certificate));
  const open = opening.move();
  return { url, certificate, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

function blockOf({ block }: Balancer): string {
  const [, text] = new RegExp(`\`\`\`${block}\n(.*?)\`\`\``, "s").exec(PAGE) ?? [];
  if (text === undefined) throw new Error(`docs/scale-out.md has no block of ${block}`);
  return text;
}

/** Replaces each text, which has to stand in the block once. */
function fill(text: string, replaced: readonly (readonly [from: string, to: string])[]): string {
  return replaced.reduce((filled, [from, to]) => {
    ok(filled.split(from).length === 2, `"${from}" once in the block`);
    return filled.replace(from, to);
  }, text);
}

async function answers(url: string, certificate: string): Promise<true | undefined> {
  using client = Deno.createHttpClient({ caCerts: [certificate], poolMaxIdlePerHost: 0 });
  try {
    const answer = await fetch(`${url}/webhook/none`, { client });
    await answer.body?.cancel();
    return answer.status < 500 ? true : undefined;
  } catch {
    return undefined;
  }
}
