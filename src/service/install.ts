/**
 * What `svc service install` does to the machine, decided before anything of it is done.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { findOtherWriter } from "../base/private_files.ts";
import { findAt, findFile, type ServiceHost } from "./host.ts";
import type { ServiceManager, ServiceOptions, ServiceState } from "./service_state.ts";
import { plainWord, type Step, type WrittenFile } from "./steps.ts";

/** What is to be installed, and where. */
export interface InstallRequest {
  readonly manager: ServiceManager;
  readonly options: ServiceOptions;
  /** The service as it is. */
  readonly now: ServiceState | undefined;
  /** The daemon that answers on the data directory, if one does. */
  readonly daemon: { readonly pid: number; readonly version: string } | undefined;
  /** The version of this program. */
  readonly version: string;
}

/** What is to be done. */
export interface InstallPlan {
  /** The files of the service, as they are to be. */
  readonly files: readonly WrittenFile[];
  /** What to do, in order; nothing where all is as it is to be. */
  readonly steps: readonly Step[];
}

/**
 * Plans an installation.
 *
 * @throws {AppError} `refused` when the service would not work, or would replace a service or a
 * daemon that is not its own.
 */
export async function planInstall(
  request: InstallRequest,
  host: ServiceHost,
): Promise<InstallPlan> {
  const { manager, options, now, daemon, version } = request;
  refuseOthers(request);
  await checkProgram(request, host);
  await checkOwner(request, host);
  const files = manager.files(options);
  const texts = await Promise.all(files.map(({ write }) => findFile(host, write)));
  const changed = files.filter(({ text }, at) => texts[at] !== text);
  if (changed.length > 0) {
    const before = await manager.prepare(options);
    return { files, steps: [...before, ...changed, ...manager.apply(now)] };
  }
  if (now?.state !== "running" || !now.isEnabled) return { files, steps: manager.start };
  const isOld = daemon !== undefined && daemon.version !== version;
  return { files, steps: isOld ? manager.restart : [] };
}

/** Refuses if the service of this name, or a daemon on this data directory, is not its own. */
function refuseOthers({ manager, options, now, daemon }: InstallRequest): void {
  if (now?.author === "a package") {
    throw new AppError(
      "refused",
      `${now.file} came with the package of svc: "systemctl enable --now svcd" lets it run`,
    );
  }
  if (now?.author === "somebody else") {
    throw new AppError(
      "refused",
      `${now.file} is not from svc service install, so svc leaves it: move it away, and run ` +
        "this again",
    );
  }
  if (daemon !== undefined && daemon.pid !== now?.pid) {
    throw new AppError(
      "refused",
      `A daemon runs on ${options.dataDir} already, process ${daemon.pid}: stop it, and run ` +
        `this again; ${manager.service} then continues with its data`,
    );
  }
}

/** Refuses a program that the service could not run later, or that another user can replace. */
async function checkProgram(
  { manager, options: { program } }: InstallRequest,
  host: ServiceHost,
): Promise<void> {
  const put = "put it into /usr/local/bin or ~/.local/bin, and run that";
  const refuse = (why: string) => new AppError("refused", `${program} ${why}`);
  if (program.includes("/node_modules/")) {
    throw refuse(
      "belongs to npm, which moves it with each update: install svc from its archive or " +
        "package, and run that",
    );
  }
  const temporary = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/private/tmp", "/private/var/folders"]
    .concat(host.env("TMPDIR") ?? []);
  const within = (dir: string) => dir !== "" && program.startsWith(`${dir.replace(/\/+$/, "")}/`);
  if (temporary.some(within)) throw refuse(`is in a temporary directory: ${put}`);
  if (manager.scope !== "system") return;
  if (["/home", "/root"].some(within)) {
    const moved = "/usr/local/bin/svc";
    throw refuse(
      "is in a home directory, which the service does not see: run " +
        `"install ${plainWord(program)} ${moved}", and then "${moved} service install"`,
    );
  }
  const info = await findAt(host, program);
  const other = info && findOtherWriter(info);
  if (other !== undefined) throw refuse(other);
}

/** Refuses a data directory of another user than the service's. */
async function checkOwner(
  { manager, options: { dataDir, user = "svc" } }: InstallRequest,
  host: ServiceHost,
): Promise<void> {
  const info = await findAt(host, dataDir);
  if (info === undefined || info.uid === null) return;
  const name = manager.scope === "system" ? user : undefined;
  const uid = name === undefined ? host.uid : await findUid(host, name);
  if (info.uid === uid) return;
  const who = name === undefined ? `this is user ${uid}` : `the service runs as ${name}`;
  const cure = name === undefined
    ? "name another one with --data-dir"
    : `name another one with --data-dir, or ${
      uid === undefined ? `make that user and ` : ""
    }give it to that user: chown -R ${name} ${plainWord(dataDir)}`;
  throw new AppError("refused", `${dataDir} belongs to user ${info.uid}, and ${who}: ${cure}`);
}

async function findUid(host: ServiceHost, name: string): Promise<number | undefined> {
  const { code, out } = await host.run(["id", "-u", name]);
  return code === 0 ? Number(out.trim()) : undefined;
}

/** What of a PATH a service can use: directories that stay, each once. */
export function pathForService(path: string, dataDir: string): string | undefined {
  const kept = path.split(":").filter((dir) =>
    /^\/[^\\"]*$/.test(dir) && !/[\p{Cc}]/u.test(dir) && !dir.includes("/node_modules/") &&
    !/^\/(tmp|var\/tmp|run|private)\//.test(dir) && !dir.startsWith(`${dataDir}/`)
  );
  return [...new Set(kept)].join(":") || undefined;
}

/**
 * The path by which this program stays where it is: Homebrew's own one has the version in it.
 */
export function lastingPath(program: string): string {
  return program.replace(/\/Cellar\/([^/]+)\/[^/]+\//, "/opt/$1/");
}
