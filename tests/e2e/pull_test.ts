/**
 * Events of GitHub without an address: read from its log of deliveries, in order, once, also where
 * the daemon is killed meanwhile. With the program, and with no listener at all.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { connect } from "../../src/api/client.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { defined } from "../../src/base/defined.ts";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import { type DataDirectory, initDataDirectory } from "../helpers/daemon.ts";
import { cleanEnv, ONE_PROGRAM, runSvc, slowTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const REPOSITORY = "brightwater/tidepool";

/** A daemon that listens nowhere but on its socket. */
interface Deaf extends AsyncDisposable {
  readonly log: () => string;
  kill(): Promise<void>;
}

async function startDeaf(directory: DataDirectory): Promise<Deaf> {
  const child = new Deno.Command(ONE_PROGRAM.command, {
    args: [...ONE_PROGRAM.args, "daemon", "--webhook-bind", "none"],
    clearEnv: true,
    env: cleanEnv({ SVC_DATA_DIR: directory.path }),
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let log = "";
  const read = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream() as never)) {
      log += String(text);
    }
  })();
  const end = async (signal: Deno.Signal) => {
    try {
      child.kill(signal);
    } catch {
      // it has ended
    }
    await child.status;
    await read;
  };
  await until("the daemon", async () => {
    using client = connect({ socket: dataDirAt(directory.path).socket });
    return await client.call("status", {}).catch(() => undefined);
  });
  return {
    log: () => log,
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}

function svc(directory: DataDirectory, args: readonly string[], stdin?: string) {
  const env = { SVC_DATA_DIR: directory.path };
  return runSvc(ONE_PROGRAM, args, { env, ...defined({ stdin }) });
}

async function send(github: FakeGitHub, n: number, body = pushOf(n)): Promise<void> {
  const guid = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  await github.hooks.send(REPOSITORY, { event: "push", payload: body, guid, lost: true });
}

/** With what no parser writes again as it was: escapes, a long number, `1.0`. */
function pushOf(n: number): string {
  return `{"ref":"refs/heads/b\\u00e4-${n}","n":${n}.0,"long":90071992547409931234,` +
    `"pusher":{"name":"ada"},"commits":[],"compare":"https:\\/\\/github.com","deleted":false,` +
    `"forced":false,"repository":{"full_name":"${REPOSITORY}"}}`;
}

async function taken(directory: DataDirectory) {
  using client = connect({ socket: dataDirAt(directory.path).socket });
  const { items } = await client.call("get", { what: "tasks", limit: 1000 });
  const tasks = items as unknown as { delivery_id: string; trigger: string; state: string }[];
  const shown = await Promise.all(tasks.map(async ({ delivery_id: id }) => {
    const shown = await svc(directory, ["delivery", "show", id, "--body"]);
    return Number(/"n":(\d+)/.exec(shown.stdout)?.[1]);
  }));
  return { tasks, order: shown.reverse() };
}

slowTest(
  "without a listener events come from the log: exact bytes, in order, once",
  async (_program, t) => {
    await using github = fakeGitHub();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    {
      await using _daemon = await startDeaf(directory);
      const args = ["connect", "github", REPOSITORY, "--api", github.url, "--pull", "--token", "-"];
      const made = await svc(directory, args, TOKEN.token);
      equal(made.code, 0, made.stderr);
      match(made.stdout, /is connected; its log is read every 15 seconds/);
      const [hook] = [...github.hooks.hooks.values()];
      equal(hook?.config.url, "https://svc.invalid/webhook/github");
      await github.hooks.rest();
    }
    const last = 12;
    for (let n = 1; n <= last; n++) await send(github, n);

    await t.step("killed at random moments, everything is there once and in order", async () => {
      for (let kills = 0; kills < 3; kills++) {
        const daemon = await startDeaf(directory);
        const before = await count(directory);
        const isFurther = (now: number) => now > before || now === last; // all in one life, maybe
        await until("one more", async () => isFurther(await count(directory)) || undefined);
        await daemon.kill();
      }
      await using _daemon = await startDeaf(directory);
      await until("all of them", async () => (await count(directory)) >= last ? true : undefined);
      const { tasks, order } = await taken(directory);
      equal(tasks.length, last);
      deepEqual(order, Array.from({ length: last }, (_, n) => n + 1));
      const explained = await svc(directory, ["delivery", "explain", "latest", "-o", "json"]);
      match(JSON.parse(explained.stdout).authentication, /passed with key "tidepool"/);
    });

    await t.step(
      "what the log writes in another way than it was signed is vouched for",
      async () => {
        const [one] = github.hooks.tries.slice(-1);
        ok(one !== undefined);
        const body = pushOf(last + 1);
        github.hooks.tries.push({
          ...one,
          id: `${one.id}1`,
          guid: "00000000-0000-4000-8000-00000000ffff",
          delivered_at: new Date().toISOString(),
          payload: body.replace("\\u00e4", "ä").replace(`${last + 1}.0`, `${last + 1}`),
        });
        await using _daemon = await startDeaf(directory);
        await until("it", async () => (await count(directory)) > last ? true : undefined);
        const explained = await svc(directory, ["delivery", "explain", "latest", "-o", "json"]);
        match(JSON.parse(explained.stdout).authentication, /passed by Connection "tidepool"/);
        const table = await svc(directory, ["get", "connections"]);
        match(table.stdout, /pull +\d+m?s.* ago +none +ok/);
      },
    );

    await t.step("nothing new costs one call, answered 304", async () => {
      await using _daemon = await startDeaf(directory);
      const read = async () => {
        const args = ["connection", "repair", "tidepool", "-o", "json"];
        const repaired = await svc(directory, args);
        equal(repaired.code, 0, repaired.stderr);
        equal(JSON.parse(repaired.stdout).missed.length, 0);
      };
      await read();
      const before = github.calls.length;
      await read();
      const calls = github.calls.slice(before).map(({ status }) => status);
      ok(calls.length > 0 && calls.every((status) => status === 304), calls.join());
    });
  },
);

async function count(directory: DataDirectory): Promise<number> {
  using client = connect({ socket: dataDirAt(directory.path).socket });
  const { items } = await client.call("get", { what: "tasks", limit: 1000 });
  return items.length;
}
