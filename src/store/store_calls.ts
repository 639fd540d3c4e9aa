/**
 * The methods of a store as values with a name, for what is done in the same way to many of them.
 *
 * @module
 */

import type { Store, StoreMethod } from "./store.ts";

/** The parameters of a method. */
export type StoreArgs<Name extends StoreMethod> = Parameters<Store[Name]>;

/** What a method resolves to. */
export type StoreResult<Name extends StoreMethod> = Awaited<ReturnType<Store[Name]>>;

/** `Store[Name]`, in a form in which the name may be a type parameter. */
export type StoreCall<Name extends StoreMethod> = (
  ...args: StoreArgs<Name>
) => Promise<StoreResult<Name>>;

/** Follows a successful call of a method; `target` is what it tells. */
export type AfterCall<Target, Name extends StoreMethod> = (
  target: Target,
  result: StoreResult<Name>,
  ...args: StoreArgs<Name>
) => void;

/** Some methods of a store by name. */
export type StoreCalls<Name extends StoreMethod> = { [One in Name]: StoreCall<One> };

/** Methods of a store, each made from its name. */
export function storeCalls<Name extends StoreMethod>(
  names: readonly Name[],
  make: <One extends Name>(name: One) => StoreCall<One>,
): StoreCalls<Name> {
  const calls = {} as StoreCalls<Name>;
  for (const name of names) calls[name] = make(name);
  return calls;
}

/**
 * Wraps a store so that each method that has a function in `table` calls it after a success, before
 * the caller continues.
 */
export function afterCalls<Target>(
  store: Store,
  table: { readonly [Name in StoreMethod]?: "read" | AfterCall<Target, Name> },
  target: Target,
): Store {
  const calls: StoreCalls<StoreMethod> = store;
  const wrap = <Name extends StoreMethod>(name: Name): StoreCall<Name> => {
    const [call, after] = [calls[name], table[name]];
    if (after === undefined || after === "read") return call;
    return (...args) => {
      const result = call(...args);
      result.then((value) => after(target, value, ...args), () => {});
      // The caller gets the store's own promise, so it waits no longer than without `after`.
      return result;
    };
  };
  return { ...store, ...storeCalls(Object.keys(table) as StoreMethod[], wrap) };
}
