/** The pulse of this process: if it misses a beat, perhaps the whole machine got nothing done for a while. */

const beatMs = 50

/** Calls `beat` again and again, with how late it is. */
export function pulse(beat: (lateMs: number) => void): NodeJS.Timeout {
  let last = performance.now()
  return setInterval(() => {
    const now = performance.now()
    beat(now - last - beatMs)
    last = now
  }, beatMs)
}
