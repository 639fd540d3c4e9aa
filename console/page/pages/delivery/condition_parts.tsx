/**
 * A condition part by part: the result of each part, the values it saw, and whether a signature
 * covers them.
 *
 * @module
 */

import type { Explanation } from "../../../../src/api/delivery_operations.ts";
import { Chip } from "../../parts/chip.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";

type Part = Explanation["events"][number]["parts"][number];

const COLUMNS: readonly Column<Part>[] = [
  {
    header: "Part of the condition",
    cell: (part) => (
      <>
        <code>
          <Text value={part.expression} />
        </code>
        <Signed part={part} field={part.expression} />
      </>
    ),
  },
  { header: "Result", cell: (part) => <Value part={part} /> },
  {
    header: "Values read",
    cell: (part) =>
      Object.entries(part.saw).map(([field, value]) => (
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
      )),
  },
];

/** The parts of the condition of one event. */
export function ConditionParts({ parts }: { readonly parts: readonly Part[] }) {
  return (
    <Table
      items={parts}
      columns={COLUMNS}
      id={({ expression }) => expression}
      look="parts"
      mark={({ value }) => value === "true" ? "" : "false"}
    />
  );
}

function Value({ part: { value, error } }: { readonly part: Part }) {
  if (value === undefined) {
    return (
      <Chip word="failed">
        <Text value={error ?? ""} />
      </Chip>
    );
  }
  if (value === "true") return <Chip word="true" />;
  return (
    <Chip word="false">
      <Text value={value} />
    </Chip>
  );
}

/** Says whether a signature covers the value of a field. */
function Signed({ part: { signed }, field }: { readonly part: Part; readonly field: string }) {
  if (!Object.hasOwn(signed, field)) return null;
  return signed[field] === true
    ? <span class="tag good" title="The signature covers this value">signed</span>
    : <span class="tag warn" title="No signature covers this value">not signed</span>;
}
