/**
 * The tables of a schema, read from its statements by the compiler: what has to know every table does
 * not compile while it lacks one.
 *
 * @module
 */

/** The names of the tables that these statements make. */
export type TablesOf<Sql extends string> = Sql extends
  `${string}CREATE TABLE ${infer Name} (${infer Rest}` ? Name | TablesOf<Rest> : never;
