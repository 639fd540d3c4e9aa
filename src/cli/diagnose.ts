/**
 * The checks of `svc doctor`: by the daemon if it runs, else by this process.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import { systemClock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { addressesToBind } from "../daemon/bind_addresses.ts";
import type { SettingValue } from "../daemon/setting_type.ts";
import { address } from "../doctor/address.ts";
import { examine } from "../doctor/check.ts";
import { type CertificateFile, certificates } from "../doctor/certificates.ts";
import { daemon, type DaemonHost } from "../doctor/daemon.ts";
import { openOwnPlace } from "../doctor/own_place.ts";
import { Scene } from "../doctor/place.ts";
import { ports } from "../doctor/ports.ts";
import { serviceUnit } from "../doctor/service_unit.ts";
import { findProgramVersion } from "../service/program_version.ts";
import { findService, hasManager } from "../service/service_lookup.ts";
import type { FindingsPrinter } from "./findings_printer.ts";
import type { Io } from "./io.ts";
import { serviceHost } from "./service_host.ts";
import { statusWithin } from "./status_within.ts";

/** Longest time to wait for a daemon to say how it is. */
const ANSWER_WITHIN_MS = 10_000;

/** What is looked at, and who prints what is found. */
interface Request {
  readonly io: Io;
  readonly dirs: DataDir;
  /** A client of the daemon on this machine. */
  readonly client: Client;
  readonly printer: FindingsPrinter;
  /** An address by which requests are to reach the daemon. */
  readonly url: string | undefined;
}

/** Does all checks, and prints each finding when it is known. */
export async function diagnose({ io, dirs, client, printer, url }: Request): Promise<void> {
  const status = await printer.during(daemon.name, askStatus(client));
  const runs = "version" in status;
  const said = () => printer.found.map(({ message }) => message);
  const { service, installed } = await findInstalled(io, dirs);
  const asked = () => ({ daemon: status, said: said(), installed });
  const look = async (files: readonly CertificateFile[]) =>
    await printer.take(examine([certificates], { files, now: systemClock.now() }));
  if (runs) {
    await printer.take(client.stream("doctor", {}));
    await printer.take(examine([daemon], asked()));
    await look(certificatesIn((name) => status.settings[name]?.value));
  } else {
    // loaded only here: a daemon that runs reads its own file and does the checks itself
    const { CHECKS } = await import("../doctor/checks.ts");
    const { file, addresses } = await settingsOf(dirs);
    const stepEnv = [file.get("step-env") ?? []].flat().map(String);
    await using place = openOwnPlace({ dirs, env: io.env, clock: systemClock, stepEnv });
    await printer.take(examine(CHECKS, new Scene(place)));
    await printer.take(examine([daemon], asked()));
    // if the daemon runs and only does not answer, the ports are its own
    if (status.isStopped) await printer.take(examine([ports], { ...place, addresses }));
    await look(certificatesIn((name) => file.get(name)));
  }
  await printer.take(examine([serviceUnit], { service, dataDir: dirs.root }));
  if (url !== undefined) {
    const ask = runs ? { status: () => client.call("status", {}) } : {};
    await using tools = openOwnPlace({ dirs, env: io.env, clock: systemClock, stepEnv: [] });
    await printer.take(examine([address], { url, clock: systemClock, tools, ...ask }));
  }
}

/** Asks the daemon for its status; the reason why it does not answer is a result, too. */
async function askStatus(client: Client): Promise<DaemonHost["daemon"]> {
  try {
    const status = await statusWithin(client, ANSWER_WITHIN_MS);
    if (status !== undefined) return status;
    const seconds = `${ANSWER_WITHIN_MS / 1000} seconds`;
    const cure = "see its log; a restart lets its tasks continue";
    return { isStopped: false, message: `The daemon has not answered for ${seconds}: ${cure}` };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // every user who can connect may ask, so `forbidden` means that this user may not open the socket
    if (error.code === "forbidden") return { isStopped: false, message: error.message };
    if (error.code !== "unreachable") throw error;
    return { isStopped: true, message: error.message };
  }
}

/** The service, where there is one, and the version that a new start of the daemon would run. */
async function findInstalled(io: Io, dirs: DataDir) {
  const host = serviceHost(io);
  const refused = (error: unknown) => {
    if (error instanceof AppError) return undefined; // no service manager, or none for this session
    throw error;
  };
  const service = await hasManager(host) ? await findService(host).catch(refused) : undefined;
  const { program, dataDir } = service?.state ?? {};
  const version = program === undefined || dataDir !== dirs.root
    ? undefined
    : await findProgramVersion(host, program);
  return { service, installed: version ?? VERSION };
}

/** The settings of the file. The flags of a daemon are not known while it does not run. */
async function settingsOf(dirs: DataDir) {
  const { readSettingsFile } = await import("../daemon/settings_file.ts");
  const read = () => readSettingsFile(dirs.settings, dirs.root);
  let file: ReadonlyMap<string, SettingValue> = new Map();
  try {
    file = read();
  } catch {
    // the check of addresses reports what is wrong with the file
  }
  return { file, addresses: () => addressesToBind(read()) };
}

/** The certificates that settings name. */
function certificatesIn(valueOf: (setting: string) => unknown): readonly CertificateFile[] {
  return ["webhook-tls-cert", "control-tls-cert"].flatMap((setting) => {
    const path = valueOf(setting);
    return typeof path === "string" ? [{ setting, path }] : [];
  });
}
