/**
 * A cron text: the times on a wall clock that match it. Croner reads the text and searches the calendar; what is added
 * here are steps that begin at a number (`3/20`), refusals where croner would search in vain, and typed errors.
 */
import { Cron } from 'croner'
import { JobchartError, messageOf } from './errors.ts'

const aliases: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

/** Of each of the six fields: its name, its first and its last value, and the last of a step if that is another one. */
const fields: readonly (readonly [name: string, first: number, last: number, lastOfStep?: number])[] = [
  ['seconds', 0, 59],
  ['minutes', 0, 59],
  ['hours', 0, 23],
  ['days of the month', 1, 31],
  ['months', 1, 12],
  // 7 is Sunday, as is 0.
  ['days of the week', 0, 7, 6],
]

const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const cronCharsMax = 500
const exampleHint =
  "Pass five or six fields, with seconds first when six: '0 3 * * *', '*/10 * * * * *'; or '@daily', '@every 90s'."

export class CronText {
  /** The text in one form: the same for texts that differ in spaces and case only. */
  readonly text: string
  /**
   * Does it run again and again within an hour or a day (a `*` among seconds, minutes or hours), and not at fixed
   * times? When the clock is set back, an interval goes on, and a fixed time does not come twice.
   */
  readonly isInterval: boolean
  private readonly cron: Cron

  /** @throws JobchartError INVALID_OPTION, with croner's error as its cause */
  constructor(text: string) {
    this.text = text.trim().replaceAll(/\s+/g, ' ').toUpperCase()
    if (this.text.startsWith('@')) this.text = this.text.toLowerCase()
    const parts = (aliases[this.text] ?? this.text).split(' ')
    if (text.length > cronCharsMax) throw refused(text, `it has more than ${cronCharsMax} characters`)
    if (parts.length !== 5 && parts.length !== 6) throw refused(text, 'it has neither five nor six fields')
    const all = parts.length === 5 ? ['0', ...parts] : parts
    this.isInterval = all.slice(0, 3).some((field) => /[*?]/.test(field))
    this.cron = parsed(text, all)
    if (this.next(searchFrom) === null) throw refused(text, 'no date ever matches it')
  }

  /** The first matching time on the wall after one, both written as if they were UTC, ms; null if there is none. */
  next(wall: number): number | null {
    const found = this.cron.nextRun(new Date(wall))
    return found === null ? null : found.getTime()
  }
}

const searchFrom = Date.UTC(2024, 0, 1) - 1

function parsed(text: string, all: readonly string[]): Cron {
  all.forEach((field, i) => checkNumbers(text, field, i))
  const steps = all.map((field, i) =>
    field
      .split(',')
      .map((part) => fromNumber(part, i))
      .join(','),
  )
  checkDates(text, steps[3] ?? '*', steps[4] ?? '*', steps[5] ?? '*')
  try {
    return new Cron(steps.join(' '), { utcOffset: 0, mode: '6-part' })
  } catch (error) {
    throw refused(text, reason(error), error)
  }
}

/** Croner counts days and months from 0 in its messages, and takes a range with a step whose end is no value. */
function checkNumbers(text: string, field: string, i: number): void {
  const [name = '', first = 0, last = 0] = fields[i] ?? []
  // But for steps, and the week of `1#2`.
  for (const [number] of field.matchAll(/(?<![/#\d])\d+/g)) {
    if (Number(number) >= first && Number(number) <= last) continue
    throw refused(text, `a value of its ${name} is ${number}, which is not within ${first}…${last}`)
  }
}

/** `a/n`: from a to the end of the range, every n-th value. */
function fromNumber(part: string, field: number): string {
  const match = /^(\d+)\/(\d+)$/.exec(part)
  if (match === null) return part
  const [first, step] = [Number(match[1]), Number(match[2])]
  const last = fields[field]?.[3] ?? fields[field]?.[2] ?? 0
  if (step === 0 || first > last) return part
  // A step beyond the range leaves its first value alone.
  return first + step > last ? `${first}` : `${first}-${last}/${step}`
}

/** 31 April: refused at once, where croner would search the calendar to its end. */
function checkDates(text: string, days: string, months: string, weekdays: string): void {
  if (!/^[*?]$/.test(weekdays) || !/^[\d,]+$/.test(days) || !/^[\d,]+$/.test(months)) return
  const matches = months.split(',').some((month) => {
    const last = daysOfMonth[Number(month) - 1] ?? 31
    return days.split(',').some((day) => Number(day) <= last)
  })
  if (!matches) throw refused(text, 'no month that it names has such a day')
}

/** Croner numbers the fields from 0. */
const reason = (error: unknown): string =>
  messageOf(error)
    .replace(/^Cron\w+: /, '')
    .replace(/configuration entry (\d)/, (entry, i: string) => fields[Number(i)]?.[0] ?? entry)

const refused = (text: string, why: string, cause?: unknown): JobchartError =>
  new JobchartError('INVALID_OPTION', `spec ${JSON.stringify(text.slice(0, 80))}: ${why}`, {
    hint: exampleHint,
    ...(cause !== undefined && { cause }),
  })
