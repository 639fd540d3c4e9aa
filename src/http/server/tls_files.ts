/**
 * The certificate of the webhook server and its key: two PEM files, read at start and again when
 * they change. What cannot be used is never put in the place of what can.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { fileFault } from "../../base/file_fault.ts";
import { findOtherWriter } from "../../base/private_files.ts";
import type { Log } from "../../base/log.ts";
import { RegularFile } from "../../base/regular_file.ts";

/** Where certificate and key are. */
export interface TlsFiles {
  /** PEM file: the server's certificate first, then those between it and a root. */
  readonly certFile: string;
  /** PEM file: the private key. */
  readonly keyFile: string;
}

/** A certificate and its key, as PEM text. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** How to watch. */
export interface WatchOptions {
  /** What to watch. */
  readonly files: TlsFiles;
  /** What is in use. */
  readonly pair: TlsPair;
  /** How often to look. */
  readonly everyMs: number;
  /** Takes a new pair into use; throws when it cannot be used. */
  readonly use: (pair: TlsPair) => void;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
}

/**
 * Reads both files.
 *
 * @throws {AppError} `refused` when one of them cannot be read, or another user could have written
 * it.
 */
export function readPair(files: TlsFiles): TlsPair {
  const read = (what: string, path: string) => {
    try {
      using file = RegularFile.open(path);
      const writer = findOtherWriter(file.facts);
      if (writer !== undefined) throw new AppError("refused", `The ${what} "${path}" ${writer}`);
      return file.textSync();
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      throw new AppError("refused", `Cannot read the ${what} "${path}": ${fileFault(cause)}`, {
        cause,
      });
    }
  };
  return { cert: read("certificate", files.certFile), key: read("key", files.keyFile) };
}

/** Says what is wrong with a pair, in words that name the files. */
export function unusable(files: TlsFiles, cause: unknown): AppError {
  const { certFile, keyFile } = files;
  return new AppError(
    "refused",
    `Cannot use the certificate "${certFile}" with the key "${keyFile}": ${fileFault(cause)}`,
    { cause },
  );
}

/**
 * Looks at the content of both files until told to stop: links that are turned, as certbot and
 * Kubernetes do it, count as well. A new pair is used once it has been the same twice, so that a
 * certificate is not taken up before its key is there.
 */
export async function watchPair(options: WatchOptions): Promise<void> {
  const { files, everyMs, use, signal, log } = options;
  let used = options.pair;
  let seen = used;
  let complaint = "";
  const complain = (error: unknown) => {
    const message = messageOf(error);
    if (message !== complaint) {
      log.error("certificate not reloaded, the old one stays in use", { error });
    }
    complaint = message;
  };
  for (;;) {
    await options.clock.pause(everyMs, signal);
    if (signal.aborted) return;
    try {
      const found = readPair(files);
      const settled = same(found, seen);
      seen = found;
      if (!settled || same(found, used)) continue;
      used = found; // what cannot be used is tried once, not every time
      use(found);
      complaint = "";
      log.info("certificate reloaded", { file: files.certFile });
    } catch (error) {
      complain(error);
    }
  }
}

function same(one: TlsPair, other: TlsPair): boolean {
  return one.cert === other.cert && one.key === other.key;
}
