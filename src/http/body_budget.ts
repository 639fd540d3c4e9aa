/**
 * How many bytes of bodies may be under way at once, in all and for one owner (a trigger). They
 * count from their arrival until their request is answered, because a body is kept before its
 * sender is authenticated.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { sizeText } from "../base/size.ts";

/** A body that states a length up to this one is small. */
const SMALL_BYTES = 64 * 1024;

/**
 * Which part of the budget may be in use for what. Whatever is sent to one owner, a quarter is left
 * for the others; and small bodies have a quarter that large ones cannot take, neither in all nor
 * of the same owner.
 */
const PART = {
  /** Large bodies of one owner. */
  largeOfOwner: 1 / 2,
  /** Large bodies. */
  large: 3 / 4,
  /** Bodies of one owner. */
  owner: 3 / 4,
  /** Small bodies that have room and are still on their way, or never come. */
  expected: 1 / 4,
} as const;

/** The budget has to be so many times the largest body, for one to fit at all. */
export const LARGEST_BODIES_IN_BUDGET = 1 / PART.largeOfOwner;

/** Owners are forgotten when there are more than this, and only those that hold nothing. */
const OWNERS = 4096;

/** Bytes that are held. */
interface Use {
  bytes: number;
  /** Those of large bodies among them. */
  large: number;
}

/** What is held in all. */
interface TotalUse extends Use {
  readonly most: number;
  /** Those that have room and may not have arrived. */
  expected: number;
  readonly ownerOf: (name: string) => Use;
}

/** A number of bytes that the bodies of all requests share. */
export class BodyBudget {
  readonly #total: TotalUse;
  /** An owner stays when it holds nothing any more: a request must not add and remove an entry. */
  readonly #owners = new Map<string, Use>();
  #forgetAt = OWNERS;

  /** A budget of `most` bytes. */
  constructor(most: number) {
    const ownerOf = (name: string) => this.#ownerOf(name);
    this.#total = { most, bytes: 0, large: 0, expected: 0, ownerOf };
  }

  /** How many bytes are held now. */
  get inUse(): number {
    return this.#total.bytes;
  }

  /**
   * An empty hold for the body of one request; `owner` (a trigger) may not take all of the budget.
   */
  hold(owner: string): HeldBytes {
    return new HeldBytes(this.#total, owner);
  }

  #ownerOf(name: string): Use {
    const known = this.#owners.get(name);
    if (known !== undefined) return known;
    if (this.#owners.size >= this.#forgetAt) {
      for (const [other, { bytes }] of this.#owners) if (bytes === 0) this.#owners.delete(other);
      this.#forgetAt = Math.max(OWNERS, this.#owners.size * 2);
    }
    const use: Use = { bytes: 0, large: 0 };
    this.#owners.set(name, use);
    return use;
  }
}

/** What one request holds of a {@linkcode BodyBudget}. */
export class HeldBytes {
  readonly #total: TotalUse;
  readonly #name: string;
  #owner: Use | undefined;
  #bytes = 0;
  #large = 0;
  #expected = 0;
  #released = false;

  /** To be had from {@linkcode BodyBudget.hold}. */
  constructor(total: TotalUse, owner: string) {
    this.#total = total;
    this.#name = owner;
  }

  /**
   * Takes room for a small body before it arrives, so that it can be read in one piece. Without it
   * the body may still be taken part by part: only so much is given to lengths that may never come.
   *
   * @returns whether there was room
   */
  expect(length: number): boolean {
    const total = this.#total;
    if (length > SMALL_BYTES || total.expected + length > total.most * PART.expected) return false;
    if (!this.#add(length, false)) return false;
    total.expected += length;
    this.#expected = length;
    return true;
  }

  /**
   * Takes room for bytes that have arrived, of a body that states a length of `stated` or none.
   *
   * @throws {AppError} `overloaded` when there is none.
   */
  take(bytes: number, stated: number | undefined): void {
    if (this.#add(bytes, stated === undefined || stated > SMALL_BYTES)) return;
    const { bytes: taken, most } = this.#total;
    const own = sizeText(this.#owner?.bytes ?? 0);
    throw new AppError(
      "overloaded",
      "Too many bytes of request bodies are in progress: " +
        `${sizeText(taken)} of ${sizeText(most)}, ${own} of them for this address`,
    );
  }

  /** The body is there, whole: nothing is on its way any more. */
  arrived(): void {
    this.#total.expected -= this.#expected;
    this.#expected = 0;
  }

  /** Gives back everything, for good: what arrives later has no room. */
  release(): void {
    this.#released = true;
    this.arrived();
    if (this.#owner === undefined) return;
    change(this.#total, -this.#bytes, -this.#large);
    change(this.#owner, -this.#bytes, -this.#large);
    this.#bytes = this.#large = 0;
  }

  #add(bytes: number, isLarge: boolean): boolean {
    const total = this.#total;
    const owner = this.#owner ??= total.ownerOf(this.#name);
    const { most } = total;
    const large = isLarge ? bytes : 0;
    const fits = !this.#released && total.bytes + bytes <= most &&
      owner.bytes + bytes <= most * PART.owner &&
      (!isLarge || total.large + large <= most * PART.large &&
          owner.large + large <= most * PART.largeOfOwner);
    if (!fits) return false;
    change(total, bytes, large);
    change(owner, bytes, large);
    this.#bytes += bytes;
    this.#large += large;
    return true;
  }
}

function change(use: Use, bytes: number, large: number): void {
  use.bytes += bytes;
  use.large += large;
}
