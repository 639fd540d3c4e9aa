/**
 * A condition part by part: what each came to, the values it saw, and whether its sender signed them.
 *
 * @module
 */

import type { Explanation } from "../../../../src/api/delivery_operations.ts";

import { Text } from "../../parts/text.tsx";

type Part = Explanation["events"][number]["parts"][number];

/** The parts of the condition of one event. */
export function ConditionParts({ parts }: { readonly parts: readonly Part[] }) {
  return (
    <div class="scroll-x">
      <table class="parts">
        <thead>
          <tr>
            <th scope="col">Part of the condition</th>
            <th scope="col">Came to</th>
            <th scope="col">Saw</th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => (
            <tr key={part.expression} class={part.value === "true" ? "" : "false"}>
              <td>
                <code>
                  <Text value={part.expression} />
                </code>
                <Signed part={part} field={part.expression} />
              </td>
              <td>
                <Value part={part} />
              </td>
              <td>
                {Object.entries(part.saw).map(([field, value]) => (
                  <div key={field}>
                    <code>
                      <Text value={field} />
                    </code>{" "}
                    is{" "}
                    <code>
                      <Text value={value} />
                    </code>
                    <Signed part={part} field={field} />
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Value({ part: { value, error } }: { readonly part: Part }) {
  if (value === undefined) {
    return (
      <span class="badge bad">
        ✗ <Text value={error ?? ""} />
      </span>
    );
  }
  if (value === "true") return <span class="badge good">✓ true</span>;
  return (
    <span class="badge bad">
      ✗ <Text value={value} />
    </span>
  );
}

/** What of it a signature covers, where there is one. */
function Signed({ part: { signed }, field }: { readonly part: Part; readonly field: string }) {
  if (!Object.hasOwn(signed, field)) return null;
  return signed[field] === true
    ? <span class="tag good" title="The signature covers this value">signed</span>
    : <span class="tag warn" title="No signature covers this value">not signed</span>;
}
