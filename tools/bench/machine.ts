/**
 * The machine of a run, which a reader needs to judge the figures.
 *
 * @module
 */

import { tempDir } from "../../tests/helpers/temp_dir.ts";
import { median } from "./stats.ts";

export interface Machine {
  readonly processors: string;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly deno: string;
  /** Load average of the last minute before the run. */
  readonly loadBefore: number;
  /** Median time of a synced write of 4 KiB where the data directories are. */
  readonly fsyncMs: number;
}

export async function describeMachine(): Promise<Machine> {
  const model = /^model name\s*: (.*)$/m.exec(await readOr("/proc/cpuinfo", ""))?.[1] ??
    Deno.build.arch;
  return {
    processors: `${navigator.hardwareConcurrency} × ${model}`,
    memoryGb: Math.round(Deno.systemMemoryInfo().total / 2 ** 30),
    kernel: `${Deno.build.os} ${Deno.osRelease()}`,
    deno: Deno.version.deno,
    loadBefore: Math.round((Deno.loadavg()[0] ?? 0) * 100) / 100,
    fsyncMs: await measureFsync(),
  };
}

/** Load average above which other work spoils the figures. */
export const QUIET_LOAD = 0.5;

export function machineLine(machine: Machine): string {
  const { processors, memoryGb, kernel, deno, loadBefore, fsyncMs } = machine;
  return `${processors}, ${memoryGb} GB, ${kernel}, Deno ${deno}, fsync ${
    fsyncMs.toFixed(2)
  } ms, ` +
    `load before ${loadBefore.toFixed(2)}`;
}

async function measureFsync(): Promise<number> {
  await using dir = await tempDir();
  using file = await Deno.open(`${dir.path}/f`, { create: true, write: true });
  const block = new Uint8Array(4096);
  const times: number[] = [];
  for (let i = 0; i < 50; i++) {
    const start = performance.now();
    await file.write(block);
    await file.syncData();
    times.push(performance.now() - start);
  }
  return median(times);
}

/** Resident memory of a process in MB; NaN except on Linux. */
export async function residentMb(pid: number): Promise<number> {
  return await memoryMb(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB/m);
}

/** The most that a process has had so far, in MB; NaN except on Linux, and once it has ended. */
export async function peakMb(pid: number): Promise<number> {
  return await memoryMb(`/proc/${pid}/status`, /^VmHWM:\s+(\d+) kB/m).catch(() => NaN);
}

/**
 * The part of the resident memory that the kernel cannot read again from a file, in MB. The rest, such
 * as the program itself, is given back when memory is short, and is there once for all processes.
 */
export async function anonymousMb(pid: number): Promise<number> {
  return await memoryMb(`/proc/${pid}/smaps_rollup`, /^Anonymous:\s+(\d+) kB/m);
}

async function memoryMb(path: string, line: RegExp): Promise<number> {
  if (Deno.build.os !== "linux") return NaN;
  return Number(line.exec(await Deno.readTextFile(path))?.[1] ?? NaN) / 1024;
}

/** Open descriptors of a process; NaN except on Linux. */
export function descriptors(pid: number): number {
  if (Deno.build.os !== "linux") return NaN;
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
}

async function readOr(path: string, fallback: string): Promise<string> {
  return await Deno.readTextFile(path).catch(() => fallback);
}
