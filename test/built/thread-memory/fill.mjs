/** Handlers in a thread that keep what they make, until the memory of the thread is used up. */
import { threadHandler } from 'jobchart/thread'

const text = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ i, name: `item ${i}` })))
const fill = {
  parsed: (kept) => kept.push(JSON.parse(text)),
  objects: (kept) => kept.push({ kept }),
}

export default threadHandler((what) => {
  const kept = []
  for (;;) fill[what](kept)
})
