/**
 * Whether the window is narrow, as on a telephone. styles/narrow.css has the same width.
 *
 * @module
 */

import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 700px)");

/** Whether the window is narrow now. */
export const narrow = signal(query.matches);

query.addEventListener("change", () => narrow.value = query.matches);
