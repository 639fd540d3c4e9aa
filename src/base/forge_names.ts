/**
 * The names of forges, of their events, and of the states of what runs on a commit.
 *
 * @module
 */

/** The forges: platforms with repositories, issues, and changes that are merged on request. */
export const FORGES = ["github", "gitlab"] as const;
/** One of {@linkcode FORGES}. */
export type ForgeName = typeof FORGES[number];
