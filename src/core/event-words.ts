/** Events of machines in words: those that XState and this library name themselves are not for readers. */

const delayUnits: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/**
 * A delay in words: `250 ms`, `5 s`, `1 min 30 s`, `2 h`; a delay with a name is that name.
 * @param delay milliseconds, or the name of a delay, as XState writes it in `after`
 */
export function delayInWords(delay: string): string {
  const ms = Number(delay)
  if (delay.trim() === '' || !Number.isFinite(ms) || ms < 0) return delay
  if (ms < 1_000) return `${ms} ms`
  if (ms % 1_000 !== 0 && ms < 60_000) return `${ms / 1_000} s`
  const parts: string[] = []
  let rest = Math.round(ms / 1_000) * 1_000
  for (const [unit, size] of delayUnits) {
    const count = Math.floor(rest / size)
    if (count > 0) parts.push(`${count} ${unit}`)
    rest -= count * size
  }
  return parts.slice(0, 2).join(' ')
}

/** Events of actors: the prefix of XState, and what has become of the actor. */
export const actorEvents = [
  ['xstate.done.actor.', 'done', 'done'],
  ['xstate.error.actor.', 'error', 'failed'],
  ['xstate.snapshot.', 'snapshot', 'changed'],
] as const

const named: Readonly<Record<string, string>> = {
  'xstate.init': 'start',
  'xstate.stop': 'stop',
  'job.cancel': 'cancel',
  'jobchart.attempt.failed': 'attempt failed',
  'jobchart.attempt.due': 'next attempt',
  'jobchart.attempt.timeout': 'attempt timed out',
}

/** The actor that an event tells of; null for other events. */
export function actorOf(type: string): string | null {
  const prefix = actorEvents.find(([each]) => type.startsWith(each))?.[0]
  return prefix === undefined ? null : type.slice(prefix.length)
}

/** XState names an actor without an id by its place: `0.order.paying`. */
export const actorInWords = (id: string): string => {
  const state = /^\d+\.(?:.*\.)?([^.]+)$/.exec(id)?.[1]
  return state === undefined ? id : `work of ${state}`
}

/**
 * What has happened to a machine, by the type of its event.
 * @example eventInWords('xstate.done.actor.charge') // 'charge done'
 * @example eventInWords('xstate.after.5000.order.paying') // 'after 5 s'
 * @example eventInWords('APPROVE') // 'APPROVE'
 */
export function eventInWords(type: string): string {
  const known = Object.hasOwn(named, type) ? named[type] : undefined
  if (known !== undefined) return known
  for (const [prefix, , word] of actorEvents) {
    if (type.startsWith(prefix)) return `${actorInWords(type.slice(prefix.length))} ${word}`
  }
  const [, delay] = /^xstate\.after\.([^.]+)\./.exec(type) ?? []
  if (delay !== undefined) return `after ${delayInWords(delay)}`
  const state = 'xstate.done.state.'
  if (type.startsWith(state)) return `${type.slice(type.lastIndexOf('.') + 1)} done`
  return type.startsWith('xstate.') ? type.slice('xstate.'.length) : type
}

// ── notes of checkpoints ───────────────────────────────────────────────────────────────────────────────────────────

const noteCharsMax = 200
/** Room for `, and 12345 more`. */
const moreChars = 18

/**
 * The note of a checkpoint: what led to it, one entry after the other, cut after a whole entry.
 * @param entries `APPROVE → shipping`, `charge: attempt 2 failed`
 */
export function checkpointNote(entries: readonly string[]): string {
  const all = entries.join(', ')
  if (all.length <= noteCharsMax) return all
  const [first = '', ...others] = entries
  let note = first.length <= noteCharsMax - moreChars ? first : `${first.slice(0, noteCharsMax - moreChars - 1)}…`
  let left = others.length
  for (const entry of others) {
    if (note.length + 2 + entry.length > noteCharsMax - moreChars) break
    note += `, ${entry}`
    left -= 1
  }
  return left === 0 ? note : `${note}, and ${left} more`
}

/** The entries of a note. A state of parallel states has commas, too, in parentheses. */
export function noteEntries(note: string): string[] {
  const entries = ['']
  let depth = 0
  for (const part of note.split(', ')) {
    const at = entries.length - 1
    entries[at] += entries[at] === '' ? part : `, ${part}`
    for (const char of part) depth += char === '(' ? 1 : char === ')' ? -1 : 0
    if (depth <= 0) entries.push('')
  }
  return entries.filter((entry) => entry !== '')
}

/** Older notes are cut anywhere: the last entry may end within a name, which then has no words. */
function withoutTorn(note: string): string {
  if (!note.endsWith('…')) return note
  const whole = noteEntries(note).slice(0, -1)
  return whole.length === 0 ? note : [...whole, 'and more'].join(', ')
}

/**
 * The note of a checkpoint, `xstate.done.actor.charge → paid`, in words. Older notes are empty where no state of the
 * machine has changed: what they were written for is not known any more.
 */
export const noteInWords = (note: string): string =>
  note === ''
    ? 'state saved'
    : withoutTorn(note).replaceAll(/(?<=^|, )(?:xstate|jobchart|job\.cancel)[^→,]*(?= → |, |$)/g, (type) =>
        eventInWords(type),
      )
