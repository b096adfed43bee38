/** Numbers and times in words. */
import { signal } from '@preact/signals'
import { rateText } from '../rate-text.ts'
import { brief, duration } from '../../core/time-words.ts'
import { ahead } from './live.ts'

/** The server's time, to the second; what shows ages follows it. */
export const now = signal(Date.now())
setInterval(() => (now.value = Date.now() + ahead.value), 1_000)

export { brief, duration }

export const number = (value: number): string => value.toLocaleString('en-US')

/** What is left until `at`, in whole seconds. */
export const countdown = (at: number, from: number): string =>
  at <= from ? 'due now' : `in ${duration(Math.ceil((at - from) / 1_000) * 1_000)}`

/** One unit, because it is read in tables; two of what comes in hours or days. */
export function age(at: number): string {
  const ms = now.value - at
  if (Math.abs(ms) < 1_000) return 'now'
  if (ms > 0) return `${short(ms)} ago`
  return `in ${ms > -3_600_000 ? short(-ms) : duration(-ms)}`
}

function short(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

export const date = (at: number): string =>
  new Date(at).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'medium' })
const ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** As `date`, in a time zone, which is named unless it is that of the page. */
export const dateIn = (at: number, timeZone: string): string =>
  timeZone === ownZone
    ? date(at)
    : `${new Date(at).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone })} ${timeZone}`
export const clock = (at: number): string => {
  const time = new Date(at)
  return `${time.toLocaleTimeString('sv-SE')}.${String(time.getMilliseconds()).padStart(3, '0')}`
}
export const rate = (perSecond: number): string => rateText(perSecond, ' / ')

export const percent = (part: number): string => `${Math.round(part * 100)} %`
