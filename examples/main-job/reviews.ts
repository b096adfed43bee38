/** The reviews of suspicious files, as the summary tells them. */
import type { Client } from 'jobchart'
import { review, type ReviewInput } from './review.ts'

const listed = 5

export interface Reviews {
  /** How many wait for a person. */
  readonly waiting: number
  /** How many have ended. */
  readonly ended: number
  /** The first of those that wait, by the length of their longest line. */
  readonly files: readonly ReviewInput[]
}

/** Of 1,000 at most. */
export async function reviewsOf(client: Client): Promise<Reviews> {
  const all = await client.list({ type: review.type, fields: ['state', 'input'], limit: 1_000 })
  const waiting = all.filter(({ state }) => state === 'waiting').map(({ input }) => input as unknown as ReviewInput)
  const files = waiting.toSorted((a, b) => b.longestBytes - a.longestBytes || (a.path < b.path ? -1 : 1))
  return { waiting: waiting.length, ended: all.length - waiting.length, files: files.slice(0, listed) }
}
