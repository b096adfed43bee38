/**
 * A machine's state as strict JSON, and back. Beside JSON it carries what charts like to keep: errors, as records, and
 * references to actors of the same job, by their addresses. Data whose keys look like these is escaped, so that nothing that
 * an event brings can pass for an error or an actor.
 */
import { Actor, type AnyActorRef } from 'xstate'
import { recordError, reviveError, type ErrorRecord } from '../core/failure.ts'
import { toPayload, type Json } from '../core/payload.ts'
import { checkpointLimits } from '../core/limits.ts'

const errorKey = 'jobchart$error'
const actorKey = 'jobchart$actor'
const notKeptKey = 'jobchart$notKept'

/** What stands for an actor in a state that was read, until the actors are there. */
export class ActorReference {
  readonly address: string

  constructor(address: string) {
    this.address = address
  }
}

/** What stands for a part of an action's arguments that JSON cannot carry. */
export class NotKept {
  /** For messages: `a Set`. */
  readonly what: string

  constructor(what: string) {
    this.what = what
  }
}

/** The address of an actor; null if it is none of the job's. */
export type AddressOf = (actor: AnyActorRef) => string | null

interface Encoding {
  readonly error: (record: ErrorRecord) => unknown
  readonly actor: (actor: AnyActorRef) => unknown
  readonly key: (key: string) => string
}

/** @throws JobchartError NOT_DURABLE, naming the path, for what JSON cannot carry */
export const encode = (value: unknown, addressOf: AddressOf = () => null): Json =>
  payload(value, {
    error: (record) => ({ [errorKey]: record }),
    actor: (actor) => {
      const address = addressOf(actor)
      return address === null ? actor : { [actorKey]: address }
    },
    key: escaped,
  })

/** The same for people to look at: errors are their records, actors are named. @throws as `encode` */
export const shown = (value: unknown): Json =>
  payload(value, {
    error: (record) => record,
    actor: (actor) => actor.toJSON?.(),
    key: (key) => key,
  })

const payload = (value: unknown, encoding: Encoding): Json =>
  toPayload(encoded(value, encoding, 0), 'NOT_DURABLE', checkpointLimits)

/** A copy of its own each time: machines change what they are given. Actors are `ActorReference`s in it. */
export function decode(json: Json): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(decode)
  const { [errorKey]: record, [actorKey]: address, [notKeptKey]: what } = json
  if (isErrorRecord(record)) return reviveError(record)
  if (typeof address === 'string') return new ActorReference(address)
  if (typeof what === 'string') return new NotKept(what)
  return Object.fromEntries(Object.entries(json).map(([key, member]) => [unescaped(key), decode(member)]))
}

/** The same value with actors for their references; a copy if there are any. */
export function withActors(value: unknown, actorAt: (address: string) => AnyActorRef): unknown {
  return mapped(value, 0, (each) => (each instanceof ActorReference ? actorAt(each.address) : undefined))
}

/** Data that is not escaped comes from an earlier release. */
function isErrorRecord(record: unknown): record is ErrorRecord {
  if (typeof record !== 'object' || record === null) return false
  const { name, message, cause } = record as Partial<ErrorRecord>
  return typeof name === 'string' && typeof message === 'string' && (cause === undefined || isErrorRecord(cause))
}

function encoded(value: unknown, encoding: Encoding, depth: number): unknown {
  return mapped(
    value,
    depth,
    (each) => {
      if (each instanceof Actor) return encoding.actor(each as AnyActorRef)
      if (each instanceof NotKept) return { [notKeptKey]: each.what }
      return each instanceof Error ? encoding.error(recordError(each)) : undefined
    },
    encoding.key,
  )
}

/**
 * The value itself if nothing in it changes, else a copy.
 * @param replace what an object becomes; undefined to look into it
 */
function mapped(
  value: unknown,
  depth: number,
  replace: (value: object) => unknown,
  rename: (key: string) => string = (key) => key,
): unknown {
  if (typeof value !== 'object' || value === null || depth > checkpointLimits.depthMax) return value
  const replaced = replace(value)
  if (replaced !== undefined) return replaced
  const member = (each: unknown): unknown => mapped(each, depth + 1, replace, rename)
  if (Array.isArray(value)) {
    const copy = value.map(member)
    return copy.some((each, i) => each !== value[i]) ? copy : value
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const entries = Object.entries(value)
  let changed = false
  const copies = entries.map(([key, each]): [string, unknown] => {
    const copy: [string, unknown] = [rename(key), member(each)]
    changed ||= copy[0] !== key || copy[1] !== each
    return copy
  })
  return changed ? Object.fromEntries(copies) : value
}

const escapable = /^jobchart\$+(?:error|actor|notKept)$/

const escaped = (key: string): string =>
  key.startsWith('jobchart$') && escapable.test(key) ? key.replace('$', '$$$$') : key

const unescaped = (key: string): string =>
  key.startsWith('jobchart$$') && escapable.test(key) ? key.replace('$', '') : key
