/** How long the event loop stands still at most while something is awaited. */

export async function longestStall<T>(work: () => Promise<T>): Promise<{ result: T; stallMs: number }> {
  let stallMs = 0
  let lastTurnAt = performance.now()
  let over = false
  const turned = Promise.withResolvers<void>()
  const turn = (): void => {
    const now = performance.now()
    stallMs = Math.max(stallMs, now - lastTurnAt)
    lastTurnAt = now
    if (over) turned.resolve()
    else setImmediate(turn)
  }
  setImmediate(turn)
  const result = await work()
  over = true
  await turned.promise
  return { result, stallMs }
}
