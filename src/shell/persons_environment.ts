/**
 * The environment of programs that the person at the terminal uses, such as an editor.
 *
 * @module
 */

/** Variables of the dynamic linker: a program that may run only a shell may not pass them on. */
const LINKER = /^(LD|DYLD)_/i;

/** What such a program gets of `env`. */
export function personsEnvironment(
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !LINKER.test(name)),
  );
}
