/** What has befallen the processes of a storm, counted. */
export interface Tally {
  started: number
  killed: number
  /** SIGKILLs that nobody here has sent: poison. */
  selfKilled: number
  zombies: number
  blocked: number
  terminated: number
  /** Kills of the server, and pauses of its clients. */
  restarted: number
  held: number
  /** Times in which the memory of the server was full, and workers that have started meanwhile. */
  filled: number
  startedFull: number
  slowestStopMs: number
  /** Starts in vain, because the store was not available. */
  turnedAway: number
  /** How often this process itself, and so everybody, got nothing done for half a lease. */
  pauses: number
  /** The longest time in which no worker lived for long enough to take back what others had left. */
  unattendedMs: number
}

export const emptyTally = (): Tally => ({
  started: 0,
  killed: 0,
  selfKilled: 0,
  zombies: 0,
  blocked: 0,
  terminated: 0,
  restarted: 0,
  held: 0,
  filled: 0,
  startedFull: 0,
  slowestStopMs: 0,
  turnedAway: 0,
  pauses: 0,
  unattendedMs: 0,
})
