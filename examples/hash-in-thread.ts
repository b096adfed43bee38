/** The handler of 19-cpu-bound-work.ts: reads and hashes without a pause, and says how far it is. */
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { threadHandler } from 'jobchart/thread'

export default threadHandler(({ path }: { readonly path: string }, { checkin }) => {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const sha256 = createHash('sha256')
    const chunk = Buffer.alloc(1024 * 1024)
    let bytes = 0
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      sha256.update(chunk.subarray(0, read))
      bytes += read
      checkin({ percent: Math.round((100 * bytes) / Math.max(size, 1)) })
    }
    return { digest: sha256.digest('hex'), bytes }
  } finally {
    closeSync(file)
  }
})
