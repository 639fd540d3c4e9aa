/**
 * The addresses that a daemon would listen on: whether they are free while none runs.
 *
 * @module
 */

import { findListenFault } from "../http/server/listen_fault.ts";
import { runTool, type ToolHost } from "../tasks/workspace/run_tool.ts";
import { type Check, failed, type Finding, ok } from "./check.ts";

/** The addresses of the settings, and what finds the program that listens at one. */
export interface PortsHost extends ToolHost {
  /**
   * The addresses of the settings.
   *
   * @throws {AppError} `invalid` or `refused` when the settings cannot be used.
   */
  readonly addresses: () => readonly BindAddress[];
}

/** An address to listen on. */
export interface BindAddress {
  readonly setting: "webhook-bind" | "control-bind";
  readonly hostname: string;
  /** 0 for any free one. */
  readonly port: number;
}

/** Whether each address is free. */
export const ports: Check<PortsHost> = {
  name: "ports",
  async look(host, signal) {
    const found = await Promise.all(host.addresses().map((one) => lookAt(one, host, signal)));
    return found.length === 0 ? [ok("No port is configured")] : found;
  },
};

async function lookAt(
  address: BindAddress,
  host: ToolHost,
  signal: AbortSignal | undefined,
): Promise<Finding> {
  const { setting, hostname, port } = address;
  const where = `${hostname}:${port} (${setting})`;
  const fault = findListenFault(address);
  if (fault === undefined) return ok(`${where} is free`);
  if (!fault.isTaken) {
    return failed(
      `${where} cannot be used (${fault.message}): write another in daemon.yaml`,
    );
  }
  const holder = await findHolder(port, host, signal).catch(() => undefined);
  const who = holder ?? "an unknown process (run ss -ltnp as root)";
  return failed(`${where} is taken by ${who}: stop that, or write another address in daemon.yaml`);
}

/**
 * Prints the id and the name of the process that listens on the port `$1`, in four hexadecimal
 * digits; nothing if /proc does not show it. It leaves out the arguments, which may be secret.
 */
const HOLDER = `
inodes=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
  while read -r _ local _ state _ _ _ _ _ inode _; do
    case $state$local in 0A*:"$1") echo "$inode" ;; esac
  done)
for inode in $inodes; do
  for open in /proc/[0-9]*/fd; do
    ls -l "$open" 2>/dev/null | grep -qF "socket:[$inode]" || continue
    pid=\${open%/fd} pid=\${pid#/proc/}
    read -r name <"/proc/$pid/comm" && echo "process $pid ($name)"
    exit
  done
done`;
const TIMEOUT_MS = 10_000;

async function findHolder(
  port: number,
  host: ToolHost,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const digits = port.toString(16).toUpperCase().padStart(4, "0");
  const tool = { script: HOLDER, args: [digits], signal, timeoutMs: TIMEOUT_MS };
  const { out } = await runTool(tool, host);
  return out.trim() || undefined;
}
