/**
 * Faults that are injected into the running program: a method, an exported function or the arguments of a constructor
 * are replaced, each against the types of the original. So a fault that no longer fits what it replaces does not
 * compile.
 *
 * Functions and constructors are replaceable in modules that were loaded after `makeModulesFaultable()`.
 */
import { changeFirstArgument, replace } from './fault-switches.ts'

type AnyFunction = (...args: never) => unknown
type AnyClass = abstract new (...args: never) => object

/** Imports the module of what is replaced: `() => import('../../src/core/settle.ts')`. */
type Load<M> = () => Promise<M>
type FunctionsOf<M> = { [K in keyof M]: M[K] extends AnyFunction ? K : never }[keyof M] & string
type ClassesOf<M> = { [K in keyof M]: M[K] extends AnyClass ? K : never }[keyof M] & string
type InstanceOf<C> = C extends abstract new (...args: never) => infer Instance ? Instance : never
type FirstArgumentOf<C> = C extends abstract new (first: infer First, ...others: never) => object ? First : never
type MethodsOf<Instance> = { [K in keyof Instance]: Instance[K] extends AnyFunction ? K : never }[keyof Instance] &
  string

/** Puts a fault in place, and takes it out again. */
export interface Switch {
  readonly on: () => void
  readonly off: () => void
}

/** A fault that is ready to be switched on once its module is loaded. */
export type Injection = () => Promise<Switch>

function switchOf(put: () => () => void): Switch {
  let remove: (() => void) | null = null
  return {
    on: () => void (remove ??= put()),
    off() {
      remove?.()
      remove = null
    },
  }
}

/** Replaces an exported function. @param wrong gives the replacement of the right one */
export function inFunction<M extends object, K extends FunctionsOf<M>>(
  load: Load<M>,
  name: K,
  wrong: (right: M[K]) => M[K],
): Injection {
  return async () => {
    const module = await load()
    return switchOf(() => replace(module[name], wrong))
  }
}

/** Changes the first argument, most often the options, with which an exported class is instantiated. */
export function inConstructor<M extends object, K extends ClassesOf<M>>(
  load: Load<M>,
  name: K,
  change: (first: FirstArgumentOf<M[K]>) => FirstArgumentOf<M[K]>,
): Injection {
  return async () => {
    const module = await load()
    return switchOf(() => changeFirstArgument<FirstArgumentOf<M[K]>>(module[name], change))
  }
}

/** Replaces a method. @param wrong gives the replacement; `right` is bound to the object */
export function inMethod<
  M extends object,
  K extends ClassesOf<M>,
  Instance extends InstanceOf<M[K]>,
  Method extends MethodsOf<Instance>,
>(
  load: Load<M>,
  name: K,
  method: Method,
  wrong: (right: Instance[Method], self: Instance) => Instance[Method],
): Injection {
  return inProperty(load, name, method, (right) => {
    if (typeof right.value !== 'function') throw new TypeError(`${name}.prototype.${method} is no method`)
    const call = right.value as (...args: readonly unknown[]) => unknown
    return {
      ...right,
      value(this: Instance, ...args: readonly unknown[]): unknown {
        const replaced = wrong(call.bind(this) as Instance[Method], this) as typeof call
        return replaced(...args)
      },
    }
  })
}

/** Replaces a getter. @param wrong gives the value; `right` reads the right one */
export function inGetter<
  M extends object,
  K extends ClassesOf<M>,
  Instance extends InstanceOf<M[K]>,
  Property extends keyof Instance & string,
>(
  load: Load<M>,
  name: K,
  property: Property,
  wrong: (right: () => Instance[Property], self: Instance) => Instance[Property],
): Injection {
  return inProperty(load, name, property, (right) => ({
    ...right,
    get(this: Instance): Instance[Property] {
      return wrong(() => right.get?.call(this) as Instance[Property], this)
    },
  }))
}

/** Replaces a setter. @param wrong sets the value; `right` sets it rightly */
export function inSetter<
  M extends object,
  K extends ClassesOf<M>,
  Instance extends InstanceOf<M[K]>,
  Property extends keyof Instance & string,
>(
  load: Load<M>,
  name: K,
  property: Property,
  wrong: (right: (value: Instance[Property]) => void, self: Instance) => (value: Instance[Property]) => void,
): Injection {
  return inProperty(load, name, property, (right) => ({
    ...right,
    set(this: Instance, value: Instance[Property]): void {
      wrong((given) => right.set?.call(this, given), this)(value)
    },
  }))
}

function inProperty<M extends object>(
  load: Load<M>,
  name: ClassesOf<M>,
  property: string,
  change: (right: PropertyDescriptor) => PropertyDescriptor,
): Injection {
  return async () => {
    const { prototype } = (await load())[name] as { readonly prototype: object }
    return switchOf(() => {
      const right = Object.getOwnPropertyDescriptor(prototype, property)
      if (right === undefined) throw new TypeError(`${name} has no ${property} of its own`)
      Object.defineProperty(prototype, property, change(right))
      return () => void Object.defineProperty(prototype, property, right)
    })
  }
}

/** A fault that is there only while an exported function runs, from its call to its return. */
export function during<M extends object>(load: Load<M>, name: FunctionsOf<M>, fault: Injection): Injection {
  return async () => {
    const [module, inner] = [await load(), await fault()]
    return switchOf(() =>
      replace<unknown>(module[name], (right) => (...args: readonly unknown[]) => {
        inner.on()
        try {
          return (right as (...args: readonly unknown[]) => unknown)(...args)
        } finally {
          inner.off()
        }
      }),
    )
  }
}

/** Faults that make one mistake together. */
export function together(...faults: readonly Injection[]): Injection {
  return async () => {
    const switches = await Promise.all(faults.map((fault) => fault()))
    return {
      on: () => switches.forEach(({ on }) => on()),
      off: () => switches.toReversed().forEach(({ off }) => off()),
    }
  }
}
