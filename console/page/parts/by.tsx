/**
 * Who did something, as a link to what else they did.
 *
 * @module
 */

import { Link } from "./link.tsx";
import { Text } from "./text.tsx";

/** Somebody as a record names them, such as `ada (console)`; leads to their rows in the control audit. */
export function By({ called, person }: {
  readonly called: string;
  /** Name of the Person, where the record has it. */
  readonly person?: string | undefined;
}) {
  return (
    <Link to={["audit", "control"]} filters={{ caller: person ?? callerOf(called) }}>
      <Text value={called} cell />
    </Link>
  );
}

/** The caller as the audit names them: without the program, and `socket` for nobody in particular. */
function callerOf(called: string): string {
  const name = called.replace(/ \([A-Za-z-]{1,32}\)$/, "");
  return name === "an operator" ? "socket" : name;
}
