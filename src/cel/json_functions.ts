/**
 * `fromJson`: a text of JSON as the value it stands for, such as what an agent printed.
 *
 * @module
 */

import { type CelFunc, celFunc, CelScalar } from "@bufbuild/cel";
import { messageOf } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import { toCel } from "./json_values.ts";

/** Most characters of a text that a message shows. */
const MAX_SHOWN = 40;

/** The functions for JSON. */
export const JSON_FUNCTIONS: readonly CelFunc[] = [
  celFunc("fromJson", [CelScalar.STRING], CelScalar.DYN, (text) => {
    try {
      return toCel(parseJson(text));
    } catch (error) {
      const start = JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
      throw new Error(`fromJson: ${messageOf(error)}: ${start}`, { cause: error });
    }
  }),
];
