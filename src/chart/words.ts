/** What a person reads on a chart: events, delays, guards and actions of XState in words. */
import { actorEvents, delayInWords } from '../core/event-words.ts'
import type { ChartEventKind } from './graph.ts'

interface EventWords {
  readonly kind: ChartEventKind
  readonly label: string
  readonly delay: string | null
}

/**
 * An event descriptor in words.
 * @param descriptor as XState has it: `APPROVE`, `*`, `xstate.done.actor.charge`
 * @param stateId the id of the state that has the transition
 * @param actors what the state's actors are called, by id
 */
export function eventInWords(descriptor: string, stateId: string, actors: ReadonlyMap<string, string>): EventWords {
  const after = 'xstate.after.'
  if (descriptor.startsWith(after) && descriptor.endsWith(`.${stateId}`)) {
    const delay = delayInWords(descriptor.slice(after.length, -stateId.length - 1))
    return { kind: 'after', label: `after ${delay}`, delay }
  }
  if (descriptor === `xstate.done.state.${stateId}`) return { kind: 'done', label: 'done', delay: null }
  for (const [prefix, kind, word] of actorEvents) {
    if (!descriptor.startsWith(prefix)) continue
    const id = descriptor.slice(prefix.length)
    return { kind, label: `${actors.get(id) ?? id} ${word}`, delay: null }
  }
  if (descriptor === '*') return { kind: 'wildcard', label: 'any event', delay: null }
  return { kind: descriptor.endsWith('.*') ? 'wildcard' : 'event', label: descriptor, delay: null }
}

/** What can be read of a function of XState's: `assign`, `raise`, `and`, … carry what they were made of. */
interface Described {
  readonly type?: unknown
  readonly name?: unknown
  readonly params?: unknown
  readonly assignment?: unknown
  readonly event?: unknown
  readonly to?: unknown
  readonly sendId?: unknown
  readonly src?: unknown
  readonly id?: unknown
  readonly guards?: unknown
  readonly stateValue?: unknown
}

const isDescribed = (value: unknown): value is Described =>
  typeof value === 'function' || (typeof value === 'object' && value !== null)

/** JavaScript gives a function the name of the property it is written in; that says nothing of what it does. */
const placeNames = new Set(['', 'actions', 'entry', 'exit', 'guard', 'anonymous', 'src', 'input', 'setup'])

function written(value: unknown): string {
  if (typeof value === 'string') return value
  if (isDescribed(value) && typeof value !== 'function' && typeof value.type === 'string') return value.type
  return isDescribed(value) && typeof value.id === 'string' ? value.id : ''
}

const joined = (...words: readonly string[]): string => words.filter((word) => word !== '').join(' ')

function builtInAction(type: string, action: Described): string | null {
  const to = written(action.to)
  switch (type) {
    case 'xstate.assign':
      return typeof action.assignment === 'object' && action.assignment !== null
        ? joined('assign', Object.keys(action.assignment).join(', '))
        : 'assign'
    case 'xstate.raise':
      return joined('raise', written(action.event))
    case 'xstate.sendTo':
      return joined('send', written(action.event), to === '' ? '' : `to ${to}`)
    case 'xstate.emit':
      return joined('emit', written(action.event))
    case 'xstate.cancel':
      return joined('cancel', written(action.sendId))
    case 'xstate.spawnChild':
      return joined('spawn', written(action.src))
    case 'xstate.stopChild':
      return joined('stop', written((action as { actorRef?: unknown }).actorRef))
    default:
      return type.startsWith('xstate.') ? type.slice('xstate.'.length) : null
  }
}

/**
 * An action in words: its name, or what one of XState's own does (`assign total`, `raise NEXT`, `send PAY to bank`).
 */
export function actionInWords(action: unknown): string {
  if (typeof action === 'string') return action
  if (!isDescribed(action)) return 'inline'
  if (typeof action.type === 'string') {
    const builtIn = builtInAction(action.type, action)
    if (builtIn !== null) return builtIn
    return action.type + parameters(action.params)
  }
  return nameOf(action)
}

/** A guard in words: its name, or what it is made of (`isPaid and not isLate`, `in paid.shipping`). */
export function guardInWords(guard: unknown): string {
  if (typeof guard === 'string') return guard
  if (!isDescribed(guard)) return 'inline'
  if (typeof guard.type === 'string') return guard.type + parameters(guard.params)
  const name = nameOf(guard)
  if (Array.isArray(guard.guards)) {
    const parts = guard.guards.map((part: unknown) => {
      const words = guardInWords(part)
      return words.includes(' ') ? `(${words})` : words
    })
    return name === 'not' ? `not ${parts.join(' ')}` : parts.join(name === 'or' ? ' or ' : ' and ')
  }
  if (guard.stateValue !== undefined) return `in ${stateValueInWords(guard.stateValue)}`
  return name
}

function parameters(params: unknown): string {
  if (typeof params !== 'object' || params === null) return ''
  const words = Object.entries(params).map(([key, value]) => `${key}: ${scalar(value)}`)
  return words.length === 0 ? '' : `(${words.join(', ')})`
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '…'
}

function stateValueInWords(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return 'a state'
  return Object.entries(value)
    .map(([key, inner]) => {
      const words = stateValueInWords(inner)
      return words === '' || words === 'a state' ? key : `${key}.${words}`
    })
    .join(', ')
}

function nameOf(described: Described): string {
  return typeof described.name === 'string' && !placeNames.has(described.name) ? described.name : 'inline'
}
