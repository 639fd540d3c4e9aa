/**
 * The environment of programs that the person at the terminal uses, such as an editor.
 *
 * @module
 */

/** Variables of the dynamic linker, which Deno does not pass on without the right to run any program. */
const LINKER = /^(LD|DYLD)_/i;

/** The variables of `env` that such a program gets. */
export function personsEnvironment(
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !LINKER.test(name)),
  );
}
