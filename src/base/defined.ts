/**
 * Optional fields of an object, under `exactOptionalPropertyTypes`.
 *
 * @module
 */

/** `Fields` in which each field that may be `undefined` is absent instead. */
export type Defined<Fields> =
  & { [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name] }
  & {
    [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<
      Fields[Name],
      undefined
    >;
  };

/** A copy of `fields` without those that are `undefined`: `{ limit, ...defined({ before }) }`. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const kept = {} as Fields;
  for (const name in fields) {
    if (fields[name] !== undefined) kept[name] = fields[name];
  }
  return kept as Defined<Fields>;
}
