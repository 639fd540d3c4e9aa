/**
 * Saves a value of the page as a file.
 *
 * @module
 */

/**
 * Saves bytes or text as a file by the browser. The type is always plain text, so that nothing
 * executes the file; `name` consists of ids and fixed words.
 */
export function download(name: string, content: string | Uint8Array<ArrayBuffer>): void {
  const made = URL.createObjectURL(new Blob([content], { type: "text/plain" }));
  const link = document.createElement("a");
  link.download = name;
  link.href = made;
  link.click();
  setTimeout(() => URL.revokeObjectURL(made), 10_000);
}
