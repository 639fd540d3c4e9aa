/**
 * svc as a job of launchd on macOS, through `launchctl`.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { ProgramLine } from "../shell/ask_program.ts";
import { findAt, findFile, homeOf, type Scope, type ServiceHost } from "./host.ts";
import { LABEL, launchdPlist, PLIST_MARK } from "./launchd_plist.ts";
import type { ServiceManager, ServiceState } from "./service_state.ts";
import type { Step } from "./steps.ts";

/** Loads a job, or starts one that is loaded and has ended: launchd does either, not both. */
const BEGIN = 'launchctl bootstrap "$1" "$2" 2>/dev/null || launchctl kickstart "$1/$3"';
/** Unloads a job, and waits until it is gone: launchctl does not, and refuses to load it before. */
const END = 'launchctl bootout "$1" 2>/dev/null; for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do ' +
  'launchctl print "$1" >/dev/null 2>&1 || exit 0; sleep 2; done; exit 1';

/** The launchd of the system, or of the user. */
export function launchd(host: ServiceHost, scope: Scope): ServiceManager {
  const isSystem = scope === "system";
  const base = isSystem ? "" : homeOf(host);
  const file = `${base}/Library/${isSystem ? "LaunchDaemons" : "LaunchAgents"}/${LABEL}.plist`;
  const log = isSystem ? `/var/log/${LABEL}.log` : `${base}/Library/Logs/${LABEL}.log`;
  const domain = isSystem ? "system" : `gui/${host.uid}`;
  const job = `${domain}/${LABEL}`;
  const steps = (...lines: ProgramLine[]): Step[] => lines.map((run) => ({ run }));
  const begin: readonly ProgramLine[] = [
    ["launchctl", "enable", job],
    ["/bin/sh", "-c", BEGIN, "sh", domain, file, LABEL],
  ];
  const end: ProgramLine = ["/bin/sh", "-c", END, "sh", job];
  return {
    scope,
    service: LABEL,
    file,
    files: (options) => [{ write: file, text: launchdPlist({ ...options, scope, log }) }],
    async look() {
      const text = await findFile(host, file);
      if (text === undefined) return undefined;
      const { code, out } = await host.run(["launchctl", "print", job]);
      const { out: disabled } = await host.run(["launchctl", "print-disabled", domain]);
      return {
        file,
        author: text.includes(PLIST_MARK) ? "svc" : "somebody else",
        isEnabled: !new RegExp(`"${LABEL}" => (true|disabled)`).test(disabled),
        ...code === 0 ? readJob(out) : { state: "stopped", restarts: 0 },
        ...readPlist(text),
      };
    },
    async prepare({ user = "svc", dataDir }) {
      if (!isSystem) return [];
      if ((await host.run(["id", "-u", user])).code !== 0) {
        throw new AppError(
          "refused",
          `There is no user "${user}": make one, or name another with --run-as; without sudo, svc ` +
            "is a service of your own user",
        );
      }
      const isThere = await findAt(host, dataDir) !== undefined;
      return steps(
        ...isThere ? [] : [["install", "-d", "-m", "0700", "-o", user, dataDir] as const],
        ["touch", log],
        ["chown", user, log],
      );
    },
    apply: (now) => steps(...now === undefined ? [] : [end], ...begin),
    start: steps(...begin),
    restart: steps(["launchctl", "kickstart", "-k", job]),
    remove: () => Promise.resolve([...steps(end), { remove: file }]),
    logs: ({ lines, follow }) => ["tail", "-n", String(lines), ...follow ? ["-F"] : [], log],
    warnings: () => Promise.resolve([]),
  };
}

/** The facts about a loaded job that `launchctl print` prints. */
function readJob(out: string): Pick<ServiceState, "state" | "pid" | "restarts"> {
  const pid = Number(/^\tpid = (\d+)$/m.exec(out)?.[1]);
  const runs = Number(/^\truns = (\d+)$/m.exec(out)?.[1]) || 0;
  const restarts = Math.max(0, runs - 1);
  if (pid > 0) return { state: "running", pid, restarts };
  const code = /^\tlast exit code = (\d+)/m.exec(out)?.[1] ?? "0";
  return { state: code === "0" ? "stopped" : "starting", restarts };
}

/** What svc writes there. */
function readPlist(text: string): Pick<ServiceState, "program" | "dataDir" | "user"> {
  const program = /<string>-c<\/string>\s*<string>.*<\/string>\s*<string>(.*)<\/string>/.exec(text)
    ?.[1];
  const dataDir = /<key>SVC_DATA_DIR<\/key>\s*<string>(.*)<\/string>/.exec(text)?.[1];
  const user = /<key>UserName<\/key>\s*<string>(.*)<\/string>/.exec(text)?.[1];
  return {
    ...user === undefined ? {} : { user: plain(user) },
    ...program === undefined ? {} : { program: plain(program) },
    ...dataDir === undefined ? {} : { dataDir: plain(dataDir) },
  };
}

function plain(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
