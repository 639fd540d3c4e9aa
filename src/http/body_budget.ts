/**
 * A limit for the bytes of bodies that are held at once, for all requests and for one owner (a
 * trigger). The bytes count from their arrival until their request is answered: a body is held before
 * its sender is authenticated.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { sizeText } from "../base/size.ts";

/** A body is small if the length that it states is not above this. */
const SMALL_BYTES = 64 * 1024;

/**
 * The parts of the budget that some bodies may use at most. So a quarter is left for other owners,
 * whatever is sent to one; and small bodies have a quarter that large ones cannot take, of all bodies
 * and of those of the same owner.
 */
const PART = {
  /** Large bodies of one owner. */
  largeOfOwner: 1 / 2,
  large: 3 / 4,
  /** Bodies of one owner. */
  owner: 3 / 4,
  /** Small bodies that hold bytes and have not arrived yet, or never will. */
  expected: 1 / 4,
} as const;

/** Least size of the budget, in bodies of the largest size: a smaller budget would never hold one. */
export const LARGEST_BODIES_IN_BUDGET = 1 / PART.largeOfOwner;

/**
 * When there are more owners than this, those that hold nothing are forgotten: a stranger can make up
 * names. Below the number of triggers, requests would add and remove entries.
 */
const OWNERS = 16_384;

/** The bytes that an owner holds. */
interface Use {
  bytes: number;
  /** Those among them that belong to large bodies. */
  large: number;
}

/** The bytes that all owners hold. */
interface TotalUse extends Use {
  readonly most: number;
  /** Those among them that may not have arrived. */
  expected: number;
  readonly ownerOf: (name: string) => Use;
}

/** A number of bytes that the bodies of all requests share. */
export class BodyBudget {
  readonly #total: TotalUse;
  /** An owner that holds nothing stays in the map: a request must not add and remove an entry. */
  readonly #owners = new Map<string, Use>();
  #forgetAt = OWNERS;

  /** A budget of `most` bytes. */
  constructor(most: number) {
    const ownerOf = (name: string) => this.#ownerOf(name);
    this.#total = { most, bytes: 0, large: 0, expected: 0, ownerOf };
  }

  /** Number of bytes that are held now. */
  get inUse(): number {
    return this.#total.bytes;
  }

  /** A hold for the body of one request, empty at first; `owner` is the name of its trigger. */
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

/** The bytes that one request holds of a {@linkcode BodyBudget}. */
export class HeldBytes {
  readonly #total: TotalUse;
  readonly #name: string;
  #owner: Use | undefined;
  #bytes = 0;
  #large = 0;
  #expected = 0;
  #released = false;

  /** Called by {@linkcode BodyBudget.hold} only. */
  constructor(total: TotalUse, owner: string) {
    this.#total = total;
    this.#name = owner;
  }

  /**
   * Holds the bytes of a small body before it arrives, so that it can be read in one piece. Where this
   * fails, the body may still be taken part by part: only a part of the budget is for bodies that may
   * never arrive.
   *
   * @returns Whether the budget had room.
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
   * Holds bytes that have arrived; `stated` is the length that their body states, if it does.
   *
   * @throws {AppError} `overloaded` when the budget has no room.
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

  /** Notes that the body has arrived completely. */
  arrived(): void {
    this.#total.expected -= this.#expected;
    this.#expected = 0;
  }

  /** Gives back all bytes for good: later bytes of the same request are refused. */
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
