/**
 * What the intents of a transaction must be, so that they can be carried out, or refused one by one. A role that may
 * call `within` can write anything: that must not hold up the intents of others, nor leave what nobody can read.
 */
import { storableBackoff } from './backoff.ts'
import { jobRules } from './call-options.ts'
import { boolean, integer, is, isObject, listOf, oneOf, required, table, text, where, type Rule } from './checks.ts'
import { limits } from './limits.ts'
import { cancelEvent, isForged } from './machine-record.ts'
import { scheduleName, scheduleRules } from './schedule-options.ts'
import { tickTimes } from './tick-times.ts'
import { TimeZones } from './time-zone.ts'
import type { TxIntent } from './tx-intent.ts'

/** Another version may have more members. */
const open = { open: true } as const

const orElseNull =
  <Value>(rule: Rule<Value>): Rule<Value | null> =>
  (value, name) =>
    value === null ? null : rule(value, name)

const isText = (value: unknown): value is string => typeof value === 'string'
const anyText = is('text', isText)
const id = text(limits.knownIdCharsMax)
const number = is(
  'a number',
  (value): value is number => typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER,
)
const ms = where(number, (value) => value >= 0, 'a duration in ms')
/** What no call in a transaction has. */
const none = is('nothing', (value) => value === undefined)

const pins = table(
  {
    maxAttempts: integer(1, limits.attemptsMax),
    backoff: storableBackoff,
    attemptTimeoutMs: ms,
    trace: is('texts by name', (value): value is object => isObject(value) && Object.values(value).every(isText)),
  },
  open,
)

/** What the job of an enqueue and that of each tick have. */
const jobRulesOfBoth = {
  type: required(text(limits.idCharsMax)),
  priority: required(jobRules.priority),
  maxAttempts: required(integer(1, limits.attemptsMax)),
  tags: required(jobRules.tags),
  concurrencyKey: required(orElseNull(anyText)),
  key: required(orElseNull(anyText)),
  onConflict: required(oneOf('keep', 'replace', 'supersede', 'follow')),
  until: oneOf('start'),
  meta: jobRules.meta,
  pins,
  keyWeight: integer(1, 100_000),
  version: anyText,
  parent: none,
  checkpoint: none,
}

const newJob = table(
  { ...jobRulesOfBoth, id: required(id), runAt: required(orElseNull(number)), delayMs: required(ms) },
  open,
)

const terms = table(
  {
    name: required(scheduleName),
    spec: required(anyText),
    timezone: required(anyText),
    catchUp: required(scheduleRules.catchUp),
    overlap: required(scheduleRules.overlap),
    jitterMs: required(ms),
    job: required(table(jobRulesOfBoth, open)),
    computed: required(boolean),
    owner: required(orElseNull(anyText)),
  },
  open,
)

/** Terms of which it can be told when they tick. */
const tickingTerms: Rule<object> = (value, name) => {
  const checked = terms(value, name)
  tickTimes(checked.spec, checked.timezone, new TimeZones())
  return checked
}

const isSent = (type: unknown): boolean => isText(type) && type !== '' && type !== cancelEvent && !isForged(type)
const event = is('an event', (value): value is object => isObject(value) && isSent(value['type']))
const message = table({ kind: required(oneOf('event')), event: required(event), key: anyText, keepMs: ms }, open)

const requests: Readonly<Record<TxIntent['kind'], Rule<object>>> = {
  insert: table({ jobs: required(listOf('jobs', newJob)), capacity: required(orElseNull(none)), queue: none }, open),
  send: table(
    { id: required(id), key: required(anyText), expect: required(orElseNull(none)), message: required(message) },
    open,
  ),
  cancel: table(
    { ids: required(listOf('ids', id)), reason: required(orElseNull(anyText)), graceMs: required(orElseNull(ms)) },
    open,
  ),
  schedule: table(
    { terms: required(tickingTerms), paused: required(boolean), nextAt: required(orElseNull(number)) },
    open,
  ),
  unschedule: table({ name: required(scheduleName) }, open),
  // Only the run of a job knows its token, with which both are compared.
  settle: table({ id: required(id) }, open),
  extend: table({ id: required(id) }, open),
}

const isKind = (kind: unknown): kind is TxIntent['kind'] => isText(kind) && Object.hasOwn(requests, kind)

/** Can they be carried out, or refused one by one? */
export function areIntents(value: unknown): value is readonly TxIntent[] {
  if (!Array.isArray(value)) return false
  try {
    return value.every((intent: unknown) => {
      if (!isObject(intent) || !isKind(intent['kind'])) return false
      requests[intent['kind']](intent['request'], 'request')
      return true
    })
  } catch {
    return false
  }
}
