/**
 * Validates the input of operations against the schemas of their definitions: requests come from
 * outside, also over the network.
 *
 * @module
 */

import type { Operation } from "../../api/operation.ts";
import { AppError } from "../../base/errors.ts";
import { compileSchema, type Validator } from "../../resources/validate.ts";

/** Validates inputs; each schema is compiled at its first use. */
export class InputChecks {
  readonly #validators = new Map<string, Validator>();

  /**
   * Refuses an input that does not match the operation's schema.
   *
   * @throws {AppError} `invalid`, with every finding.
   */
  check(name: string, operation: Operation, input: unknown): void {
    const validator = this.#validators.get(name) ?? compileSchema(operation.input);
    this.#validators.set(name, validator);
    const [first, ...details] = validator.check(input).map(({ path, message }) =>
      path.length === 0 ? message : `${path.join(".")}: ${message}`
    );
    if (first === undefined) return;
    throw new AppError("invalid", `Invalid input for "${name}": ${first}`, { details });
  }
}
