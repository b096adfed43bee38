/** Measures how long this thread works without giving other work of the event loop a turn. */

/**
 * Runs something, and gives the longest time in ms that a turn of the event loop worked meanwhile. It is processor time
 * of this thread: other threads and programs do not count, so that a busy machine changes it little. A system may count
 * it in steps of several ms: a turn is never longer than the clock tells.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let before = process.threadCpuUsage()
  let began = performance.now()
  let running = true
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, Math.min((user + system) / 1_000, performance.now() - began))
    before = process.threadCpuUsage()
    began = performance.now()
    if (running) setImmediate(look)
  }
  await new Promise<void>((resolve) => void setImmediate(resolve))
  before = process.threadCpuUsage()
  began = performance.now()
  setImmediate(look)
  try {
    await work()
    // The last turn counts as well.
    await new Promise<void>((resolve) => void setImmediate(() => setImmediate(resolve)))
  } finally {
    running = false
  }
  return longest
}
