/**
 * Keeps what is shown as a file.
 *
 * @module
 */

/**
 * Hands bytes or text to the browser as a file. It is plain text whatever it holds, so that nothing
 * runs it; `name` is made of ids and words of ours.
 */
export function download(name: string, content: string | Uint8Array<ArrayBuffer>): void {
  const made = URL.createObjectURL(new Blob([content], { type: "text/plain" }));
  const link = document.createElement("a");
  link.download = name;
  link.href = made;
  link.click();
  setTimeout(() => URL.revokeObjectURL(made), 10_000);
}
