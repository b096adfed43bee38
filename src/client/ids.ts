/**
 * Ids of jobs: the time in 7 characters, then 14 random ones. Ids made one after the other stand side by side in an index,
 * so that a store writes few pages for many jobs, both when they come and when they go.
 */
import { nanoid } from 'nanoid'
import type { Clock } from '../core/clock.ts'

/** In the order of their codes, so that ids sort by time wherever text is compared byte by byte. */
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
