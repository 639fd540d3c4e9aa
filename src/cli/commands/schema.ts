/**
 * `svc schema`: the JSON Schema of a kind, from the definitions that `apply` checks against.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { findMeant } from "../../base/similar_names.ts";
import { KindLookup } from "../../resources/kind_lookup.ts";
import { KINDS } from "../../resources/kinds.ts";
import { documentSchema } from "../../resources/read.ts";
import { type Command, defineCommand } from "../command.ts";
import { jsonText } from "../json_text.ts";

const NAMES = KINDS.map(({ kind }) => kind);

export const command: Command = defineCommand({
  help: "Prints the JSON Schema of a kind, so that an editor can check and complete manifests. " +
    "Without a kind, prints that of a document of any kind. Needs no daemon.",
  arguments: [{ name: "[kind]", help: `one of ${NAMES.join(", ")}`, complete: NAMES }],
  examples: ["svc schema Trigger > trigger.schema.json", "svc schema"],
  run(context) {
    const name = context.argument(0);
    const kind = new KindLookup([]).byAnyName(name);
    if (name !== "" && kind === undefined) {
      const known = KINDS.map((one) => one.kind);
      const near = findMeant(name, known);
      const next = near === undefined
        ? `use one of ${known.join(", ")}`
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
    return Promise.resolve();
  },
});
