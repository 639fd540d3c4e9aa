/**
 * Kind `StepTemplate`: a named prompt that steps of several workflows share.
 *
 * @module
 */

import Type from "typebox";
import { checkTemplate } from "./condition.ts";
import { templateExpressions } from "./expressions.ts";
import { type AnyKind, defineKind } from "./kind.ts";

const StepTemplateSpec = Type.Object({
  prompt: Type.String({ minLength: 1, title: "a prompt" }),
  description: Type.Optional(Type.String()),
}, { additionalProperties: false });

/** `spec` of a StepTemplate. */
export type StepTemplateSpec = Type.Static<typeof StepTemplateSpec>;

export const stepTemplate: AnyKind = defineKind<StepTemplateSpec>("StepTemplate", {
  summary: "A prompt that steps of several workflows share.",
  spec: StepTemplateSpec,
  checks: [(spec) => checkTemplate(spec.prompt, ["spec", "prompt"])],
  expressions: (spec) => templateExpressions(spec.prompt, ["spec", "prompt"]),
  columns: [{ header: "DESCRIPTION", fit: "text", cell: ({ spec }) => spec.description ?? "" }],
});
