/**
 * What each platform's file here says about it, so that one test of them all can hold it to
 * account: `tests/platforms/NAME.ts` exports `sample`.
 *
 * @module
 */

import { PLATFORMS } from "../../src/platforms/platforms.ts";
import type { Facts, Vector } from "../signatures/platform_cases.ts";

/** What a platform sends. */
export interface Sample {
  /**
   * Requests whose signatures were made elsewhere, where `tests/fixtures/signatures.json` has none;
   * all tests of signatures and of the pipeline run over them.
   */
  readonly requests?: readonly (Vector & Facts)[];
  /** Payloads of its handshakes, and the answer to each: status and body. */
  readonly handshakes: readonly {
    readonly payload: Payload;
    /** The secret of the key that verified it, where the answer needs one. */
    readonly secret?: string;
    readonly answer: [number, string];
  }[];
  /** Requests of the method of its unsigned handshake, and what becomes of each. */
  readonly unsigned?: readonly SampleUnsigned[];
  /** Events, and the id by which a repetition of each is known. */
  readonly events: readonly SampleEvent[];
}

/** A request before its sender is known. */
export interface SampleUnsigned {
  /** Begins with `?`; none where absent. */
  readonly query?: string;
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The SecretStore; empty where absent. */
  readonly data?: Readonly<Record<string, string>>;
  /**
   * Status, body and further headers of the answer; the reason where it is refused; absent where it
   * is no handshake.
   */
  readonly answer?: [number, string, Readonly<Record<string, string>>?] | string;
}

/** A payload as parsed. */
export type Payload = Readonly<Record<string, unknown>>;

/** One event, as its signature covers the payload. */
export interface SampleEvent {
  readonly payload: Payload;
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Lower-case name; that of the platform where absent. */
  readonly signatureHeader?: string;
  /** Id that the signature covers beside the payload. */
  readonly messageId?: string;
  /** Absent where the event has none. */
  readonly id?: { readonly id: string; readonly signed: boolean };
}

/** The samples by the names of their platforms; a platform without one fails to load. */
export const SAMPLES: ReadonlyMap<string, Sample> = new Map(
  await Promise.all(PLATFORMS.map(async ({ name }) => {
    const file = new URL(`./${name.replaceAll("-", "_")}.ts`, import.meta.url);
    const { sample } = await import(file.href) as { sample: Sample };
    return [name, sample] as const;
  })),
);
