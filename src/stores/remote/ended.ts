/** Ended jobs, as retention finds them. */
import type { EndedState } from '../../core/prune.ts'

/** The ended jobs of a type and state, in the order in which they have ended. */
export interface EndedQuery {
  readonly type: string
  readonly state: EndedState
  /** From this number of an end on. */
  readonly from: number
  readonly limit: number
}

/** What retention looks at of an ended job. */
export interface EndedFacts {
  readonly id: string
  readonly type: string
  /** The number of its enqueue. */
  readonly seq: number
  /** The number of its end. */
  readonly lastSeq: number
  readonly finishedAt: number | null
  /** May `plain` remove it? */
  readonly plain: boolean
}
