/**
 * Exported functions and classes that can be replaced while the program runs. `faultable-modules.ts` puts them in
 * place.
 */

type AnyFunction = (...args: readonly unknown[]) => unknown
type AnyClass = new (...args: readonly unknown[]) => object

/** What is called now in the place of each switchable function: it has the type of the function. */
const current = new Map<unknown, unknown>()
/**
 * What changes the first argument of `new` now, by switchable class: it takes and gives an argument of its constructor.
 */
const changes = new Map<unknown, (first: never) => unknown>()

/** A function that calls `right`, or what has taken its place. */
export function switchable(right: AnyFunction): AnyFunction {
  const switched = function (this: unknown, ...args: readonly unknown[]): unknown {
    return Reflect.apply(current.get(switched) as AnyFunction, this, args)
  }
  current.set(switched, right)
  return switched
}

/** The class, with a first argument of `new` that can be changed. */
export function switchableClass(right: AnyClass): AnyClass {
  const switched: AnyClass = new Proxy(right, {
    construct(target, [first, ...others]: readonly unknown[], newTarget) {
      const changed = changes.get(switched)?.(first as never) ?? first
      return Reflect.construct(target, [changed, ...others], newTarget) as object
    },
  })
  return switched
}

/** Replaces a function. @returns takes the replacement back @throws TypeError if it is not switchable */
export function replace<F>(switched: F, wrong: (right: F) => F): () => void {
  if (!current.has(switched)) throw new TypeError('the function cannot be replaced: its module is not faultable')
  const right = current.get(switched)
  current.set(switched, wrong(right as F))
  return () => void current.set(switched, right)
}

/** Changes the first argument with which a class is instantiated. @returns takes the change back */
export function changeFirstArgument<First>(switched: unknown, change: (first: First) => First): () => void {
  changes.set(switched, change)
  return () => void changes.delete(switched)
}
