/**
 * Numbers of bytes in the units that people read.
 *
 * @module
 */

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** A size in bytes as people read it, such as `1.5 MiB`. */
export function sizeText(bytes: number): string {
  let size = bytes;
  let unit = 0;
  for (; size >= 1024 && unit < UNITS.length - 1; unit++) size /= 1024;
  return `${unit === 0 ? size : size.toFixed(1)} ${UNITS[unit]}`;
}
