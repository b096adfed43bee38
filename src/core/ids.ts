/**
 * Generates job ids: the time in 7 characters, then 14 random ones. Consecutive ids are neighbours in an index, so that
 * a store touches few pages when it inserts or deletes many jobs.
 */
import { customRandom, nanoid, urlAlphabet } from 'nanoid'
import type { Clock, Random } from './clock.ts'

/** In ascending order of their codes, so that a bytewise comparison of ids sorts by time. */
const digits = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
/** 42 bits of milliseconds: enough until 2109. */
const timeChars = 7
const randomChars = 14

/** Ids that no other process generates. */
export const uniqueIds = (clock: Clock): (() => string) => idsOf(clock, nanoid)

/** Ids that follow from a seed: for tests, because two processes with one seed generate the same ones. */
export function seededIds(clock: Clock, random: Random): () => string {
  const bytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, () => Math.floor(random() * 256))
  const text = customRandom(urlAlphabet, randomChars, bytes)
  return idsOf(clock, () => text())
}

function idsOf(clock: Clock, randomText: (chars: number) => string): () => string {
  let at = -1
  let prefix = ''
  return () => {
    const now = Math.floor(clock.now())
    if (now !== at) {
      at = now
      prefix = timeText(now)
    }
    return prefix + randomText(randomChars)
  }
}

function timeText(ms: number): string {
  let text = ''
  for (let left = ms; text.length < timeChars; left = Math.floor(left / 64)) text = (digits[left % 64] as string) + text
  return text
}
