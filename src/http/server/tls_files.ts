/**
 * The certificate of the webhook server and its key: two PEM files, read at start and again when
 * they change. A pair that cannot be used never replaces the current pair.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { fileFault } from "../../base/file_fault.ts";
import { findOtherWriter } from "../../base/private_files.ts";
import { RegularFile } from "../../base/regular_file.ts";

/** Paths of the certificate and the key. */
export interface TlsFiles {
  /** PEM: the server's certificate first, then the intermediate certificates. */
  readonly certFile: string;
  /** PEM: the private key. */
  readonly keyFile: string;
}

/** A certificate and its key, as PEM text. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** How {@linkcode watchPair} works. */
export interface WatchOptions extends Core {
  readonly files: TlsFiles;
  /** The pair in use. */
  readonly pair: TlsPair;
  /** Time between two readings of the files. */
  readonly everyMs: number;
  /** Takes a new pair into use; throws when it cannot be used. */
  readonly use: (pair: TlsPair) => void;
  readonly signal: AbortSignal;
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

/** The error for a pair that cannot be used; it names the files. */
export function unusable(files: TlsFiles, cause: unknown): AppError {
  const { certFile, keyFile } = files;
  return new AppError(
    "refused",
    `Cannot use the certificate "${certFile}" with the key "${keyFile}": ${fileFault(cause)}`,
    { cause },
  );
}

/**
 * Reads both files again and again until `signal` aborts: so it notices links that lead to other files
 * now, as with certbot and Kubernetes. A new pair is used when two readings in a row found the same, so
 * that a certificate is not used before its key is there.
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
      const pair = readPair(files);
      const isSettled = same(pair, seen);
      seen = pair;
      if (!isSettled || same(pair, used)) continue;
      used = pair; // also if `use` throws: a pair that cannot be used is tried once
      use(pair);
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
