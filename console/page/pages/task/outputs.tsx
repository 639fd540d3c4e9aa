/**
 * The outputs of steps: names and values.
 *
 * @module
 */

import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import type { Step } from "./steps.ts";

/** A table of outputs; nothing where there are none. */
export function Outputs(
  { steps, label, named = false, without = [] }: {
    readonly steps: readonly Step[];
    readonly label: string;
    /** Whether each output has the name of its step. */
    readonly named?: boolean;
    /** Names of outputs that are shown elsewhere. */
    readonly without?: readonly string[];
  },
) {
  const rows = steps.flatMap(({ id, record }) =>
    Object.entries(record?.outputs ?? {}).filter(([name]) => !without.includes(name))
      .map(([name, value]) => ({ id, name, value }))
  );
  if (rows.length === 0) return null;
  const columns: readonly Column<typeof rows[number]>[] = [
    ...named
      ? [{ header: "Step", whole: true, cell: ({ id }: { readonly id: string }) => id }]
      : [],
    {
      header: "Output",
      whole: true,
      cell: ({ name }) => (
        <code>
          <Text value={name} />
        </code>
      ),
    },
    {
      header: "Value",
      cell: ({ value }) => (
        <Text value={typeof value === "string" ? value : JSON.stringify(value)} />
      ),
    },
  ];
  return (
    <Table
      items={rows}
      columns={columns}
      id={({ id, name }) => `${id} ${name}`}
      label={label}
    />
  );
}
