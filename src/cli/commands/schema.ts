/**
 * `svc schema`: the JSON Schema of a kind, from the definitions that `apply` checks against.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { findMeant } from "../../base/similar_names.ts";
import { KIND_NAMES } from "../../resources/kind_names.ts";
import { type Command, defineCommand } from "../command.ts";
import { jsonText } from "../json_text.ts";

const NAMES = Object.keys(KIND_NAMES);

export const command: Command = defineCommand({
  help: "Prints the JSON Schema of a kind, so that an editor can check and complete manifests. " +
    "Without a kind, prints that of a document of any kind. Needs no daemon.",
  arguments: [{ name: "[kind]", help: `one of ${NAMES.join(", ")}`, complete: NAMES }],
  examples: ["svc schema Trigger > trigger.schema.json", "svc schema"],
  async run(context) {
    const { KindLookup } = await import("../../resources/kind_lookup.ts");
    const { KINDS } = await import("../../resources/kinds.ts");
    const { documentSchema } = await import("../../resources/read.ts");
    const name = context.argument(0);
    const kind = new KindLookup([]).byAnyName(name);
    if (name !== "" && kind === undefined) {
      const near = findMeant(name, NAMES);
      const next = near === undefined
        ? `use one of ${NAMES.join(", ")}`
        : `did you mean "${near}"?`;
      throw new AppError("usage", `Unknown kind "${name}": ${next}`);
    }
    const schema = kind === undefined
      ? {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        oneOf: KINDS.map(documentSchema),
      }
      : documentSchema(kind);
    context.io.out(jsonText(schema));
  },
});
