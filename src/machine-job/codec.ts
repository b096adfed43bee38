/**
 * Encodes a machine's state as strict JSON, and decodes it. Two kinds of values beside JSON are supported: errors, as
 * records, and references to actors of the same job, as addresses. User data with the keys of these encodings is
 * escaped, so that an event cannot forge an error or an actor.
 */
import { Actor, type AnyActorRef } from 'xstate'
import { recordError, reviveError, type ErrorRecord } from '../core/failure.ts'
import { setMember, toEncodedPayload, type Encoding, type Json } from '../core/payload.ts'
import { checkpointLimits } from '../core/limits.ts'
import { actorKey, errorKey, escaped, markPrefix, notStorableKey, unescaped } from '../core/state-marks.ts'

/** Placeholder for an actor in a decoded state; `withActors` replaces it when the actors exist. */
class ActorReference {
  readonly address: string

  constructor(address: string) {
    this.address = address
  }
}

/** Placeholder for a part of an action's arguments that JSON cannot represent. */
export class NotStorable {
  /** For messages: `a Set`. */
  readonly what: string

  constructor(what: string) {
    this.what = what
  }
}

/** The address of an actor; null for an actor of another actor system. */
type AddressOf = (actor: AnyActorRef) => string | null

/** @throws JobchartError NOT_DURABLE, naming the path, for a value that JSON cannot represent */
export type Encode = (value: unknown) => Json

/** Encodes the states and events of a job. Made once per run: a checkpoint encodes several values. */
export function encoder(addressOf: AddressOf): Encode {
  const encoding = new StateEncoding(addressOf)
  return (value) => toEncodedPayload(value, 'NOT_DURABLE', checkpointLimits, encoding)
}

class StateEncoding implements Encoding {
  private readonly addressOf: AddressOf

  constructor(addressOf: AddressOf) {
    this.addressOf = addressOf
  }

  object(value: object): unknown {
    return standIn(value, this)
  }

  key(key: string): string {
    return escaped(key)
  }

  actor(actor: AnyActorRef): unknown {
    const address = this.addressOf(actor)
    return address === null ? undefined : { [actorKey]: address }
  }

  error(record: ErrorRecord): unknown {
    return { [errorKey]: record }
  }
}

/** Encodes what holds no actors. */
export const encode: Encode = encoder(() => null)

/** JSON for people to read, which cannot be decoded: errors as records, actors by name. @throws as `encode` */
export const toDisplayJson = (value: unknown): Json =>
  toEncodedPayload(value, 'NOT_DURABLE', checkpointLimits, displayEncoding)

const displayed: StandIns = { actor: (actor) => actor.toJSON?.(), error: (record) => record }
const displayEncoding: Encoding = { object: (value) => standIn(value, displayed), key: (key) => key }

interface StandIns {
  actor(actor: AnyActorRef): unknown
  error(record: ErrorRecord): unknown
}

/** What stands for an object that is not plain data; undefined if nothing does. */
function standIn(value: object, by: StandIns): unknown {
  if (value instanceof Actor) return by.actor(value as AnyActorRef)
  if (value instanceof ActorReference) return { [actorKey]: value.address }
  if (value instanceof NotStorable) return { [notStorableKey]: value.what }
  return value instanceof Error ? by.error(recordError(value)) : undefined
}

/** A new copy at each call, because machines may change it. Actors are decoded as `ActorReference`. */
export function decode(json: Json): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(decode)
  const decoded: Record<string, unknown> = {}
  for (const key in json) {
    const member = json[key] as Json
    if (key.startsWith(markPrefix)) {
      const marked = decodeMarked(json)
      if (marked !== undefined) return marked
    }
    setMember(decoded, unescaped(key), decode(member))
  }
  return decoded
}

/** What the marks of an object stand for; undefined if they stand for nothing. */
function decodeMarked(json: { readonly [key: string]: Json }): unknown {
  const { [errorKey]: record, [actorKey]: address, [notStorableKey]: what } = json
  if (isErrorRecord(record)) return reviveError(record)
  if (typeof address === 'string') return new ActorReference(address)
  return typeof what === 'string' ? new NotStorable(what) : undefined
}

/** Replaces each `ActorReference` by its actor. Returns the value itself if it has none, else a copy. */
export function withActors(value: unknown, actorAt: (address: string) => AnyActorRef, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > checkpointLimits.depthMax) return value
  if (value instanceof ActorReference) return actorAt(value.address)
  // Few states have references: objects are copied only from the first one on.
  if (Array.isArray(value)) {
    let list: unknown[] | null = null
    for (let i = 0; i < value.length; i++) {
      const each: unknown = value[i]
      const member = withActors(each, actorAt, depth + 1)
      if (member !== each) (list ??= [...(value as unknown[])])[i] = member
    }
    return list ?? value
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  let entries: [key: string, member: unknown][] | null = null
  const keys = Object.keys(value)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string
    const each: unknown = value[key as keyof typeof value]
    const member = withActors(each, actorAt, depth + 1)
    if (member !== each) (entries ??= Object.entries(value))[i] = [key, member]
  }
  return entries === null ? value : Object.fromEntries(entries)
}

/** Releases before the escaping could store user data under these keys: the shape is checked. */
function isErrorRecord(record: unknown): record is ErrorRecord {
  if (typeof record !== 'object' || record === null) return false
  const { name, message, cause } = record as Partial<ErrorRecord>
  return typeof name === 'string' && typeof message === 'string' && (cause === undefined || isErrorRecord(cause))
}
