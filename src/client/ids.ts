/**
 * Generates job ids: the time in 7 characters, then 14 random ones. Consecutive ids are neighbours in an index, so that a
 * store touches few pages when it inserts or deletes many jobs.
 */
import { nanoid } from 'nanoid'
import type { Clock } from '../core/clock.ts'

/** In ascending order of their codes, so that a bytewise comparison of ids sorts by time. */
const digits = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
/** 42 bits of milliseconds: enough until 2109. */
const timeChars = 7
const randomChars = 14

export class Ids {
  private readonly clock: Clock
  private at = -1
  private prefix = ''

  constructor(clock: Clock) {
    this.clock = clock
  }

  next(): string {
    const now = Math.floor(this.clock.now())
    if (now !== this.at) {
      this.at = now
      this.prefix = timeText(now)
    }
    return this.prefix + nanoid(randomChars)
  }
}

function timeText(ms: number): string {
  let text = ''
  for (let left = ms; text.length < timeChars; left = Math.floor(left / 64)) text = (digits[left % 64] as string) + text
  return text
}
