/** Handlers in a thread that keep what they make, until the memory of the thread is used up. */
import { threadHandler } from 'jobchart/thread'

const fill = {
  objects: (kept) => kept.push({ kept }),
}

export default threadHandler((what) => {
  const kept = []
  for (;;) fill[what](kept)
})
