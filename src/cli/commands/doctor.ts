/**
 * `svc doctor`.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import { systemClock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { AppError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { addressesToBind } from "../../daemon/bind_addresses.ts";
import type { SettingValue } from "../../daemon/setting_type.ts";
import { readSettingsFile } from "../../daemon/settings_file.ts";
import { address } from "../../doctor/address.ts";
import { examine } from "../../doctor/check.ts";
import { type CertificateFile, certificates } from "../../doctor/certificates.ts";
import { CHECKS } from "../../doctor/checks.ts";
import { daemon, type DaemonHost } from "../../doctor/daemon.ts";
import { openOwnPlace } from "../../doctor/own_place.ts";
import { Scene } from "../../doctor/place.ts";
import { ports } from "../../doctor/ports.ts";
import { serviceUnit } from "../../doctor/service_unit.ts";
import { findProgramVersion } from "../../service/program_version.ts";
import { findService, hasManager } from "../../service/service_lookup.ts";
import { type Command, DATA_DIR, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { FindingsPrinter } from "../findings_printer.ts";
import type { Io } from "../io.ts";
import { jsonText } from "../json_text.ts";
import { serviceHost } from "../service_host.ts";
import { statusWithin } from "../status_within.ts";

/** Longest time to wait for a daemon to say how it is. */
const ANSWER_WITHIN_MS = 10_000;

export const command: Command = defineCommand({
  help: "Looks for what keeps svc from working on this machine, and says how to fix it: data " +
    "directory, disk, database, key, clock, descriptors, system, git, the programs and " +
    "directories that applied resources name, the sandbox of agents, certificates, the " +
    "service, and the daemon's own state. A running daemon does the checks itself, with the " +
    "environment and the limits of its steps (role operator); otherwise this command does " +
    "them, and also tries the ports of daemon.yaml. Changes nothing. Exit 1 if a check failed; " +
    "warnings do not count.",
  options: [
    {
      flags: "--url <url>",
      help: "also check that requests to this address reach the daemon: https://HOST",
    },
    DATA_DIR,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc doctor",
    "svc doctor --url https://hooks.example.com",
    "sudo -u svc svc doctor --data-dir /var/lib/svc -o json",
  ],
  async run(context) {
    const { io } = context;
    const url = urlOf(context.options.url);
    const dirs = context.dir();
    using client = context.localClient();
    const isJson = context.options.output === "json";
    using printer = new FindingsPrinter(io, isJson);
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
      const { file, addresses } = settingsOf(dirs);
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
    const failed = printer.howMany("failed");
    const result = failed > 0 ? "failed" : printer.howMany("warning") > 0 ? "warning" : "ok";
    if (isJson) io.out(jsonText({ result, findings: printer.found }));
    else io.out(`${summary(printer)}\n`);
    return failed > 0 ? 1 : 0;
  },
});

function summary(printer: FindingsPrinter): string {
  const [well, warnings, failed] = (["ok", "warning", "failed"] as const)
    .map((result) => printer.howMany(result));
  return `\n${well} ok, ${warnings} ${warnings === 1 ? "warning" : "warnings"}, ${failed} failed`;
}

/** The base address that platforms are given. */
function urlOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === "" &&
    url.password === "" && url.search === "" && url.hash === "";
  if (isPlain) return text;
  throw new AppError("usage", "--url takes https://HOST, the base of the webhook addresses");
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
function settingsOf(dirs: DataDir) {
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
