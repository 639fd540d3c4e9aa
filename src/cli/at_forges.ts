/**
 * Commands that are the same at every forge but for their words: one description makes each of them.
 *
 * @module
 */

import { FORGE_WORDS, type ForgeName, type ForgeWords } from "../base/forge_names.ts";
import type { Command } from "./command.ts";

/** The commands of one description, by their forge. */
export type ForgeCommands = Readonly<Record<ForgeName, Command>>;

/** Makes a command for each forge. */
export function atForges(make: (forge: ForgeName, words: ForgeWords) => Command): ForgeCommands {
  return { github: make("github", FORGE_WORDS.github), gitlab: make("gitlab", FORGE_WORDS.gitlab) };
}
