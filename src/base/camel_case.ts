/**
 * Names of options and settings as code reads them: `--max-body` is `maxBody`.
 *
 * @module
 */

/** `max-body` as `maxBody`, among types. */
export type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** A name in kebab case as camel case: `max-body` becomes `maxBody`. */
export function camelCase<Name extends string>(name: Name): CamelCase<Name> {
  const camel = name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return camel as CamelCase<Name>;
}
