/**
 * Checks what is sent to an operation against the schema of its definition: a request comes from
 * outside, also over the network, so an operation gets no input of another shape.
 *
 * @module
 */

import type { Operation } from "../../api/operation.ts";
import { AppError } from "../../base/errors.ts";
import { compileSchema, type Validator } from "../../resources/validate.ts";

/** Checks inputs; each schema is compiled when it is first needed. */
export class InputChecks {
  readonly #validators = new Map<string, Validator>();

  /**
   * Refuses an input that is not what the operation takes.
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
