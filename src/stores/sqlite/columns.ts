/** Rows of tables of the file as the driver gives them: lists of values in the order in which they are selected. */

/**
 * The values that `queueOf` selects. `counts` is a JSON object by the names of states; a state that is not in it has no
 * jobs.
 */
export type QueueValues = [
  queue: number,
  type: string,
  paused: number,
  keyed: number,
  counts: string,
  clock: number | null,
  keyRate: string | null,
  keyTerms: string | null,
  minute: number,
  activity: string,
  machines: string,
  frontRank: number | null,
  frontPlace: number | null,
]

/** The figures of a period, in the order of `activityFigures`, after the time at which it began. */
export type ActivityValues = [at: number, ...figures: number[]]

/** The values of a row of `failures`. */
export type FailureValues = [
  queue: number,
  fingerprint: string,
  name: string,
  code: string | null,
  message: string,
  count: number,
  dead: number,
  firstAt: number,
  lastAt: number,
  lastId: string,
]
