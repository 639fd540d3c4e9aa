/**
 * A machine for tests of `svc service`: a folder is its file system, and its programs record their
 * calls and give the answers that the test sets.
 *
 * @module
 */

import { dirname, join } from "node:path";
import type { ServiceHost } from "../../src/service/host.ts";
import { askProgram } from "../../src/shell/ask_program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

export interface Machine extends AsyncDisposable {
  readonly host: ServiceHost;
  /** Real path of `path` on the machine. */
  at(path: string): string;
  /** Writes a file, with the directories above it. */
  write(path: string, text: string): Promise<void>;
  /** Sets the output and the exit code of a program from now on. */
  answer(program: string, out: string, code?: number): Promise<void>;
  /** Calls of its programs since the last call of this method, oldest first. */
  calls(): Promise<readonly string[]>;
  /** The same machine with another user, system or program. */
  as(other: Partial<ServiceHost>): ServiceHost;
}

const PROGRAMS = ["systemctl", "journalctl", "loginctl", "useradd", "launchctl", "id", "chown"];

/** Output of `systemctl show` for an unknown unit. */
export const NO_UNIT = "LoadState=not-found\nActiveState=inactive\nMainPID=0\n";

/** Output of `systemctl show` for a unit that runs. */
export function showOf(file: string, more: Readonly<Record<string, string>> = {}): string {
  const properties = {
    LoadState: "loaded",
    FragmentPath: file,
    UnitFileState: "enabled",
    ActiveState: "active",
    SubState: "running",
    MainPID: "4711",
    NRestarts: "0",
    ActiveEnterTimestamp: "Tue 2026-11-24 18:50:27 UTC",
    ExecStart: "{ path=/usr/bin/svc ; argv[]=/usr/bin/svc daemon ; ignore_errors=no }",
    Environment: "SVC_DATA_DIR=/var/lib/svc MALLOC_ARENA_MAX=1",
    User: "svc",
    ...more,
  };
  return Object.entries(properties).map(([name, value]) => `${name}=${value}\n`).join("");
}

/** A machine with systemd, on which root runs `/usr/local/bin/svc`. */
export async function startMachine(): Promise<Machine> {
  await using opening = new AsyncDisposableStack();
  const root = opening.use(await tempDir());
  const tools = opening.use(await tempDir());
  const log = join(tools.path, "calls");
  for (const name of PROGRAMS) {
    const path = await tools.write(
      name,
      `#!/bin/sh\nprintf '%s\\n' "${name} $*" >>"$0.d/../calls"\n` +
        'cat "$0.d/out"; exit "$(cat "$0.d/code")"\n',
    );
    await Deno.chmod(path, 0o755);
    await Deno.mkdir(`${path}.d`);
  }
  const answer = async (program: string, out: string, code = 0) => {
    await tools.write(`${program}.d/out`, out);
    await tools.write(`${program}.d/code`, String(code));
  };
  for (const name of PROGRAMS) await answer(name, "");
  await answer("systemctl", NO_UNIT);
  await answer("id", "997\n");
  const env: Record<string, string> = { HOME: "/home/ada", PATH: `${tools.path}:/usr/bin:/bin` };
  const host: ServiceHost = {
    os: "linux",
    uid: 0,
    env: (name) => env[name],
    program: "/usr/local/bin/svc",
    root: root.path,
    run: (line, input) => askProgram(line, env, input),
  };
  const at = (path: string) => root.path + path;
  const write = async (path: string, text: string) => {
    await Deno.mkdir(dirname(at(path)), { recursive: true });
    await Deno.writeTextFile(at(path), text);
  };
  await Deno.mkdir(at("/run/systemd/system"), { recursive: true });
  const open = opening.move();
  return {
    host,
    at,
    write,
    answer,
    async calls() {
      const text = await Deno.readTextFile(log).catch(() => "");
      await Deno.writeTextFile(log, "");
      return text.split("\n").filter((line) => line !== "");
    },
    as: (other) => ({ ...host, ...other }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
