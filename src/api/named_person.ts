/**
 * The header in which a gateway says for whom it asks: the name of a Person, or one of its identities.
 * Between them, a colon decides: no name has one.
 *
 * @module
 */

/** The name of the header. Its value is percent-encoded, as an identity may have any letter. */
export const PERSON_HEADER = "svc-person";

/** The value of the header. */
export function encodePerson(nameOrIdentity: string): string {
  return encodeURIComponent(nameOrIdentity);
}

/** The name or identity in a value of the header; `undefined` if it is not percent-encoded. */
export function decodePerson(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
