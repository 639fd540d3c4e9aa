/**
 * The fault of a condition, with a mark below its column.
 *
 * @module
 */

import type { Refusal } from "../../data/api.ts";
import { Problem } from "../../parts/problem.tsx";
import { indexOf, placeOf } from "./fault_place.ts";

/** The refusal of a condition; `show` moves the cursor to its fault. */
export function Fault({ error, condition, show }: {
  readonly error: Refusal;
  readonly condition: string;
  readonly show: (index: number) => void;
}) {
  const place = placeOf(error);
  const line = place === undefined ? undefined : condition.split("\n")[place.line - 1];
  return (
    <>
      <Problem error={error} />
      {place !== undefined && line !== undefined && (
        <div class="fault">
          <pre>
            {`${line}\n${" ".repeat(place.column - 1)}`}
            <span class="mark">▲</span>
          </pre>
          <button type="button" class="small" onClick={() => show(indexOf(condition, place))}>
            Go to column {place.column}
            {place.line > 1 ? ` of line ${place.line}` : ""}
          </button>
        </div>
      )}
    </>
  );
}
