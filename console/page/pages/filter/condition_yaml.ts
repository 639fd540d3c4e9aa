/**
 * A condition as YAML for the manifest of a trigger.
 *
 * @module
 */

/** The lines of a manifest that set a condition. */
export function conditionYaml(condition: string): string {
  return `spec:\n  event:\n    filter:\n      condition: ${scalar(condition.trim())}\n`;
}

/** A text that a YAML block can hold: no invisible characters, and no white space at either end. */
const PLAIN = /^(?:[\x20-\x7e\xa1-\u2027\u2030-\ud7ff\ue000-\ufefe\uff00-\ufffd]*[^ ])?$/;

/** The text as a YAML block without quotes if possible, else as a quoted text. */
function scalar(text: string): string {
  const lines = text.split("\n");
  if (text === "" || !lines.every((line) => PLAIN.test(line))) return JSON.stringify(text);
  return `|-\n${lines.map((line) => line === "" ? "" : `        ${line}`).join("\n")}`;
}
