/**
 * How the console gets into a browser: no other user of the machine learns the link, nothing of it
 * is left behind, and where there is no screen, what to do instead is said.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon } from "../helpers/daemon.ts";
import { programTest, slowTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { findFile, until, untilFile } from "../helpers/until.ts";
import { ConsoleProcess, PageSession, statusOf } from "../rigs/console_process.ts";
import type { ConsoleAddress } from "../../src/console/address.ts";
import { tunnelSteps } from "../../src/console/open_browser.ts";

/** What a browser in the tests notes, and that it runs on until its file is gone. */
const BROWSER = `set -e
for one in "$@"; do printf '%s\\n' "$one"; done >"\${0%/*}/arguments.part"
env >"\${0%/*}/environment"
stat -c '%a %U' "$1" "\${1%/*}" >"\${0%/*}/modes"
cp "$1" "\${0%/*}/page"
mv "\${0%/*}/arguments.part" "\${0%/*}/arguments"
while [ -e "$0" ]; do sleep 0.05; done
`;

/** The arguments of every process of this machine, as every user can read them. */
function argumentsOfAll(): string[] {
  return [...Deno.readDirSync("/proc")].filter(({ name }) => /^[0-9]+$/.test(name)).map(
    ({ name }) => {
      try {
        return Deno.readTextFileSync(`/proc/${name}/cmdline`);
      } catch {
        return ""; // it has just ended
      }
    },
  );
}

programTest(
  "the browser gets a private file that leads on, and no argument has the link",
  async (program) => {
    await using daemon = await startDaemon(program);
    await using dir = await tempDir();
    const browser = await dir.write("browser", BROWSER);
    const env = {
      SVC_DATA_DIR: daemon.dataDir,
      SVC_TOKEN: "",
      SVC_CA_FILE: "/for/svc/alone",
      BROWSER: `sh ${browser}:nonsense`,
      DISPLAY: ":7",
    };
    await using process = new ConsoleProcess(program, { args: ["task/latest"], env });
    const url = await process.ready();
    const [path = "", ...more] = (await untilFile(`${dir.path}/arguments`)).trim().split("\n");
    deepEqual(more, []);
    const page = await Deno.readTextFile(`${dir.path}/page`);
    const [link = ""] = /http:[^"]*(?=">)/.exec(page) ?? [];
    match(link, new RegExp(`^${url}/task/latest#ticket=[0-9a-f]{64}$`));
    const ticket = link.slice(-64);

    const seen = argumentsOfAll();
    ok(seen.some((one) => one.includes(path)), "the browser runs, and its arguments are seen");
    deepEqual(seen.filter((one) => one.includes(ticket)), []);
    const environment = await Deno.readTextFile(`${dir.path}/environment`);
    ok(!environment.includes(ticket), environment);
    ok(!/^SVC_/m.test(environment), environment);
    const modes = (await Deno.readTextFile(`${dir.path}/modes`)).trim().split("\n");
    deepEqual(modes.map((one) => one.split(" ")[0]), ["600", "700"]);
    ok(path.startsWith(`${daemon.dataDir}/`), path);

    const session = await PageSession.open(link);
    equal(await statusOf(session.call("status", {})), 200);
    await until("the end of the file", async () => await findFile(path) === undefined || undefined);
    deepEqual(process.links, [], "a link that was used is not printed");
    equal(await process.end(), 130);
    ok(argumentsOfAll().some((one) => one.includes(browser)), "Ctrl-C does not end the browser");
    deepEqual([...Deno.readDirSync(`${daemon.dataDir}/run`)], []);
  },
);

slowTest(
  "a browser that does not come: the link is printed, and the file is gone at the end",
  async (program) => {
    await using daemon = await startDaemon(program);
    const env = { SVC_DATA_DIR: daemon.dataDir, BROWSER: "true", WAYLAND_DISPLAY: "wayland-0" };
    await using process = new ConsoleProcess(program, { env, onTerminal: true });
    const session = await PageSession.open(await process.link());
    match(
      process.stdout,
      /\nNo browser has opened it\. Open this link within a minute:\n\n {2}http/,
    );
    equal(await statusOf(session.call("status", {})), 200);
    equal(await process.breakOff(), 130);
    deepEqual([...Deno.readDirSync(`${daemon.dataDir}/run`)], []);
  },
);

slowTest(
  "a file or a pipe gets no link but with --no-open, not on Enter either",
  async (program) => {
    await using daemon = await startDaemon(program);
    for (
      const more of [
        { BROWSER: "true", WAYLAND_DISPLAY: "wayland-0" },
        { SSH_CONNECTION: "192.0.2.1 50000 192.0.2.7 22" },
        {},
      ]
    ) {
      const env = { SVC_DATA_DIR: daemon.dataDir, ...more };
      await using process = new ConsoleProcess(program, { env });
      await process.ready();
      const hint =
        "The link is not printed, because the output is not a terminal: --no-open prints it\n";
      const hints = () => process.stdout.split(hint).length - 1;
      await until("the hint", () => hints() > 0 || undefined);
      const before = hints();
      await process.enter();
      await until("the hint again", () => hints() > before || undefined);
      equal(await process.end("SIGTERM"), 130);
      ok(!process.stdout.includes("ticket"), process.stdout);
      deepEqual([...Deno.readDirSync(`${daemon.dataDir}/run`)], []);
    }
  },
);

for (
  const [name, env, at] of [
    [
      "over ssh",
      { SSH_CONNECTION: "192.0.2.1 50000 192.0.2.7 2222", USER: "ada", DISPLAY: ":0" },
      "-p 2222 ada@192.0.2.7",
    ],
    ["without a screen", { USER: "ada" }, undefined],
    ["with --no-open at a screen", { USER: "ada", DISPLAY: ":0" }, undefined],
  ] as const
) {
  programTest(
    `${name}, no browser is started and ${at === undefined ? "no" : "the"} ssh command is printed`,
    async (program) => {
      await using daemon = await startDaemon(program);
      await using dir = await tempDir();
      const mark = `${dir.path}/started`;
      const more = { SVC_DATA_DIR: daemon.dataDir, BROWSER: `touch ${mark}` };
      await using process = new ConsoleProcess(program, {
        env: Object.assign(more, env),
        onTerminal: true,
        args: name === "with --no-open at a screen" ? ["--no-open"] : [],
      });
      const url = await process.ready();
      const { host, hostname } = new URL(url);
      equal((await PageSession.open(await process.link())).url, url);
      const forward = `ssh -N -o ExitOnForwardFailure=yes -L ${host}:${host} ${at}`;
      const steps = at === undefined ? "" : `On your own machine, first:\n\n  ${forward}\n\n` +
        `On a Mac, before that: sudo ifconfig lo0 alias ${hostname}\n\n`;
      ok(
        process.stdout.includes(`Ctrl-C ends it\n${steps}Open this link within a minute;`),
        process.stdout,
      );
      equal(await process.breakOff(), 130);
      equal(await findFile(mark), undefined);
    },
  );
}

Deno.test("what ssh says of a connection gets into the command only where it is an address", () => {
  const ADDRESS = { host: "127.83.201.9", listensOn: ["127.83.201.9"] } as const;
  const NAME = { host: "5f.localhost", listensOn: ["127.0.0.1", "::1"] } as const;
  const told = (SSH_CONNECTION: string, USER = "ada", at: ConsoleAddress = ADDRESS) =>
    tunnelSteps(at, 8137, (name) => ({ SSH_CONNECTION, USER })[name as "USER"])?.split("\n")[2]
      ?.trim();
  const known = "ssh -N -o ExitOnForwardFailure=yes -L 127.83.201.9:8137:127.83.201.9:8137";
  equal(told(""), undefined);
  equal(told("192.0.2.1 5 192.0.2.7 22"), `${known} ada@192.0.2.7`);
  equal(
    told("192.0.2.1 5 192.0.2.7 22", "ada", NAME),
    "ssh -N -o ExitOnForwardFailure=yes -L 127.0.0.1:8137:127.0.0.1:8137 " +
      "-L '[::1]:8137:127.0.0.1:8137' ada@192.0.2.7",
  );
  equal(told("2001:db8::1 5 2001:db8::7 22"), `${known} ada@2001:db8::7`);
  equal(told("1 2 $(reboot) 22"), `${known} THIS-MACHINE`);
  equal(told("1 2 192.0.2.7 22", "a;b"), `${known} THIS-MACHINE`);
  equal(told("1 2 192.0.2.7 22;x"), `${known} ada@192.0.2.7`);
});
