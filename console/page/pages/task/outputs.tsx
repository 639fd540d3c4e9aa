/**
 * What steps have given: names and values.
 *
 * @module
 */

import { Text } from "../../parts/text.tsx";
import type { Step } from "./steps.ts";

/** A table of outputs. */
export function Outputs(
  { steps, label, named = false }: {
    readonly steps: readonly Step[];
    readonly label: string;
    /** Whether each says which step it is of. */
    readonly named?: boolean;
  },
) {
  const rows = steps.flatMap(({ id, record }) =>
    Object.entries(record?.outputs ?? {}).map(([name, value]) => ({ id, name, value }))
  );
  return (
    <div class="scroll-x">
      <table aria-label={label}>
        <thead>
          <tr>
            {named && <th scope="col">Step</th>}
            <th scope="col">Output</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ id, name, value }) => (
            <tr key={`${id} ${name}`}>
              {named && <td class="nowrap">{id}</td>}
              <td class="nowrap">
                <code>
                  <Text value={name} />
                </code>
              </td>
              <td>
                <Text value={typeof value === "string" ? value : JSON.stringify(value)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
