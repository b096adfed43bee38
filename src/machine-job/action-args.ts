/**
 * The arguments of an action, as a checkpoint stores them. An event may hold values that JSON cannot represent, such as
 * a promise's output that is a Set. They are left out of the checkpoint, and an action that reads one throws: before a
 * crash as after it, so that both behave the same.
 */
import { Actor, type EventObject } from 'xstate'
import { describe, JobchartError } from '../core/errors.ts'
import { recordError, reviveError } from '../core/failure.ts'
import { checkpointLimits } from '../core/limits.ts'
import { setMember } from '../core/payload.ts'
import { NotStorable } from './codec.ts'

interface ActionArgs {
  readonly context: unknown
  readonly event: EventObject
  readonly params: unknown
}

/** Levels of a value that are stored. What is around it in a state takes the rest of those of a checkpoint. */
const depthMax = checkpointLimits.depthMax - 50

/** An object within another takes three bytes of JSON at least. */
const objectsMax = checkpointLimits.bytesMax / 3

interface Walk {
  /** The objects around the current one. */
  readonly around: object[]
  /** Objects that may still be visited: one that is in many places is visited for each. */
  left: number
}

/**
 * The storable part of an argument, with placeholders. A value that is no JSON at all is returned as it is: encoding
 * refuses it.
 */
export function storable(value: unknown): unknown {
  const kept = storablePart(value)
  return kept instanceof NotStorable ? value : kept
}

const storablePart = (value: unknown): unknown => storablePartOf(value, { around: [], left: objectsMax })

/** Can all of the value be stored? */
export const isStorable = (value: unknown): boolean => isFullyStorable(storablePart(value))

/** What is stored of something that was thrown: itself, or what can be said of it as an Error. */
export const storableError = (thrown: unknown): unknown =>
  isStorable(thrown) ? thrown : reviveError(recordError(thrown))

/** The arguments to call an action with: unchanged if they are fully storable, else with getters that throw. */
export function usableArgs({ context, event, params }: ActionArgs, action: string): ActionArgs {
  const usable = (value: unknown, path: string): unknown => {
    const kept = storable(value)
    return isFullyStorable(kept) ? value : withThrowingGetters(kept, path, action)
  }
  return {
    context: usable(context, 'context'),
    event: usable(event, 'event') as EventObject,
    params: usable(params, 'params'),
  }
}

function storablePartOf(value: unknown, walk: Walk): unknown {
  if (typeof value !== 'object' || value === null) return isJson(value) ? value : new NotStorable(whatIs(value))
  if (value instanceof Actor || value instanceof Error || value instanceof NotStorable) return value
  const { around } = walk
  if (around.includes(value)) return new NotStorable('a cycle')
  if (around.length > depthMax) return new NotStorable(`nested deeper than ${depthMax} levels`)
  if (--walk.left < 0) return new NotStorable('more than a checkpoint holds')
  around.push(value)
  const kept = Array.isArray(value) ? storableList(value, walk) : storableObject(value, walk)
  around.pop()
  return kept
}

/** The list itself if all of it can be stored. */
function storableList(list: readonly unknown[], walk: Walk): readonly unknown[] {
  let copy: unknown[] | null = null
  for (let i = 0; i < list.length; i++) {
    const member = list[i]
    const kept = member === undefined ? new NotStorable('undefined') : storablePartOf(member, walk)
    if (kept !== member) (copy ??= [...list])[i] = kept
  }
  return copy ?? list
}

/** The object itself if all of it can be stored: nearly all values are JSON as they are. */
function storableObject(value: object, walk: Walk): unknown {
  // The event of `onSnapshot` holds a machine's live snapshot: only its state is stored.
  if ('machine' in value && 'historyValue' in value) return storablePartOf(stateOfSnapshot(value), walk)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return new NotStorable(describe(value))
  let copy: Record<string, unknown> | null = null
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue
    if (!key.isWellFormed()) return new NotStorable('an object with a lone surrogate in a key')
    const member: unknown = value[key as keyof typeof value]
    const kept = storablePartOf(member, walk)
    if (kept !== member) setMember((copy ??= Object.fromEntries(Object.entries(value))), key, kept)
  }
  return copy ?? value
}

/** Encoding omits properties that are undefined. */
const isJson = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.isWellFormed()
    : value === undefined || value === null || typeof value === 'boolean' || Number.isFinite(value)

const whatIs = (value: unknown): string =>
  typeof value === 'string' ? 'a string with a lone surrogate' : describe(value)

function stateOfSnapshot(snapshot: object): object {
  const { status, value, context, output, error } = snapshot as Readonly<Record<string, unknown>>
  return { status, value, context, output, error }
}

/** Does the result of `storable` hold no placeholder? */
function isFullyStorable(kept: unknown): boolean {
  if (typeof kept !== 'object' || kept === null || kept instanceof Actor || kept instanceof Error) return true
  if (kept instanceof NotStorable) return false
  for (const key in kept) {
    if (Object.hasOwn(kept, key) && !isFullyStorable(kept[key as keyof typeof kept])) return false
  }
  return true
}

function withThrowingGetters(kept: unknown, path: string, action: string): unknown {
  if (isFullyStorable(kept)) return kept
  const members = Object.entries(kept as object)
  const usable: object = Array.isArray(kept) ? [] : {}
  for (const [key, member] of members) {
    const at = Array.isArray(kept) ? `${path}[${key}]` : `${path}.${key}`
    const get = (): never => {
      throw readsNotStorable(action, at, (member as NotStorable).what)
    }
    const value = (): PropertyDescriptor => ({ value: withThrowingGetters(member, at, action), writable: true })
    Object.defineProperty(usable, key, {
      ...(member instanceof NotStorable ? { get } : value()),
      enumerable: true,
      configurable: true,
    })
  }
  return usable
}

const readsNotStorable = (action: string, path: string, what: string): JobchartError =>
  new JobchartError(
    'NOT_DURABLE',
    `the action ${action} reads ${path}, which is ${what} and cannot be stored as JSON`,
    {
      hint: 'Return JSON from the promise, or `assign` what the action needs: an action may be executed again after a crash.',
    },
  )
