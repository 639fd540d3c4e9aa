/**
 * The argument that names a Sandbox.
 *
 * @module
 */

import type { ArgumentDefinition } from "./command.ts";

/** A Sandbox by its name, or the default one. */
export const SANDBOX: ArgumentDefinition = {
  name: "[name]",
  help: "name of a Sandbox (default: the sandbox that agents have without one)",
  complete: "sandbox",
};
