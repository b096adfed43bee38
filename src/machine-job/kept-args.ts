/**
 * What an action is called with, as a checkpoint keeps it. An event may carry what JSON cannot (a promise's output that is a
 * Set): that is no reason to refuse it as long as nobody uses it. The action is called with the rest, and a property that is
 * not kept throws when it is read: the same before a crash and after it.
 */
import { Actor, type EventObject } from 'xstate'
import { describe, JobchartError } from '../core/errors.ts'
import { checkpointLimits } from '../core/limits.ts'
import { NotKept } from './codec.ts'

export interface ActionArgs {
  readonly context: unknown
  readonly event: EventObject
  readonly params: unknown
}

/** A part of an action's arguments as it is kept. What is no JSON at its top stays, and is refused with its path. */
export function keepable(value: unknown): unknown {
  const kept = keptOf(value, 0)
  return kept instanceof NotKept ? value : kept
}

/** What an action is called with: the very arguments, if all of them is kept. */
export function usableArgs({ context, event, params }: ActionArgs, action: string): ActionArgs {
  const usable = (value: unknown, path: string): unknown => {
    const kept = keepable(value)
    return isWhole(kept) ? value : withThrowing(kept, path, action)
  }
  return {
    context: usable(context, 'context'),
    event: usable(event, 'event') as EventObject,
    params: usable(params, 'params'),
  }
}

function keptOf(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return isJson(value) ? value : new NotKept(describe(value))
  if (depth > checkpointLimits.depthMax) return value
  if (value instanceof Actor || value instanceof Error || value instanceof NotKept) return value
  if (Array.isArray(value)) {
    return value.map((member) => (member === undefined ? new NotKept('undefined') : keptOf(member, depth + 1)))
  }
  // A machine's snapshot, as `onSnapshot` tells it, is its state and much that is not.
  if ('machine' in value && 'historyValue' in value) return keptOf(seen(value), depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return new NotKept(describe(value))
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, keptOf(member, depth + 1)]))
}

/** A property that is undefined is left out. */
const isJson = (value: unknown): boolean =>
  value === undefined || value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)

function seen(snapshot: object): object {
  const { status, value, context, output, error } = snapshot as Readonly<Record<string, unknown>>
  return { status, value, context, output, error }
}

/** Is all of what `keepable` gave kept? */
export function isWhole(kept: unknown): boolean {
  if (typeof kept !== 'object' || kept === null || kept instanceof Actor || kept instanceof Error) return true
  return !(kept instanceof NotKept) && Object.values(kept).every(isWhole)
}

function withThrowing(kept: unknown, path: string, action: string): unknown {
  if (isWhole(kept)) return kept
  const members = Object.entries(kept as object)
  const usable: object = Array.isArray(kept) ? [] : {}
  for (const [key, member] of members) {
    const at = Array.isArray(kept) ? `${path}[${key}]` : `${path}.${key}`
    const get = (): never => {
      throw notKept(action, at, (member as NotKept).what)
    }
    const value = (): PropertyDescriptor => ({ value: withThrowing(member, at, action), writable: true })
    Object.defineProperty(usable, key, {
      ...(member instanceof NotKept ? { get } : value()),
      enumerable: true,
      configurable: true,
    })
  }
  return usable
}

const notKept = (action: string, path: string, what: string): JobchartError =>
  new JobchartError('NOT_DURABLE', `the action ${action} reads ${path}, which is ${what} and was not kept`, {
    hint: 'Turn it into JSON before: let the promise give JSON, or `assign` what the action needs. An action may be executed again after a crash.',
  })
