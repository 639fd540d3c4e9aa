/**
 * Who asked svc for something, as records name it.
 *
 * @module
 */

/** A person or a program that asked svc for something. */
export interface AskedBy {
  /** For people: `ada`, `ci (console)`, `an operator`. */
  readonly called: string;
  /** Name of the Person, where it is one. */
  readonly person?: string;
}
