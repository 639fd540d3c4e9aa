/**
 * Durations in manifests: whole seconds, or text such as `"10m"`.
 *
 * @module
 */

import Type from "typebox";
import {
  DURATION_PATTERN,
  findDurationSecs,
  MAX_DURATION,
  MAX_DURATION_SECS,
} from "../base/duration.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Schema of a duration. */
export const Duration = Type.Union([
  Type.Integer({ minimum: 1, maximum: MAX_DURATION_SECS }),
  Type.String({ pattern: DURATION_PATTERN }),
], {
  title: `a duration: whole seconds, or text such as "10m" or "1h30m", ${MAX_DURATION} at most`,
});

/** The checks of a timeout at path `at` that a schema cannot express. */
export function checkTimeout(timeout: string | number | undefined, at: FieldPath): Finding[] {
  if (timeout === undefined || (findDurationSecs(timeout) ?? 0) > 0) return [];
  return [errorAt(at, `A timeout is from 1s to ${MAX_DURATION}, found "${timeout}"`)];
}
