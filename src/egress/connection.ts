/**
 * A connection to a host, with or without TLS.
 *
 * @module
 */

/** A connection to a host. */
export interface Connection extends Disposable {
  read(into: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
  closeWrite(): Promise<void>;
}

/** Closes something that may be closed already. */
export function closeQuietly(one: { close(): void }): void {
  try {
    one.close();
  } catch {
    // closed already
  }
}
